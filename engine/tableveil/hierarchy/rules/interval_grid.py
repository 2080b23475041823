"""The grid of an intervals rule: its bounds in whole units, so that all computations are exact."""

from __future__ import annotations

import datetime
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import shortened
from tableveil.hierarchy.labelled import ValueKind
from tableveil.hierarchy.notation import MICROSECONDS, NO_TIME, Notation
from tableveil.hierarchy.rules.traits import LossRange

NOTATIONS = {
    ValueKind.INTEGER: Notation.INTEGER,
    ValueKind.DECIMAL: Notation.NUMBER,
    ValueKind.FLOAT: Notation.NUMBER,
    ValueKind.DATE: Notation.DATE,
    ValueKind.TIMESTAMP: Notation.TIMESTAMP,
}
"""The notation of a column's bounds, by the kind of its values."""
WIDTHS = {Notation.DATE: Notation.INTEGER, Notation.TIMESTAMP: Notation.DURATION}
"""The notation of widths, where it differs from that of bounds."""
MEASURED = (Notation.NUMBER, Notation.TIMESTAMP)
"""Intervals of measured values are half-open; those of counted values are closed."""
_HOUR = 3_600 * MICROSECONDS

Offsets = NDArray[np.int64] | NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals over a declared range; all bounds and widths are kept as the policy wrote them.

    The intervals of a level have one of `widths`, counted from `minimum`, or lie between the bounds of one of
    `boundaries`.
    """

    minimum: str
    maximum: str
    widths: tuple[str, ...] = ()
    bottom_coding: str = ""
    top_coding: str = ""
    boundaries: tuple[tuple[str, ...], ...] = ()
    loss_range: LossRange | None = None

    def __str__(self) -> str:
        coding = [f"below {self.bottom_coding}"] * bool(self.bottom_coding) + [f"from {self.top_coding}"] * bool(
            self.top_coding
        )
        together = f", {' and '.join(coding)} together" if coding else ""
        cut = [f"cut at {', '.join(bounds)}" for bounds in self.boundaries] or [f"of {', '.join(self.widths)}"]
        return f"intervals {'; '.join(cut)} in {self.minimum} to {self.maximum}{together}"


@dataclass(frozen=True, slots=True)
class Even:
    """Intervals of one width, from offset 0 on."""

    width: int

    def starts(self, offsets: Offsets) -> Offsets:
        """The start of each offset's interval."""
        return offsets // self.width * self.width

    def end(self, start: int) -> int:
        """The end of the interval that starts there; the end is not part of the interval."""
        return (start // self.width + 1) * self.width


@dataclass(frozen=True, slots=True)
class Declared:
    """Intervals from each of these ascending offsets to the next; the first is 0, the last interval ends at `size`."""

    bounds: tuple[int, ...]
    size: int

    def starts(self, offsets: Offsets) -> Offsets:
        """The start of each offset's interval."""
        bounds = np.array(self.bounds, dtype=offsets.dtype)
        starts: Offsets = bounds[np.searchsorted(bounds, offsets, side="right") - 1]
        return starts

    def end(self, start: int) -> int:
        """The end of the interval that starts there; the end is not part of the interval."""
        after = bisect_right(self.bounds, start)
        return self.bounds[after] if after < len(self.bounds) else self.size


Cuts = Even | Declared
"""The intervals of one level."""


@dataclass(frozen=True, slots=True)
class IntervalGrid:
    """The rule in whole units, so that every boundary of an interval is an integer.

    A unit is an integer, a day, a microsecond, or the last decimal place that any bound or width has. Offsets count
    units from the minimum, rounded down; the range is [0, size).
    """

    kind: ValueKind
    units_per_one: int
    """Units per 1 of a value as a number; a timestamp is a number of microseconds."""
    units_per_leaf: int
    minimum: int
    size: int
    levels: tuple[Cuts, ...]
    bottom: int
    """Offset of the bottom coding; 0 if there is none."""
    top: int | None

    @classmethod
    def of(cls, rule: Intervals, kind: ValueKind) -> IntervalGrid:
        """The grid of a checked rule, for a column of that kind."""
        notation = NOTATIONS[kind]
        width_notation = WIDTHS.get(notation, notation)
        every = (rule.minimum, rule.maximum, rule.bottom_coding, rule.top_coding, *rule.widths)
        every += tuple(bound for level in rule.boundaries for bound in level)
        every += (rule.loss_range.minimum, rule.loss_range.maximum) if rule.loss_range else ()
        places = max(len(text.partition(".")[2]) for text in every)
        # A timestamp's text is read as seconds.
        units_per_read = MICROSECONDS if notation is Notation.TIMESTAMP else 10**places
        units_per_one = 1 if notation is Notation.TIMESTAMP else units_per_read

        def units(text: str, notation: Notation) -> int:
            number = notation.read(text)
            if number is None:
                raise ValueError(f"{shortened(text)} was not checked to be {notation.value}")
            return int(number * units_per_read)

        minimum = units(rule.minimum, notation)
        size = units(rule.maximum, notation) - minimum + (notation not in MEASURED)
        even = tuple(Even(units(width, width_notation)) for width in rule.widths)
        offsets = [tuple(units(bound, notation) - minimum for bound in level) for level in rule.boundaries]
        return cls(
            kind=kind,
            units_per_one=units_per_one,
            units_per_leaf=_HOUR if notation is Notation.TIMESTAMP else units_per_one,
            minimum=minimum,
            size=size,
            levels=even or tuple(Declared((0, *bounds), size) for bounds in offsets),
            bottom=units(rule.bottom_coding, notation) - minimum if rule.bottom_coding else 0,
            top=units(rule.top_coding, notation) - minimum if rule.top_coding else None,
        )

    @property
    def continuous(self) -> bool:
        """Whether the column is measured, not counted."""
        return NOTATIONS[self.kind] in MEASURED

    def measure(self, start: int, end: int) -> float:
        """The leaves of [start, end)."""
        return (end - start) / self.units_per_leaf

    def offsets(self, numbers: NDArray[np.int64]) -> tuple[Offsets, NDArray[np.bool_]]:
        """`offset` for whole numbers, days or microseconds, and whether each has one."""
        distance = numbers - self.minimum
        below, beyond = distance < 0, distance > self.size - (not self.continuous)
        covered = ~(below & (self.bottom == 0)) & ~(beyond & (self.top is None))
        if self.kind is not ValueKind.INTEGER:
            covered &= numbers != NO_TIME
        return np.where(below, -1, np.where(beyond, self.size + 1, distance)), covered

    def offset(self, number: object) -> int | None:
        """The offset of a number; -1 and `size` + 1 stand for numbers in a coding beyond the range; else None."""
        if not isinstance(number, int | float | Decimal):
            return None
        try:
            numerator, denominator = number.as_integer_ratio()
        except (ValueError, OverflowError):
            return None
        distance = numerator * self.units_per_one - self.minimum * denominator
        if distance < 0:
            return -1 if self.bottom else None
        # The maximum itself belongs to a continuous range, too.
        if distance > (self.size if self.continuous else self.size - 1) * denominator:
            return None if self.top is None else self.size + 1
        return distance // denominator

    def coded(self, offsets: Offsets) -> NDArray[np.bool_]:
        """Whether bottom or top coding applies."""
        below: NDArray[np.bool_] = offsets < self.bottom
        return below if self.top is None else below | (offsets >= self.top)

    def starts(self, offsets: Offsets, cuts: Cuts) -> Offsets:
        """The start of each offset's interval: 0 for bottom coded offsets, `top` for top coded ones."""
        starts = np.maximum(cuts.starts(np.minimum(offsets, self.size - 1)), self.bottom)
        starts[offsets < self.bottom] = 0
        if self.top is not None:
            starts[offsets >= self.top] = self.top
        return starts

    def span(self, start: int, cuts: Cuts) -> tuple[int, int]:
        """The part of the range that the interval covers that starts there; its end is not part of it."""
        if start < self.bottom:
            return 0, self.bottom
        if self.top is not None and start >= self.top:
            return self.top, self.size
        return start, min(cuts.end(start), self.size if self.top is None else self.top)

    def part(self, minimum: str, maximum: str) -> tuple[int, int]:
        """The offsets of a part of the range, by its bounds; its end is not part of it."""
        notation = NOTATIONS[self.kind]
        low, high = notation.read(minimum), notation.read(maximum)
        assert low is not None, "it was checked"
        assert high is not None, "it was checked"
        per_read = MICROSECONDS if notation is Notation.TIMESTAMP else self.units_per_one
        return int(low * per_read) - self.minimum, int(high * per_read) - self.minimum + (notation not in MEASURED)

    def interval(self, start: int, cuts: Cuts) -> tuple[str, float]:
        """The label and the leaves of the interval that starts there."""
        start, end = self.span(start, cuts)
        if start < self.bottom:
            return f"< {self.text(self.bottom)}", self.measure(start, end)
        if self.top is not None and start >= self.top:
            return f">= {self.text(self.top)}", self.measure(start, end)
        if not self.continuous:
            text = f"[{self.text(start)}, {self.text(end - 1)}]"
        elif end == self.size and self.top is None:
            text = f"[{self.text(start)}, {self.text(end)}]"
        else:
            text = f"[{self.text(start)}, {self.text(end)})"
        return text, self.measure(start, end)

    def text(self, offset: int) -> str:
        """The number, date or timestamp at an offset."""
        position = self.minimum + offset
        if self.kind is ValueKind.DATE:
            return datetime.date.fromordinal(position).isoformat()
        if self.kind is ValueKind.TIMESTAMP:
            time = (datetime.datetime.min + datetime.timedelta(microseconds=position)).isoformat()
            return time.rstrip("0") if "." in time else time
        sign = "-" if position < 0 else ""
        whole, rest = divmod(abs(position), self.units_per_one)
        places = len(str(self.units_per_one)) - 1
        fraction = f"{rest:0{places}d}".rstrip("0") if places else ""
        return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
