"""The store of risk analyses, which are the owner's: they show which people in the source could be recognized."""

from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Ledger, drop, table
from tableveil.policy import TableReference
from tableveil.state.mapper import NumberedTable
from tableveil.state.seen import Audience, measured


@dataclass(frozen=True, slots=True)
class Measure:
    """One number; `value` None says that there is none, `threshold` that records above it are counted."""

    model: str
    measure: str
    threshold: str | None
    value: float | None


@dataclass(frozen=True, slots=True)
class SubsetRisk:
    """How many records some of the columns tell apart; `proposed` as a guess of what identifies people.

    See `AttributeRisk`.
    """

    columns: tuple[str, ...]
    distinction: float
    separation: float
    unique_records: int
    minimal_unique_records: int
    proposed: bool


@dataclass(frozen=True, slots=True)
class ComparedRisk:
    """The measures of one of several sets of columns that are put side by side."""

    columns: tuple[str, ...]
    measures: tuple[Measure, ...]

    @property
    def classes(self) -> int:
        """Distinct combinations of the columns' values."""
        counted = ("sample", "classes")
        return next(int(measure.value or 0) for measure in self.measures if (measure.model, measure.measure) == counted)


@dataclass(frozen=True, slots=True)
class RiskAnalysis:
    """A risk analysis; `request` is the request as JSON, `seconds` are those from the job's start."""

    number: int
    job: int
    created_at: datetime
    source: TableReference
    source_fingerprint: str
    quasi_identifiers: tuple[str, ...]
    records: int
    classes: int
    population_size: int | None
    largest_subset: int
    has_record_risks: bool
    seconds: float
    warnings: tuple[str, ...]
    request: str
    measures: tuple[Measure, ...]
    subsets: tuple[SubsetRisk, ...]
    compared: tuple[ComparedRisk, ...] = ()
    audience: Audience = Audience.OWNER

    @property
    def proposals(self) -> list[SubsetRisk]:
        """The proposed subsets, most distinctive first."""
        proposed = [subset for subset in self.subsets if subset.proposed]
        return sorted(proposed, key=lambda subset: (-subset.distinction, -subset.separation))

    @property
    def record_risks(self) -> str:
        """Name of the table of the risks of each combination, in the state's schema, if there is one."""
        return record_risks_table(self.number)


def record_risks_table(number: int) -> str:
    """Name of the table of the risks of each combination of values for the analysis of that number."""
    return f"record_risks_{number}"


_RELEASE = """coalesce(try_cast(regexp_extract(request, '"release":"releases/([0-9]+)"', 1) AS BIGINT), 0)"""
"""The number of the release that was analyzed, by the request, or 0: in JSON, no quote inside a text is bare."""


class _RiskAnalyses(NumberedTable[RiskAnalysis]):
    def delete(self, ledger: Ledger, number: int) -> None:
        """With the table of the risks of each combination."""
        super().delete(ledger, number)
        ledger.execute(drop("TABLE", table(record_risks_table(number), "tableveil"), if_exists=True))


RISK_ANALYSES = _RiskAnalyses(
    "risk_analyses",
    RiskAnalysis,
    "risk_analysis_numbers",
    document=("measures", "subsets", "compared"),
    seen=measured(_RELEASE),
    reviewed=True,
)
