"""The store of classifier assessments, which are the owner's: their figures come from suppressed records, too."""

from dataclasses import dataclass, replace
from datetime import datetime

from tableveil.backend import Ledger
from tableveil.classification.model import Assessment, Measures
from tableveil.policy import TableReference
from tableveil.state.mapper import NumberedTable
from tableveil.state.seen import UNHIDDEN, Audience, Condition, measured


@dataclass(frozen=True, slots=True)
class Classification:
    """A classifier assessment; `request` is the request as JSON, `seconds` are those from the job's start.

    `sampled_records` of the source's `records` were used; `suppressed_records` of these are not released. `published`
    is the name of the table of figures, if one was written. Assessments are listed without ROC points.
    """

    number: int
    job: int
    created_at: datetime
    release: int
    source: TableReference
    source_fingerprint: str
    records: int
    sampled_records: int
    suppressed_records: int
    folds: int
    published: str
    seconds: float
    warnings: tuple[str, ...]
    request: str
    assessments: tuple[Assessment, ...]
    audience: Audience = Audience.OWNER


class _Classifications(NumberedTable[Classification]):
    def page(self, ledger: Ledger, before: int | None, size: int, only: Condition = UNHIDDEN) -> list[Classification]:
        """Without ROC points."""
        found = super().page(ledger, before, size, only)
        return [replace(one, assessments=tuple(map(_without_curves, one.assessments))) for one in found]


def _without_curves(assessment: Assessment) -> Assessment:
    def plain(measures: Measures) -> Measures:
        return replace(measures, classes=tuple(replace(one, roc=()) for one in measures.classes))

    comparisons = tuple(
        replace(one, original=plain(one.original), anonymized=plain(one.anonymized)) for one in assessment.comparisons
    )
    return replace(assessment, baseline=plain(assessment.baseline), comparisons=comparisons)


CLASSIFICATIONS = _Classifications(
    "classifications",
    Classification,
    "classification_numbers",
    document=["assessments"],
    seen=measured("release"),
    reviewed=True,
)
