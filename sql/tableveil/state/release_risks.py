"""The prosecutor risk of releases, before and after, and by the sizes of the released classes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tableveil.backend import Ledger
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.state.mapper import Table

BEFORE, AFTER, BY_SIZE = "before", "after", "after_by_size"
"""The stages. People who have several records are counted in the first two."""


@dataclass(frozen=True, slots=True)
class RiskMeasure:
    """A row of the risk tables; a threshold is the policy's decimal as text."""

    measure: str
    threshold: str | None
    value: float


_MEASURES = Table("release_risks", RiskMeasure, "release", "stage")


def insert(
    ledger: Ledger, release: int, risks: Mapping[str, ProsecutorRisk], class_sizes: Mapping[str, ClassSizes]
) -> None:
    """Writes risks and sizes of classes by stage; call it in the transaction that writes the release."""
    _MEASURES.insert_all(ledger, {(release, stage): risk_measures(risk) for stage, risk in risks.items()})
    ledger.execute(
        "INSERT INTO tableveil.release_risk_histograms "
        "SELECT ?, unnest(?::VARCHAR[]), unnest(?::BIGINT[]), unnest(?::BIGINT[])",
        [
            release,
            [stage for stage, sizes in class_sizes.items() for _ in sizes.sizes],
            [size for sizes in class_sizes.values() for size in sizes.sizes.tolist()],
            [classes for sizes in class_sizes.values() for classes in sizes.classes.tolist()],
        ],
    )


def sizes_of(ledger: Ledger, release: int) -> dict[str, list[tuple[int, int]]]:
    """The sizes of a release's classes, each with its number of classes, by stage."""
    rows = ledger.rows(
        "SELECT stage, class_size, classes FROM tableveil.release_risk_histograms WHERE release = ? "
        "ORDER BY stage, class_size",
        [release],
    )
    return {
        stage: [(size, classes) for read_stage, size, classes in rows if read_stage == stage]
        for stage in (BEFORE, AFTER)
    }


def risk_measures(risk: ProsecutorRisk) -> list[RiskMeasure]:
    """The rows of the risk tables."""
    return [
        RiskMeasure("records", None, float(risk.records)),
        RiskMeasure("classes", None, float(risk.classes)),
        RiskMeasure("highest_risk", None, risk.highest),
        RiskMeasure("average_risk", None, risk.average),
        RiskMeasure("lowest_risk", None, risk.lowest),
        RiskMeasure("unique_records", None, float(risk.unique_records)),
        *(RiskMeasure("records_above_threshold", str(t), float(records)) for t, records in risk.records_at_risk),
    ]


def of_releases(ledger: Ledger, releases: Sequence[int]) -> dict[tuple[int, str], ProsecutorRisk]:
    """The risk by release and stage."""
    return {key: risk_of(measures) for key, measures in _MEASURES.of(ledger, releases).items()}


def risk_of(measures: Sequence[RiskMeasure]) -> ProsecutorRisk:
    """The risk of which these are the rows."""
    single = {measure.measure: measure.value for measure in measures if measure.threshold is None}
    return ProsecutorRisk(
        records=int(single["records"]),
        classes=int(single["classes"]),
        highest=single["highest_risk"],
        average=single["average_risk"],
        lowest=single["lowest_risk"],
        unique_records=int(single["unique_records"]),
        records_at_risk=tuple((Decimal(m.threshold), int(m.value)) for m in measures if m.threshold is not None),
    )
