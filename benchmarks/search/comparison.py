"""Heuristics of others, and ours in the time that theirs take."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from benchmarks.comparators import Comparator, datafly, igreedy
from benchmarks.markdown import seconds, table
from benchmarks.search.in_memory import Instance, instances
from benchmarks.section import Section
from tableveil.control import Control
from tableveil.search import Candidate, Problem, SearchOutcome, anytime, exact
from tableveil.search.best_first import best_first

IDS = (
    "a-adult-k5-s0.05-loss-gm",
    "a-fars-k5-s0.05-loss-gm",
    "a-mach201910-k5-s0.05-loss-gm",
    "a-mach201912-k5-s0.05-loss-gm",
)

THEIRS: Mapping[str, Comparator] = {"DataFly": datafly, "IGreedy": igreedy}


class OurStrategy(Protocol):
    """One of the engine's strategies."""

    def __call__(self, problem: Problem, control: Control, time_limit: float | None = None) -> SearchOutcome:
        """Searches for at most so many seconds."""
        ...


OURS: Mapping[str, OurStrategy] = {"exact": exact, "best_first": best_first, "anytime": anytime}


def comparison(shared: Path) -> Section:
    """Checks, time and loss of the comparators, and of our strategies stopped when IGreedy would have ended.

    Sound if nothing found is better than the case's known optimum.
    """
    rows: list[Sequence[str]] = []
    sound = True
    for instance in instances(shared, IDS):
        optimum = float(instance.case.expected["score"])
        title = instance.name
        for name, best, checked, spent in _runs(instance):
            sound = sound and (best is None or best.score >= optimum - 1e-9)
            rows.append(
                (
                    title,
                    name,
                    f"{checked:,}",
                    seconds(spent),
                    f"{best.score:.4f}" if best else "none",
                    f"{best.score / optimum - 1:.1%}" if best else "",
                )
            )
            title = ""
    return Section(
        "IGreedy and ours at equal time",
        (
            "k = 5, limit 5 %, loss, geometric mean; all count in numpy. Ours are stopped at the seconds that "
            "IGreedy took; what they had found by then is beside the optimum. DataFly and IGreedy end by themselves; "
            "neither of them uses bounds, so nothing they find is proven.",
            table(("case", "search", "checks", "s", "loss", "above the optimum"), rows),
        ),
        sound,
    )


def _runs(instance: Instance) -> list[tuple[str, Candidate | None, int, float]]:
    """Per search: its name, what it found, how many transformations it checked and in how many seconds."""
    runs = []
    limit = 0.0
    for name, comparator in THEIRS.items():
        problem = instance.problem()
        found = comparator(problem, Control())
        if comparator is igreedy:
            limit = found.seconds
        runs.append((name, found.best, found.checked, found.seconds))
    for name, strategy in OURS.items():
        outcome = strategy(instance.problem(), Control(), limit)
        ended = "ended by itself" if outcome.complete else "stopped"
        runs.append((f"{name}, {ended}", outcome.best, outcome.checked, outcome.seconds))
    return runs
