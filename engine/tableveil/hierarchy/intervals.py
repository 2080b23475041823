"""Intervals of growing width over a declared range of integers, decimals, floats or dates."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.definition import Intervals
from tableveil.hierarchy.labelled import LabelledValues, ValueKind, misfit
from tableveil.hierarchy.notation import Notation, day_of

_NOTATIONS = {
    ValueKind.INTEGER: Notation.INTEGER,
    ValueKind.DECIMAL: Notation.NUMBER,
    ValueKind.FLOAT: Notation.NUMBER,
    ValueKind.DATE: Notation.DATE,
}
_ABOVE = (operator.gt, "a bound above")
_AT_MOST = (operator.le, "a bound not above")
_ORDER = (
    ("maximum", _ABOVE, "minimum"),
    ("bottom_coding", _ABOVE, "minimum"),
    ("bottom_coding", _AT_MOST, "maximum"),
    ("top_coding", _ABOVE, "minimum"),
    ("top_coding", _AT_MOST, "maximum"),
    ("top_coding", _ABOVE, "bottom_coding"),
)
_GREATEST_INT64 = 2**63 - 1
_Offsets = NDArray[np.int64] | NDArray[np.object_]


def check(rule: Intervals, field: str, kind: ValueKind | None) -> list[Fault]:
    """Everything wrong with the rule, and with using it on a column of `kind` if that is known.

    Bounds are read in the column's own notation. If `kind` is not known, the first bound that can be read says whether
    they are numbers or dates.
    """
    hint = "For timestamps, use dates." if kind is ValueKind.TIMESTAMP else ""
    faults = misfit(field, "intervals", kind, tuple(_NOTATIONS), hint)
    bounds = {"minimum": rule.minimum, "maximum": rule.maximum}
    codings = {"bottom_coding": rule.bottom_coding, "top_coding": rule.top_coding}
    bounds |= {name: text for name, text in codings.items() if text}

    notation = (_NOTATIONS.get(kind) if kind else None) or _notation_of(bounds.values())
    expected = notation.value if notation else f"{Notation.NUMBER.value}, or {Notation.DATE.value}"
    numbers = {}
    for name, text in bounds.items():
        number = notation.read(text) if notation else None
        if number is None:
            faults.append(Fault(f"{field}.{name}", shortened(text), expected))
        else:
            numbers[name] = number
    for name, (holds, wording), other in _ORDER:
        if name in numbers and other in numbers and not holds(numbers[name], numbers[other]):
            faults.append(Fault(f"{field}.{name}", shortened(bounds[name]), f"{wording} the {other}, {bounds[other]}"))
    return faults + _width_faults(rule, field, _width_notation(notation or Notation.NUMBER))


def _notation_of(texts: Iterable[str]) -> Notation | None:
    for text in texts:
        for notation in (Notation.NUMBER, Notation.DATE):
            if notation.read(text) is not None:
                return notation
    return None


def _width_notation(bounds: Notation) -> Notation:
    return Notation.INTEGER if bounds is Notation.DATE else bounds


def _width_faults(rule: Intervals, field: str, notation: Notation) -> list[Fault]:
    if not (rule.widths or rule.bottom_coding or rule.top_coding):
        hint = "To release the value itself or '*', use suppression_only."
        return [Fault(f"{field}.widths", "no widths", "at least one width, or bottom or top coding", hint)]
    faults: list[Fault] = []
    before, before_text = None, ""
    for index, text in enumerate(rule.widths):
        width = notation.read(text)
        if width is None or width <= 0:
            faults.append(Fault(f"{field}.widths[{index}]", shortened(text), f"a width above 0, as {notation.value}"))
            continue
        if before is not None and (width <= before or width % before):
            multiple = f"a whole multiple of the width before it, {before_text}, and larger"
            faults.append(Fault(f"{field}.widths[{index}]", shortened(text), multiple))
        before, before_text = width, text
    return faults


def label(rule: Intervals, kind: ValueKind, values: Sequence[object], texts: Sequence[str]) -> LabelledValues:
    """Labels each value with the interval it lies in, per width.

    Integers and dates are counted: intervals are closed, `[20, 29]`; |H| = maximum - minimum + 1 and the leaves of a
    label are the integers or days in its interval. Decimals and floats are measured: intervals are half-open,
    `[20.5, 30.5)`, but for the one that ends with the range, `[90, 100]`; |H| = maximum - minimum and leaves are
    widths. All arithmetic is exact, on the value that a float stands for (0.1 is a little more than a tenth).

    Intervals of width w are laid out from the minimum, `[minimum + i*w, minimum + (i+1)*w)`, and clipped to what is
    between the codings, or the range where there is none. Values from `top_coding` on, also those beyond the range,
    share `>= T` below the top of the hierarchy, values below `bottom_coding` share `< B`; their leaves are what these
    cover of the range. Without any width, level 1 keeps the values between the codings as they are.

    Other values outside of the range are not covered, nor are NaN, infinities, and dates in years beyond Python's.
    """
    grid = _Grid.of(rule, kind)
    numbers = [day_of(*pair) for pair in zip(values, texts, strict=True)] if kind is ValueKind.DATE else values
    found = [grid.offset(number) for number in numbers]
    covered = np.fromiter((offset is not None for offset in found), np.bool_, len(found))
    # Python's own integers where an int64 would overflow.
    integers: DTypeLike = np.int64 if max(grid.size, *grid.widths, 0) < _GREATEST_INT64 else np.object_
    offsets: _Offsets = np.array([offset for offset in found if offset is not None], dtype=integers)

    def levels() -> Iterator[tuple[NDArray[np.object_], NDArray[np.float64]]]:
        for width in grid.widths:
            yield _level(grid, offsets, width)
        if not grid.widths:
            labels, leaves = _level(grid, offsets, 1)
            kept = ~grid.coded(offsets)
            labels[kept] = np.array(texts, dtype=np.object_)[covered][kept]
            leaves[kept] = 0 if grid.continuous else 1
            yield labels, leaves

    return LabelledValues.of(covered, levels(), grid.measure(0, grid.size), continuous=grid.continuous)


def _level(grid: _Grid, offsets: _Offsets, width: int) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    starts, group = np.unique(grid.starts(offsets, width), return_inverse=True)
    intervals = [grid.interval(int(start), width) for start in starts]
    labels = np.array([text for text, _ in intervals], dtype=np.object_)
    leaves = np.array([size for _, size in intervals], dtype=np.float64)
    return labels[group], leaves[group]


@dataclass(frozen=True, slots=True)
class _Grid:
    """The rule in whole units, so that every boundary of an interval is an integer.

    A unit is an integer, a day, or the last decimal place that any bound or width has. Offsets count units from the
    minimum, rounded down; the range is [0, size).
    """

    kind: ValueKind
    units_per_one: int
    minimum: int
    size: int
    widths: tuple[int, ...]
    bottom: int
    """Offset of the bottom coding; 0 if there is none."""
    top: int | None

    @classmethod
    def of(cls, rule: Intervals, kind: ValueKind) -> _Grid:
        notation = _NOTATIONS[kind]
        bounds = (rule.minimum, rule.maximum, rule.bottom_coding, rule.top_coding)
        places = max(len(text.partition(".")[2]) for text in (*bounds, *rule.widths))

        def units(text: str, notation: Notation) -> int:
            number = notation.read(text)
            if number is None:
                raise ValueError(f"{shortened(text)} was not checked to be {notation.value}")
            return int(number * 10**places)

        minimum = units(rule.minimum, notation)
        return cls(
            kind=kind,
            units_per_one=10**places,
            minimum=minimum,
            size=units(rule.maximum, notation) - minimum + (notation is not Notation.NUMBER),
            widths=tuple(units(width, _width_notation(notation)) for width in rule.widths),
            bottom=units(rule.bottom_coding, notation) - minimum if rule.bottom_coding else 0,
            top=units(rule.top_coding, notation) - minimum if rule.top_coding else None,
        )

    @property
    def continuous(self) -> bool:
        return _NOTATIONS[self.kind] is Notation.NUMBER

    def measure(self, start: int, end: int) -> float:
        """Leaves of [start, end)."""
        return (end - start) / self.units_per_one

    def offset(self, number: object) -> int | None:
        """Offset of a number; -1 and `size` + 1 stand for all beyond the range that coding covers, None for others."""
        if not isinstance(number, int | float | Decimal):
            return None
        try:
            numerator, denominator = number.as_integer_ratio()
        except (ValueError, OverflowError):
            return None
        distance = numerator * self.units_per_one - self.minimum * denominator
        if distance < 0:
            return -1 if self.bottom else None
        # The maximum itself belongs to a continuous range too.
        if distance > (self.size if self.continuous else self.size - 1) * denominator:
            return None if self.top is None else self.size + 1
        return distance // denominator

    def coded(self, offsets: _Offsets) -> NDArray[np.bool_]:
        """Whether bottom or top coding applies."""
        below: NDArray[np.bool_] = offsets < self.bottom
        return below if self.top is None else below | (offsets >= self.top)

    def starts(self, offsets: _Offsets, width: int) -> _Offsets:
        """Where the interval of each offset starts: 0 for all that is bottom coded, `top` for all that is top coded."""
        starts = np.maximum(np.minimum(offsets, self.size - 1) // width * width, self.bottom)
        starts[offsets < self.bottom] = 0
        if self.top is not None:
            starts[offsets >= self.top] = self.top
        return starts

    def interval(self, start: int, width: int) -> tuple[str, float]:
        """Label and leaves of the interval that starts there."""
        if start < self.bottom:
            return f"< {self.text(self.bottom)}", self.measure(0, self.bottom)
        if self.top is not None and start >= self.top:
            return f">= {self.text(self.top)}", self.measure(self.top, self.size)
        end = min((start // width + 1) * width, self.size if self.top is None else self.top)
        if not self.continuous:
            text = f"[{self.text(start)}, {self.text(end - 1)}]"
        elif end == self.size and self.top is None:
            text = f"[{self.text(start)}, {self.text(end)}]"
        else:
            text = f"[{self.text(start)}, {self.text(end)})"
        return text, self.measure(start, end)

    def text(self, offset: int) -> str:
        position = self.minimum + offset
        if self.kind is ValueKind.DATE:
            return datetime.date.fromordinal(position).isoformat()
        sign = "-" if position < 0 else ""
        whole, rest = divmod(abs(position), self.units_per_one)
        places = len(str(self.units_per_one)) - 1
        fraction = f"{rest:0{places}d}".rstrip("0") if places else ""
        return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
