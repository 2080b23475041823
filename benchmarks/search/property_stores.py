"""Section: what the property stores of best-first searches are asked, and how often they know."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.markdown import table
from benchmarks.search.in_memory import instances
from benchmarks.section import Section
from tableveil.control import Control
from tableveil.lattice import Transformation
from tableveil.search import Problem
from tableveil.search.antichain import Antichain, Inheritance
from tableveil.search.best_first import best_first

IDS = ("a-adult-k5-s0.05-loss-gm", "a-fars-k5-s0.05-loss-gm", "a-mach201910-k5-s0.05-loss-gm")

PROPERTIES = {
    Inheritance.DOWNWARDS: "too many records in small classes (inherited downwards)",
    Inheritance.UPWARDS: "few enough of them (inherited upwards)",
}

# By its name: the package has the function under it.
MODULE = importlib.import_module("tableveil.search.best_first")


@dataclass(slots=True)
class Recording:
    """The queries to one store, in order: the transformation, whether it was added, and the answer."""

    inherited: Inheritance
    asked: list[tuple[Transformation, bool, bool]] = field(default_factory=list)


def property_stores(shared: Path) -> Section:
    """How many questions are answered with yes."""
    rows = [
        (
            f"{instance.name}: {PROPERTIES[recording.inherited]}",
            f"{len(asked := [answer for _, added, answer in recording.asked if not added]):,}",
            f"{sum(asked) / max(len(asked), 1):.1%}",
        )
        for instance in instances(shared, IDS)
        for recording in record(instance.problem())
    ]
    return Section(
        "Property stores",
        (
            "The queries of `best_first` while it searches (k = 5, limit 5 %, loss, geometric mean). *Hits* are "
            "answered with yes: of the first property, transformations that need not be counted; of the second, ones "
            "whose counting would exclude nothing below them. `best_first` has a third store, for what is not good "
            "enough; models that bound without classes, as loss does, leave it empty.",
            table(("search and property", "queries", "hits"), rows),
        ),
    )


def record(problem: Problem) -> list[Recording]:
    """The queries of a best-first search to its stores, without stores that got none."""
    recordings: list[Recording] = []

    class Recorder(Antichain):
        """An antichain that records its queries."""

        __slots__ = ("recording",)

        def __init__(self, inherited: Inheritance) -> None:
            super().__init__(inherited)
            self.recording = Recording(inherited)
            recordings.append(self.recording)

        def add(self, x: Transformation) -> bool:
            answer = super().add(x)
            self.recording.asked.append((x, True, answer))
            return answer

        def covers(self, x: Transformation) -> bool:
            answer = super().covers(x)
            self.recording.asked.append((x, False, answer))
            return answer

    with _stores_made_by(Recorder):
        best_first(problem, Control())
    return [recording for recording in recordings if recording.asked]


@contextmanager
def _stores_made_by(make: type[Antichain]) -> Iterator[None]:
    """Inside it, best-first searches keep their properties in such stores."""
    usual = MODULE.Antichain
    MODULE.Antichain = make  # type: ignore[attr-defined]
    try:
        yield
    finally:
        MODULE.Antichain = usual  # type: ignore[attr-defined]
