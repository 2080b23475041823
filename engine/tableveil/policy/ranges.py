"""The ranges of thresholds that promise something and can be met."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

LARGEST_K = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """The values of a threshold that promise something and can be met."""

    expected: str
    holds: Callable[[Any], bool]
    hint: str = ""

    def contains(self, value: int | Decimal) -> bool:
        """Whether the value is in the range."""
        # Decimals raise an error when they are compared with NaN.
        return (isinstance(value, int) or value.is_finite()) and self.holds(value)


_FROM_2 = f"a number from 2 to {LARGEST_K}"
K = Range(_FROM_2, lambda k: 2 <= k <= LARGEST_K, "k = 1 would promise nothing.")
WHOLE_L = Range(_FROM_2, lambda l: 2 <= l <= LARGEST_K, "l = 1 would promise nothing.")  # noqa: E741
DECIMAL_L = Range("an exact decimal above 1", lambda l: l > 1, "l = 1 would promise nothing.")  # noqa: E741
M = Range("1 or 2", lambda m: 1 <= m <= 2, "The cost of more grows with the third power of a person's rows.")
N = Range("a number from 2 on", lambda n: n >= 2, "n = 1 would promise nothing.")
DISTANCE = Range("an exact decimal from 0 up to but not 1", lambda t: 0 <= t < 1, "No distance is above 1.")
POSITIVE = Range("an exact decimal above 0", lambda number: number > 0)
SHARE = Range("an exact decimal from 0 to 1", lambda share: 0 <= share <= 1)
INSIDE = Range("an exact decimal above 0 and below 1", lambda share: 0 < share < 1)
UNIQUE = Range("an exact decimal from 0 up to but not 1", lambda share: 0 <= share < 1, "No share is above 1.")
