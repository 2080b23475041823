"""Intervals, of growing width or between declared bounds, of integers, decimals, floats, dates or timestamps."""

import datetime
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.labelled import CountedLeaves, LabelledValues, ValueKind, misfit
from tableveil.hierarchy.notation import NO_TIME, Notation, day_of, microseconds_of
from tableveil.hierarchy.rules.interval_grid import (
    MEASURED,
    NOTATIONS,
    WIDTHS,
    Cuts,
    Even,
    IntervalGrid,
    Intervals,
    Offsets,
)
from tableveil.hierarchy.rules.traits import MOST_REPRESENTATIVES, Representatives, RuleTraits, loss_range_faults

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
_SMALL = 2**61
"""The sum of two such numbers is an int64."""

_REPRESENTED = {
    Notation.INTEGER: ValueKind.INTEGER,
    Notation.NUMBER: ValueKind.DECIMAL,
    Notation.DATE: ValueKind.DATE,
    Notation.TIMESTAMP: ValueKind.TIMESTAMP,
}
# Bounds have at most 300 characters, and a result computed from two of them has as many digits before and after the
# point.
_DIGITS = 1000


def check(rule: Intervals, field: str, kind: ValueKind | None) -> list[Fault]:
    """Lists the faults of the rule and, if `kind` is known, of using it on a column of that kind.

    Bounds are read in the column's own notation. If `kind` is not known, the first bound that can be read says whether
    they are numbers, dates or timestamps.
    """
    hint = "For times of day, use times_of_day." if kind is ValueKind.TIME else ""
    faults = misfit(field, "intervals", kind, tuple(NOTATIONS), hint)
    bounds = {"minimum": rule.minimum, "maximum": rule.maximum}
    codings = {"bottom_coding": rule.bottom_coding, "top_coding": rule.top_coding}
    bounds |= {name: text for name, text in codings.items() if text}

    notation = (NOTATIONS.get(kind) if kind else None) or _notation_of(rule)
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
    faults += loss_range_faults(rule.loss_range, field, notation or Notation.NUMBER, bounds, numbers)
    if rule.widths and rule.boundaries:
        actual = f"{len(rule.boundaries)} levels of boundaries beside widths"
        return [*faults, Fault(f"{field}.boundaries", actual, "either widths or boundaries")]
    if rule.boundaries:
        return [*faults, *_boundary_faults(rule, field, notation or Notation.NUMBER, numbers)]
    return faults + _width_faults(rule, field, WIDTHS.get(notation or Notation.NUMBER, notation or Notation.NUMBER))


def _notation_of(rule: Intervals) -> Notation | None:
    bounds = (rule.minimum, rule.maximum, rule.bottom_coding, rule.top_coding)
    every = [*bounds, *(bound for level in rule.boundaries for bound in level)]
    for text in every:
        if Notation.NUMBER.read(text) is not None:
            return Notation.NUMBER
        if Notation.TIMESTAMP.read(text) is not None:
            # Only plain days have one spelling in all columns; widths of timestamps, and bounds with a time, have not.
            if rule.widths:
                timed = any(Notation.DURATION.read(width) is not None for width in rule.widths)
            else:
                timed = any(Notation.DATE.read(bound) is None and Notation.TIMESTAMP.read(bound) for bound in every)
            return Notation.TIMESTAMP if timed else Notation.DATE
    return None


def _width_faults(rule: Intervals, field: str, notation: Notation) -> list[Fault]:
    if not (rule.widths or rule.bottom_coding or rule.top_coding):
        hint = "To release the value itself or '*', use suppression_only."
        expected = "at least one width or one level of boundaries, or bottom or top coding"
        return [Fault(f"{field}.widths", "no widths", expected, hint)]
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


