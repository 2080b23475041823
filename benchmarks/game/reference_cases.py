"""Section: the reference tool's results for the game, and for the risks of a raw table."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Case, read_cases
from benchmarks.markdown import table
from benchmarks.models import Models
from benchmarks.reference import as_table, missed, run_cases
from benchmarks.search.in_memory import problem_of
from benchmarks.section import Section
from tableveil.policy import KAnonymity, LossModel, UniquenessEstimator
from tableveil.risk import Frequencies, population_uniqueness, reidentification_risk

TITLE = "The game and risks: reference cases"

GAME, RISK = "d-*profit*", "g-*"

MEASURED, ESTIMATED = 1e-9, 1e-6
"""Relative differences that are allowed, of measures and of estimates."""

NO_ESTIMATE = (
    "no estimate: its equation has no root where it looks; we search all of beta (docs/explanations/models.md)"
)
"""The reason why the reference tool may have no estimate where ours has one."""

Compared = tuple[str, float, float | None, float]
"""The name, our value, the expected value (None if the reference has none), and the allowed difference."""


def reference_cases(shared: Path) -> Section:
    """Runs the cases in `shared`; says so if there are none."""
    cases = shared / "reference" / "arx.jsonl"
    if not cases.is_file():
        return Section(TITLE, (f"Skipped: there is no `{cases}`.",))
    results = list(run_cases(read_cases(cases, GAME), shared / "data"))
    compared = [row for case in read_cases(cases, RISK) for row in risks(case, shared / "data")]
    rows = [list(_row(*row)) for row in compared]
    return Section(
        TITLE,
        (
            "Profitability and publisher payout, through the service, to 1e-9:",
            as_table(results),
            "Risks of a raw table, by the engine; measures to 1e-9, estimates to 1e-6:",
            table(("case", "found", "expected", ""), rows),
        ),
        sound=not missed(results) and all(_verdict(*row[1:]) != DIFFERS for row in compared),
    )


def risks(case: Case, data: Path) -> Iterator[Compared]:
    """The case's measures and estimates."""
    expected = case.expected
    frequencies = _frequencies(case, data)
    found = reidentification_risk(frequencies, [Decimal(text) for text in _thresholds(expected)])
    wanted = expected["sample_risks"]
    records = expected["num_records"]
    yield f"{case.id}: classes", found.classes, expected["num_classes"], MEASURED
    yield "highest prosecutor risk", found.prosecutor.highest, wanted["highest"], MEASURED
    yield "average", found.prosecutor.average, wanted["average"], MEASURED
    yield "lowest", found.prosecutor.lowest, wanted["lowest"], MEASURED
    yield "records at the highest", found.prosecutor.records_at_highest, wanted["records_highest"], MEASURED
    yield "records at the lowest", found.prosecutor.records_at_lowest, wanted["records_lowest"], MEASURED
    yield "unique records", found.unique_records, expected["sample_uniqueness"]["num_unique"], MEASURED
    yield "marketer", found.marketer, wanted["est_marketer"], MEASURED
    for threshold, at_risk in found.prosecutor.records_at_risk:
        share = expected[f"summary_threshold_{threshold}"]["prosecutor_records_at_risk"]
        yield f"share of records above {threshold}", at_risk / records, share, MEASURED
    for name, estimate in expected["population_uniqueness"].items():
        if name in UniquenessEstimator.__members__:
            share = population_uniqueness(frequencies.sizes, expected["population_size"], UniquenessEstimator(name))
            known = estimate["fraction"] if estimate["available"] else None
            yield f"population uniqueness ({name})", float("nan") if share is None else share, known, ESTIMATED


def _frequencies(case: Case, data: Path) -> Frequencies:
    anything = Models((KAnonymity(1),), LossModel(), Decimal(0))
    problem = problem_of(data, case.dataset, case.quasi_identifiers, anything)
    classes = problem.counter.classes(problem.lattice.bottom)
    codes = tuple(classes.groups(j).astype(np.int32) for j in range(len(case.quasi_identifiers)))
    values = tuple(len(levels.groups[0]) for levels in problem.counter.levels)
    return Frequencies(codes, values, classes.counts)


def _thresholds(expected: Mapping[str, Any]) -> list[str]:
    return [key.rpartition("_")[2] for key in expected if key.startswith("summary_threshold_")]


SAME, EXPLAINED, DIFFERS = "pass", NO_ESTIMATE, "**DIFFERS**"


def _verdict(found: float, expected: float | None, close: float) -> str:
    if expected is None:
        return EXPLAINED
    return SAME if abs(found - expected) <= close * max(1.0, abs(expected)) else DIFFERS


def _row(what: str, found: float, expected: float | None, close: float) -> Iterator[str]:
    yield what
    yield f"{found:.12g}"
    yield "" if expected is None else f"{expected:.12g}"
    yield _verdict(found, expected, close)
