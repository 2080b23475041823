"""The published comparison of property stores, on the queries of best-first searches."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.markdown import table, times
from benchmarks.search.in_memory import instances
from benchmarks.search.stores import STORES, PropertyStore
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

ROUNDS = 3

# By its name: the package has the function under it.
MODULE = importlib.import_module("tableveil.search.best_first")


@dataclass(slots=True)
class Recording:
    """The queries to one store, in order: the transformation, whether it was added, and the answer."""

    inherited: Inheritance
    asked: list[tuple[Transformation, bool, bool]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A replay of a recording by another store, in CPU seconds; `right` if all answers were equal."""

    seconds: float
    elements: int
    right: bool


def property_stores(shared: Path) -> Section:
    """Replays the queries and additions of real searches with each store; sound if all stores answer the same."""
    rows = []
    sound = True
    for instance in instances(shared, IDS):
        for recording in record(instance.problem()):
            replayed = {name: replay(recording, make) for name, make in STORES.items()}
            sound = sound and all(run.right for run in replayed.values())
            queries = [answer for _, added, answer in recording.asked if not added]
            added = len(recording.asked) - len(queries)
            slowest = max(run.seconds for run in replayed.values())
            for number, (name, run) in enumerate(replayed.items()):
                title = f"{instance.name}: {PROPERTIES[recording.inherited]}" if number == 0 else ""
                rows.append(
                    (
                        title,
                        name,
                        f"{len(queries):,}",
                        f"{sum(queries) / max(len(queries), 1):.1%}",
                        f"{added:,}",
                        f"{run.elements:,}",
                        f"{run.seconds * 1000:,.1f}",
                        times(slowest / run.seconds),
                    )
                )
    headers = ("search and property", "store", "queries", "hits", "added", "kept", "CPU ms", "faster")
    return Section(
        "Property stores",
        (
            "The queries of `best_first` while it searches (k = 5, limit 5 %, loss, geometric mean), recorded, then "
            "replayed with each store. *Hits* are queries answered with yes: of the first property, transformations "
            "that need not be counted; of the second, ones whose counting would exclude nothing below them. *Kept* is "
            "what the store holds at the end, *faster* is against the slowest. `best_first` has a third store, for "
            "what is not good enough; models that bound without classes, as loss does, leave it empty.",
            table(headers, rows),
        ),
        sound,
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


def replay(recording: Recording, make: Callable[[Inheritance], PropertyStore]) -> Replayed:
    """Sends the queries to new stores; the fastest of them counts."""
    runs = [_replay_once(recording, make(recording.inherited)) for _ in range(ROUNDS)]
    return min(runs, key=lambda run: run.seconds)


def _replay_once(recording: Recording, store: PropertyStore) -> Replayed:
    add, covers = store.add, store.covers
    # CPU time, as other processes matter less to it; around all questions, as the clock costs as much as an answer.
    started = time.thread_time()
    answers = [add(x) if added else covers(x) for x, added, _ in recording.asked]
    spent = time.thread_time() - started
    return Replayed(spent, len(store), answers == [answer for _, _, answer in recording.asked])


@contextmanager
def _stores_made_by(make: type[Antichain]) -> Iterator[None]:
    """Inside it, best-first searches keep their properties in such stores."""
    usual = MODULE.Antichain
    MODULE.Antichain = make  # type: ignore[attr-defined]
    try:
        yield
    finally:
        MODULE.Antichain = usual  # type: ignore[attr-defined]
