"""Section: how much each part of the exact search saves, measured by leaving it out."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.markdown import seconds, table
from benchmarks.search.in_memory import instances
from benchmarks.section import Section
from tableveil.classes import Check, Marginals
from tableveil.control import Control
from tableveil.lattice import Transformation
from tableveil.quality import BoundEvidence, QualityModel, Score
from tableveil.quality.model import AssessedTransformation
from tableveil.search import Problem, SearchOutcome, branching
from tableveil.search.findings import Findings
from tableveil.search.intervals import IntervalSearch

TITLE = "The search: what each part saves"

IDS = ("a-adult-k5-s0.05-loss-gm", "a-fars-k5-s0.05-loss-gm", "a-mach201910-k5-s0.05-loss-gm")


def ablation(shared: Path) -> Section:
    """Runs the cases; says so if there is no data."""
    if not (shared / "data").is_dir():
        return Section(TITLE, (f"Skipped: there is no `{shared / 'data'}`.",))
    problems = [instance.problem() for instance in instances(shared, IDS)]
    rows, best = [], None
    for name, run in VARIANTS.items():
        cells = [name]
        outcomes = []
        for problem in problems:
            started = time.process_time()
            outcomes.append(run(problem))
            cells += [f"{outcomes[-1].checked:,}", seconds(time.process_time() - started)]
        keys = [outcome.best.key if outcome.best else None for outcome in outcomes]
        best = best or keys
        rows.append([*cells, "" if keys == best else "**another optimum**"])
    headers = ["without", *(part for id_ in IDS for part in (f"{id_.split('-')[1]} checks", "CPU s")), ""]
    return Section(TITLE, (table(headers, rows),), sound=all(not row[-1] for row in rows))


class _NoInheritedSuppression:
    """Loss that is bounded by generalization alone, as if nothing were suppressed."""

    def __init__(self, quality: QualityModel) -> None:
        self._quality = quality

    bounds_by_classes = False

    def assess(self, at: Transformation, classes: object, kept: object) -> AssessedTransformation:
        return self._quality.assess(at, classes, kept)  # type: ignore[arg-type]

    def evidence(self, check: Check) -> BoundEvidence:
        nothing = Marginals(check.marginals.at, tuple(np.zeros_like(counts) for counts in check.marginals.counts))
        check._marginals = nothing
        return self._quality.evidence(check)

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        raise NotImplementedError

    def reported(self, score: Score) -> float:
        return self._quality.reported(score)


class _NoNarrowing(IntervalSearch):
    def _narrowed(self, interval: object) -> Transformation:
        return interval.hi  # type: ignore[attr-defined, no-any-return]


class _NoExclusion(Findings):
    """Detects too much suppression only where lo and hi meet."""

    def excluded(self, check: Check) -> bool:
        return False


def _run(
    problem: Problem, findings: type[Findings] = Findings, intervals: type[IntervalSearch] = IntervalSearch
) -> SearchOutcome:
    found = findings(problem, Control(), lambda progress: None)
    search = intervals(found)
    while not search.exhausted():
        search.step()
    return found.outcome("exact", search.bound(), complete=True)


def _nothing_learned(problem: Problem) -> SearchOutcome:
    weight = branching.LEARNED
    branching.LEARNED = 0.0
    try:
        return _run(problem)
    finally:
        branching.LEARNED = weight


VARIANTS: dict[str, Callable[[Problem], SearchOutcome]] = {
    "nothing: all of it": _run,
    "narrowing": lambda problem: _run(problem, intervals=_NoNarrowing),
    "learning where to split": _nothing_learned,
    "inherited suppression in the bound": lambda problem: _run(
        replace(problem, quality=_NoInheritedSuppression(problem.quality))
    ),
    "excluding by suppression": lambda problem: _run(problem, findings=_NoExclusion),
}
