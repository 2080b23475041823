"""The steps in which a threshold is relaxed."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tableveil.privacy.column_rule import DIGITS

UNIT = Decimal(1).scaleb(-DIGITS)
"""The step in which decimals are tried, and so the precision of the nearest value."""

Number = int | Decimal


@dataclass(frozen=True, slots=True)
class UnitSteps:
    """The multiples of a unit beyond `own` up to `end`, upwards or, if it `falls`, downwards."""

    own: Number
    end: Number
    falls: bool
    unit: Number = UNIT

    def at(self, step: int) -> Number:
        """The value at a step from 1 on."""
        return (self._first - step + 1 if self.falls else self._first + step - 1) * self.unit

    @property
    def last(self) -> int:
        """The last step; 0 if there is none."""
        end = Fraction(self.end) / Fraction(self.unit)
        steps = self._first - math.ceil(end) if self.falls else math.floor(end) - self._first
        return max(0, steps + 1)

    @property
    def _first(self) -> int:
        units = Fraction(self.own) / Fraction(self.unit)
        return math.ceil(units) - 1 if self.falls else math.floor(units) + 1


def up(own: Decimal, end: Decimal) -> UnitSteps:
    """Decimals above `own`."""
    return UnitSteps(own, end, False)


def down(own: Decimal, end: Decimal) -> UnitSteps:
    """Decimals below `own`."""
    return UnitSteps(own, end, True)


def levels(own: int, end: int) -> UnitSteps:
    """Whole numbers from `own` to `end`."""
    return UnitSteps(own, end, end < own, 1)


def fewer(own: int, end: int) -> UnitSteps:
    """Whole numbers below `own`."""
    return UnitSteps(own, end, True, 1)


def spell(number: Number) -> str:
    """The number as people write it."""
    return str(number) if isinstance(number, int) else f"{number.normalize():f}"
