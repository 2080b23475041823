"""Why releases with levels per class lose what they lose, and what other policies would lose."""

from dataclasses import dataclass
from decimal import Decimal


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
