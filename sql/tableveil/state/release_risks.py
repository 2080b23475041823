"""The sizes of the classes of releases, before and after, the prosecutor risk, and suppressed records by labels."""

from collections.abc import Mapping
from dataclasses import dataclass

from tableveil.backend import Ledger
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.state.mapper import Table

BEFORE, AFTER = "before", "after"
"""The stages. People who have several records are counted in them."""


@dataclass(frozen=True, slots=True)
class RiskMeasure:
    """A row of the risk tables; a threshold is the policy's decimal as text."""

    measure: str
    threshold: str | None
    value: float


def insert(ledger: Ledger, release: int, class_sizes: Mapping[str, ClassSizes]) -> None:
    """Writes sizes of classes by stage; call it in the transaction that writes the release."""
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


@dataclass(frozen=True, slots=True)
class SuppressedLabel:
    """So many of the source's `records` with this label in the column are suppressed; the label None is NULL."""

    column: str
    label: str | None
    records: int
    suppressed: int


SUPPRESSIONS = Table("release_suppressions", SuppressedLabel, "release", position=True, names={"column": "column_name"})