def _boundary_faults(rule: Intervals, field: str, notation: Notation, ends: Mapping[str, Fraction]) -> Iterator[Fault]:
    """Faults of boundaries that do not ascend within the uncoded range, or are no boundaries of the level below."""
    low = "bottom_coding" if rule.bottom_coding else "minimum"
    high = "top_coding" if rule.top_coding else "maximum"
    # The maximum of a counted range is a value of its own, and an interval may start with it.
    last_is_inside = high == "maximum" and notation not in MEASURED
    below: list[Fraction] | None = None
    for level, texts in enumerate(rule.boundaries):
        path = f"{field}.boundaries[{level}].values"
        bounds_read = [notation.read(text) for text in texts]
        numbers = [number for number in bounds_read if number is not None]
        for index, number in enumerate(bounds_read):
            expected = ""
            if number is None:
                expected = notation.value
            elif index and (before := bounds_read[index - 1]) is not None and number <= before:
                expected = f"a bound above the one before it, {texts[index - 1]}"
            elif low in ends and number <= ends[low]:
                expected = f"a bound above the {low}, where the first interval starts"
            elif high in ends and (number > ends[high] if last_is_inside else number >= ends[high]):
                expected = (
                    f"a bound {'not above' if last_is_inside else 'below'} the {high}, where the last interval ends"
                )
            elif below is not None and number not in below:
                expected = f"one of the bounds of boundaries[{level - 1}], so that intervals nest"
            if expected:
                yield Fault(f"{path}[{index}]", shortened(texts[index]), expected)
        if not texts:
            yield Fault(path, "no bounds", "at least one bound inside of the range")
        elif below is not None and len(numbers) >= len(below):
            yield Fault(path, f"{len(numbers)} bounds", f"fewer than the {len(below)} of boundaries[{level - 1}]")
        below = numbers if len(numbers) == len(texts) else None


def label(
    rule: Intervals, kind: ValueKind, values: Sequence[object], texts: Sequence[str], own: NDArray[np.bool_]
) -> LabelledValues:
    """Labels each value with the interval it lies in, per width or list of boundaries.

    Integers and dates are counted: intervals are closed, `[20, 29]`. |H| = maximum - minimum + 1, and the leaves of a
    label are the integers or days in its interval. Decimals, floats and timestamps are measured: intervals are
    half-open, `[20.5, 30.5)`, except for the one that ends with the range, `[90, 100]`. |H| = maximum - minimum, and
    leaves are widths, for timestamps in hours. All arithmetic is exact, on the exact value of a float (0.1 is a little
    more than a tenth). Timestamps are in UTC, in whole microseconds, and written as in ISO 8601.

    Intervals of width w are counted from the minimum, `[minimum + i*w, minimum + (i+1)*w)`. Intervals between
    boundaries start at these and at the minimum. Both are clipped to the part between the codings, or to the range
    where there is no coding. Values from `top_coding` on, also beyond the range, share the label `>= T` below the top
    of the hierarchy; values below `bottom_coding` share `< B`. The leaves of these labels are the parts of the range
    that they cover. Without widths and boundaries, level 1 keeps the values between the codings as they are.

    Other values outside of the range are not covered, nor are NaN, infinities, and dates in years beyond Python's.
    """
    grid = IntervalGrid.of(rule, kind)
    every, covered = _offsets(grid, values, texts)
    offsets: Offsets = every[covered]

    def levels() -> Iterator[tuple[NDArray[np.object_], NDArray[np.float64]]]:
        for cuts in grid.levels:
            yield _level(grid, offsets, cuts)
        if not grid.levels:
            labels, leaves = _level(grid, offsets, Even(1))
            kept = ~grid.coded(offsets)
            labels[kept] = np.array(texts, dtype=np.object_)[covered][kept]
            leaves[kept] = 0 if grid.continuous else 1
            yield labels, leaves

    labelled = LabelledValues.of(covered, levels(), grid.measure(0, grid.size), continuous=grid.continuous)
    if rule.loss_range is None:
        return labelled
    part = grid.part(rule.loss_range.minimum, rule.loss_range.maximum)
    return replace(labelled, loss=_counted(grid, offsets, part))


def _counted(grid: IntervalGrid, offsets: Offsets, part: tuple[int, int]) -> CountedLeaves:
    """The leaves of labels within a part of the range; a value beyond the range, in a coding, is none of it."""
    low, high = part
    # The end of a measured range is a value of its own.
    outside = np.asarray((offsets < low) | ((offsets > high) if grid.continuous else (offsets >= high)), dtype=np.bool_)
    levels = []
    for cuts in grid.levels or (Even(1),):
        starts, group = np.unique(grid.starts(offsets, cuts), return_inverse=True)
        spans = [grid.span(int(start), cuts) for start in starts]
        inside = [grid.measure(0, max(0, min(end, high) - max(start, low))) for start, end in spans]
        leaves = np.array(inside, dtype=np.float64)[group]
        if not grid.levels:
            leaves[~grid.coded(offsets)] = 0 if grid.continuous else 1
        levels.append(leaves)
    return CountedLeaves(tuple(levels), grid.measure(low, high), outside)


