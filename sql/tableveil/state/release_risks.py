"""The prosecutor risk of releases, before and after, each with the sizes of its classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal

from tableveil.backend import Session
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.state.rows import insert_rows

BEFORE, AFTER = "before", "after"

Measure = tuple[str, str | None, float]


def insert(
    session: Session, release: int, risks: Mapping[str, ProsecutorRisk], class_sizes: Mapping[str, ClassSizes]
) -> None:
    """Writes risks and sizes of classes by stage; call it in the transaction that writes the release."""
    measures = [(release, stage, *measure) for stage, risk in risks.items() for measure in risk_measures(risk)]
    insert_rows(session, "release_risks", measures)
    session.execute(
        "INSERT INTO tableveil.release_risk_histograms "
        "SELECT ?, unnest(?::VARCHAR[]), unnest(?::BIGINT[]), unnest(?::BIGINT[])",
        [
            release,
            [stage for stage, found in class_sizes.items() for _ in found.sizes],
            [size for found in class_sizes.values() for size in found.sizes.tolist()],
            [classes for found in class_sizes.values() for classes in found.classes.tolist()],
        ],
    )


def risk_measures(risk: ProsecutorRisk) -> list[Measure]:
    """Rows (measure, threshold, value) of the risk tables; a threshold is the policy's decimal as text."""
    return [
        ("records", None, float(risk.records)),
        ("classes", None, float(risk.classes)),
        ("highest_risk", None, risk.highest),
        ("average_risk", None, risk.average),
        ("lowest_risk", None, risk.lowest),
        ("unique_records", None, float(risk.unique_records)),
        *(("records_above_threshold", str(t), float(records)) for t, records in risk.records_at_risk),
    ]


def of_releases(session: Session, releases: Sequence[int]) -> dict[tuple[int, str], ProsecutorRisk]:
    """The risk by release and stage."""
    measures = defaultdict(list)
    for release, stage, *measure in session.rows(
        "SELECT release, stage, measure, threshold, value FROM tableveil.release_risks "
        "WHERE list_contains(?::BIGINT[], release) ORDER BY rowid",
        [list(releases)],
    ):
        measures[release, stage].append(tuple(measure))
    return {of: _risk(rows) for of, rows in measures.items()}


def _risk(rows: Sequence[Measure]) -> ProsecutorRisk:
    single = {measure: value for measure, threshold, value in rows if threshold is None}
    return ProsecutorRisk(
        records=int(single["records"]),
        classes=int(single["classes"]),
        highest=single["highest_risk"],
        average=single["average_risk"],
        lowest=single["lowest_risk"],
        unique_records=int(single["unique_records"]),
        records_at_risk=tuple((Decimal(t), int(value)) for _, t, value in rows if t is not None),
    )
