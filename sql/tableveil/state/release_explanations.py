"""The reasons for releases: why no neighbour of the transformation took its place, and what levels per class cost."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Rejection:
    """The records that one privacy model rejects at a transformation, and those that no other one rejects.

    It `binds` if the transformation fails, and would be valid without it.
    """

    privacy_model: str
    classes: int
    records: int
    only_classes: int
    only_records: int
    binds: bool


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The transformation one level less or more (`step`) on the columns, several if they are linked.

    They have `level` there. With step 0 and no columns it is the released transformation itself. `score` is None if the
    transformation fails: `records_over_limit` too many would be suppressed.
    """

    columns: tuple[str, ...]
    step: int
    level: int | None
    classes: int
    rejected_classes: int
    suppressed_records: int
    records_over_limit: int
    score: float | None
    rejections: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why no neighbour took the transformation's place. If it is not `complete`, there was no time for some."""

    itself: Neighbour
    neighbours: tuple[Neighbour, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class CostPart:
    """The share of the loss that generalizing a column costs, and the records in which it is generalized.

    With a `label`, it is the share of the records that have this label in the column. Without a column, it is that of
    suppressed records.
    """

    column: str
    label: str | None
    records: int
    share: float


@dataclass(frozen=True, slots=True)
class Alternative:
    """The score that was reached in a short time for another k, or another suppression limit. More time may reach less.

    `k` is None if the policy has no k-anonymity.
    """

    k: int | None
    suppression_limit: Decimal
    score: float
    suppressed_records: int