def _offsets(grid: IntervalGrid, values: Sequence[object], texts: Sequence[str]) -> tuple[Offsets, NDArray[np.bool_]]:
    """Per value its offset in the grid, and whether it has one."""
    whole = _whole_numbers(grid.kind, values, texts)
    # Python's own integers where an int64 would overflow.
    widths = (cuts.width for cuts in grid.levels if isinstance(cuts, Even))
    small = max(grid.size, abs(grid.minimum), *widths, 0) < _SMALL
    if whole is not None and small:
        return grid.offsets(whole)
    offsets = [grid.offset(number) for number in (values if whole is None else whole.tolist())]
    covered = np.fromiter((offset is not None for offset in offsets), np.bool_, len(offsets))
    integers: DTypeLike = np.int64 if small else np.object_
    return np.array([offset or 0 for offset in offsets], dtype=integers), covered


def _whole_numbers(kind: ValueKind, values: Sequence[object], texts: Sequence[str]) -> NDArray[np.int64] | None:
    """The values as the grid of their kind counts them, `NO_TIME` for what is no time; None if that takes more care."""
    if kind is ValueKind.TIMESTAMP:
        return microseconds_of(values, texts)
    if kind is ValueKind.DATE:
        days = (day_of(value, text) for value, text in zip(values, texts, strict=True))
        return np.fromiter((NO_TIME if day is None else day for day in days), np.int64, len(texts))
    if kind is not ValueKind.INTEGER:
        return None
    try:
        numbers = np.array(values, dtype=np.int64)
    except OverflowError:
        return None
    return numbers if ((numbers > -_SMALL) & (numbers < _SMALL)).all() else None


def _level(grid: IntervalGrid, offsets: Offsets, cuts: Cuts) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    starts, group = np.unique(grid.starts(offsets, cuts), return_inverse=True)
    intervals = [grid.interval(int(start), cuts) for start in starts]
    labels = np.array([text for text, _ in intervals], dtype=np.object_)
    leaves = np.array([size for _, size in intervals], dtype=np.float64)
    return labels[group], leaves[group]


def representatives(rule: Intervals) -> Representatives | None:
    """The starts of intervals: those of the least width, those between boundaries, and those cut by codings."""
    bounds = [rule.minimum, rule.maximum, *filter(None, (rule.bottom_coding, rule.top_coding))]
    bounds += [bound for boundaries in rule.boundaries for bound in boundaries]
    notation = next(kind for kind in _REPRESENTED if all(kind.read(text) is not None for text in bounds))
    numbers = [number for text in bounds if (number := notation.read(text)) is not None]
    first, last = numbers[:2]
    step = _least_width(rule, notation)
    if step and (last - first) / step > MOST_REPRESENTATIVES:
        return None
    starts = {first + i * step for i in range(int((last - first) // step) + 1)} if step else set()
    read_representatives = [
        _typed(number, notation) for number in sorted(starts.union(numbers)) if first <= number <= last
    ]
    return Representatives(
        _REPRESENTED[notation], [value for value, _ in read_representatives], [text for _, text in read_representatives]
    )


def _least_width(rule: Intervals, notation: Notation) -> Fraction | None:
    """The least width in the unit of bounds: 1, a day, or a second."""
    if not rule.widths:
        # Without widths, the values between codings stay single, if they can be counted.
        return Fraction(1) if notation in (Notation.INTEGER, Notation.DATE) and not rule.boundaries else None
    of_width = Notation.DURATION if notation is Notation.TIMESTAMP else Notation.NUMBER
    return of_width.read(rule.widths[0])


def _typed(number: Fraction, notation: Notation) -> tuple[object, str]:
    if notation is Notation.DATE:
        day = datetime.date.fromordinal(int(number))
        return day, day.isoformat()
    if notation is Notation.TIMESTAMP:
        moment = datetime.datetime.min + datetime.timedelta(microseconds=int(number * 10**6))
        return moment, str(moment)
    if notation is Notation.INTEGER:
        return int(number), str(int(number))
    with localcontext() as context:
        context.prec = _DIGITS
        value = Decimal(number.numerator) / number.denominator
    return value, format(value, "f")


INTERVALS = RuleTraits(
    field="intervals",
    kind=Intervals,
    check=check,
    label=label,
    representatives=representatives,
    bounds=lambda kind: kind.ends,
)
