"""The store of frontiers, which are the owner's: they show what the source would lose."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from tableveil.policy import TableReference
from tableveil.state.mapper import NumberedTable
from tableveil.state.seen import results


@dataclass(frozen=True, slots=True)
class Found:
    """The best transformation for a k and a limit: its score as users see it, and its level per quasi-identifier."""

    score: float
    suppressed_records: int
    classes: int
    levels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """The findings for one k and suppression limit.

    If `optimal`, `found` is proven to be the best, or, if it is None, that nothing meets the policy. No valid
    transformation scores less than `lower_bound`, which is None if there is none.
    """

    k: int
    suppression_limit: Decimal
    found: Found | None
    optimal: bool
    lower_bound: float | None


@dataclass(frozen=True, slots=True)
class Frontier:
    """A frontier with its evidence; `points` by k, then by limit, both ascending; `policy` is the document as JSON.

    `seconds` are those from the job's start, `search_seconds` those of the search.
    """

    number: int
    job: int
    created_at: datetime
    source: TableReference
    source_fingerprint: str
    records: int
    quasi_identifiers: tuple[str, ...]
    lattice_size: str
    checked: int
    counter: str
    search_seconds: float
    seconds: float
    policy: str
    points: tuple[Point, ...]


FRONTIERS = NumberedTable("frontiers", Frontier, "frontier_numbers", document=["points"], seen=results)
