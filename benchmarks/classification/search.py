"""Section: the optima that the reference tool finds for a class, and how many checks the bounds save."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.cases import read_cases
from benchmarks.markdown import seconds, table
from benchmarks.reference import as_table, missed, run_cases
from benchmarks.search.in_memory import instances
from benchmarks.section import Section
from tableveil.classes import Check, EquivalenceClasses
from tableveil.control import Control
from tableveil.lattice import Transformation
from tableveil.quality import AssessedTransformation, BoundEvidence, QualityModel, Score
from tableveil.search import Problem, SearchOutcome, exact
from tableveil.search.best_first import best_first

TITLE = "Classification: reference cases"

CASES, OPTIMIZED = "f-*", "f-*-classmetric"


def reference_cases(shared: Path) -> Section:
    """Runs the cases in `shared`; says so if there are none."""
    cases = shared / "reference" / "arx.jsonl"
    if not cases.is_file():
        return Section(TITLE, (f"Skipped: there is no `{cases}`.",))
    results = list(run_cases(read_cases(cases, CASES), shared / "data"))
    rows, agreed = [], True
    for instance in instances(shared, [OPTIMIZED]):
        optimum = None
        for name, run in VARIANTS.items():
            problem = instance.problem()
            started = time.process_time()
            outcome = run(problem)
            elapsed = time.process_time() - started
            found = outcome.best.key if outcome.best else None
            optimum = optimum or found
            agreed = agreed and found == optimum
            reference = str(instance.case.reference_checks)
            rows.append([name, str(outcome.checked), str(outcome.counted), reference, seconds(elapsed)])
    headers = ("search", "checks", "counts, with those for bounds", "reference", "CPU s")
    return Section(
        TITLE,
        (
            "Through the service; scores to 1e-9:",
            as_table(results),
            f"This optimum by other ways, in memory{'' if agreed else ': **another one is found**'}:",
            table(headers, rows),
        ),
        sound=agreed and not missed(results),
    )


class _FromTheMoreGeneralEnd:
    """A quality model with bounds from hi alone."""

    bounds_by_classes = False

    def __init__(self, quality: QualityModel) -> None:
        self._quality = quality

    def assess(self, at: Transformation, classes: EquivalenceClasses, kept: object) -> AssessedTransformation:
        return self._quality.assess(at, classes, kept)  # type: ignore[arg-type]

    def evidence(self, check: Check) -> BoundEvidence:
        return self._quality.evidence(check)

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        raise NotImplementedError

    def reported(self, score: Score) -> float:
        return self._quality.reported(score)


def _without_classes(problem: Problem) -> SearchOutcome:
    return exact(replace(problem, quality=_FromTheMoreGeneralEnd(problem.quality)), Control())


VARIANTS: dict[str, Callable[[Problem], SearchOutcome]] = {
    "exact": lambda problem: exact(problem, Control()),
    "exact, bounded from the more general end only": _without_classes,
    "best first": lambda problem: best_first(problem, Control()),
}
