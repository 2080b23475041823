"""Section: checks and time of the search on the reference tables, against exhaustive search beside it."""

import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from statistics import median

import numpy as np

from benchmarks.datasets import Dataset
from benchmarks.expected import close
from benchmarks.markdown import seconds, table
from benchmarks.models import Models
from benchmarks.search.in_memory import Instance, instances, problem_of
from benchmarks.section import Section, verdict
from tableveil.control import Control
from tableveil.policy import Aggregate, KAnonymity, LossModel, SearchOptions
from tableveil.search import Problem, SearchOutcome, exact, search

TITLE = "The search: checks, and speed-up over exhaustive search"

RANDOM_TRANSFORMATIONS = 200
ROUNDS = 3
"""The exact searches are run so often; their median counts."""


GOALS = {
    "a-adult-k5-s0.05-loss-gm": (330, 80),
    "a-fars-k5-s0.05-loss-gm": (260, 150),
    "a-mach201910-k5-s0.05-loss-gm": (2_000, 150),
    "a-mach201912-k5-s0.05-loss-gm": (9_000, 200),
}
"""By id of the reference case: the most checks, and the least speed-up."""

LARGE = ((14, Decimal("0.05"), 5), (16, Decimal("0.05"), 15), (16, Decimal(1), None))
"""Attributes of mach2019, suppression limit, and the largest gap in percent as the goal for `LIMIT` seconds."""

LIMIT = Decimal(60)

EARLY = Decimal(5)
REFERENCE_AT_30 = 0.5047639803064987
"""The best of the reference tool's heuristics on 16 attributes, limit 100 %, after 30 seconds (`e-` ids)."""


def speed(shared: Path) -> Section:
    """Runs the cases; says so if there is no data."""
    data = shared / "data"
    if not data.is_dir():
        return Section(TITLE, (f"Skipped: there is no `{data}`.",))
    measured = [_exact_row(instance, *GOALS[instance.case.id]) for instance in instances(shared, tuple(GOALS))]
    return Section(
        TITLE,
        (
            "k = 5, suppression limit 5 %, loss, geometric mean. The speed-up is the median CPU time of "
            f"{RANDOM_TRANSFORMATIONS} random transformations, each counted from the base histogram in plain numpy, "
            "times the size of the lattice, over the CPU time of the search. Times are of one core.",
            table(
                (
                    "case",
                    "lattice",
                    "reference's checks",
                    "checks",
                    "goal",
                    "",
                    "best found after s",
                    "search s",
                    "exhaustive s",
                    "speed-up",
                    "goal",
                    "",
                ),
                (row for row, _ in measured),
            ),
            f"Larger lattices, the strategy left to `auto`, {LIMIT} seconds of wall clock:",
            table(
                ("case", "lattice", "strategy", "checks", "score", "best after s", "proven bound", "gap", "goal", ""),
                _large_rows(data),
            ),
            f"mach2019, 16 QIs, limit 100 %, after {EARLY} seconds; the reference tool's best after 30 seconds:",
            table(("reference", "ours", "found after s", ""), _early_rows(data)),
        ),
        sound=all(sound for _, sound in measured),
    )


def exhaustive_seconds(problem: Problem) -> float:
    """CPU seconds that counting every transformation would take, from a sample."""
    counter, random = problem.counter, Random(1)
    base = counter.classes(problem.lattice.bottom)
    codes = [base.groups(j) for j in range(len(counter.levels))]
    taken = []
    for _ in range(RANDOM_TRANSFORMATIONS):
        transformation = [random.randint(0, top) for top in problem.lattice.top]
        started = time.process_time()
        keys = np.zeros(len(base.counts), np.int64)
        for levels, level, code in zip(counter.levels, transformation, codes, strict=True):
            keys = keys * len(levels.leaves[level]) + levels.groups[level][code]
        _, places = np.unique(keys, return_inverse=True)
        np.bincount(places, weights=base.counts)
        taken.append(time.process_time() - started)
    return median(taken) * problem.lattice.size


def _exact_row(instance: Instance, most_checks: int, least_speed_up: float) -> tuple[list[str], bool]:
    """The row, and whether the reference's optimum was found."""
    case, problem = instance.case, instance.problem()
    exhaustive = exhaustive_seconds(problem)
    taken = []
    for _ in range(ROUNDS):
        started = time.process_time()
        outcome = exact(problem, Control())
        taken.append(time.process_time() - started)
    assert outcome.best is not None
    speed_up = exhaustive / median(taken)
    row = [
        case.id,
        f"{problem.lattice.size:,}",
        f"{case.reference_checks:,}",
        f"{outcome.checked:,}",
        f"at most {most_checks:,}",
        verdict(outcome.checked <= most_checks),
        _found(outcome),
        seconds(median(taken)),
        f"{exhaustive:,.0f}",
        f"{speed_up:.0f} x",
        f"at least {least_speed_up:.0f} x",
        verdict(speed_up >= least_speed_up),
    ]
    return row, close(outcome.best.score, case.expected["score"])


def _large_rows(data: Path) -> Iterator[list[str]]:
    columns = Dataset.open(data, "mach2019").columns
    for attributes, limit, most in LARGE:
        problem = problem_of(data, "mach2019", columns[:attributes], _loss_under_k(limit))
        outcome = search(problem, SearchOptions(time_limit_seconds=LIMIT), Control())
        assert outcome.best is not None
        gap = 100 * outcome.gap / outcome.best.score
        yield [
            f"mach2019, {attributes} QIs, limit {100 * limit:.0f} %",
            f"{problem.lattice.size:,}",
            outcome.strategy.partition(",")[0],
            f"{outcome.checked:,}",
            f"{outcome.best.score:.6f}",
            _found(outcome),
            f"{outcome.lower_bound:.6f}",
            "optimal" if outcome.complete else f"{gap:.1f} %",
            "" if most is None else f"at most {most} %",
            "" if most is None else verdict(gap <= most),
        ]


def _early_rows(data: Path) -> Iterator[list[str]]:
    problem = problem_of(data, "mach2019", Dataset.open(data, "mach2019").columns[:16], _loss_under_k(Decimal(1)))
    outcome = search(problem, SearchOptions(time_limit_seconds=EARLY), Control())
    assert outcome.best is not None
    score = outcome.best.score
    yield [f"{REFERENCE_AT_30:.6f}", f"{score:.6f}", _found(outcome), verdict(score < REFERENCE_AT_30)]


def _loss_under_k(limit: Decimal) -> Models:
    return Models((KAnonymity(5),), LossModel(Aggregate.GEOMETRIC_MEAN), limit)


def _found(outcome: SearchOutcome) -> str:
    return "" if outcome.best_seconds is None else seconds(outcome.best_seconds)
