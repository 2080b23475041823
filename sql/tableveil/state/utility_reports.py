"""The store of utility reports, which are the owner's: they show how the source spreads over its values."""

from dataclasses import dataclass
from datetime import datetime

from tableveil.state.mapper import NumberedTable
from tableveil.state.seen import Audience, measured
from tableveil.usefulness import UtilityReport


@dataclass(frozen=True, slots=True)
class StoredUtility:
    """A utility report; `request` is the request as JSON, `seconds` are those from the job's start."""

    number: int
    job: int
    created_at: datetime
    release: int
    report: UtilityReport
    seconds: float
    request: str
    audience: Audience = Audience.OWNER


UTILITY_REPORTS = NumberedTable(
    "utility_reports",
    StoredUtility,
    "utility_report_numbers",
    document=("report.columns", "report.associations", "report.rates"),
    seen=measured("release"),
    reviewed=True,
)
