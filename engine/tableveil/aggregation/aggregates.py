"""The values that replace those of a column in each class or cluster."""

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import AggregatedColumn
from tableveil.classes import ClassValues
from tableveil.hierarchy import AttributeLevels
from tableveil.policy import AggregateFunction, Scale


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """For `MEAN`, `GEOMETRIC_MEAN` and a numeric `MEDIAN`: per class a number, in the unit of the positions."""

    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MemberValues:
    """For `MODE` and an ordinal `MEDIAN`: per class the code of one of its values; the first if positions are equal."""

    codes: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """For `INTERVAL`: per class low <= all positions < high, multiples of the grid.

    An end is infinite where values were coded: then the class may hold any value beyond the coding.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CommonLabels:
    """For `COMMON_LABEL`: per class a level of the column's hierarchy and the group of it that holds all values."""

    levels: NDArray[np.int32]
    groups: NDArray[np.int32]


Aggregates = Numbers | MemberValues | Ranges | CommonLabels


def all_same(aggregates: Aggregates, among: NDArray[np.bool_]) -> bool:
    """Whether one aggregate replaces the values in all classes of the mask, which holds at least one class."""
    return all(len(np.unique(getattr(aggregates, part.name)[among])) == 1 for part in fields(aggregates))


def aggregate(column: AggregatedColumn, values: ClassValues) -> Aggregates:
    """Computes one aggregate per class by the column's aggregation; every class has at least one value.

    Positions are finite, and above 0 for `GEOMETRIC_MEAN`. Rounding is the only difference from the exact mean, it
    never leads beyond the least and largest value of a class, and no intermediate result overflows.
    """
    assert np.isfinite(column.positions).all(), "values without a position were refused"
    match column.aggregation.function:
        case AggregateFunction.MEAN:
            return Numbers(_means(column.positions[values.values], values))
        case AggregateFunction.GEOMETRIC_MEAN:
            return Numbers(_geometric_means(column.positions[values.values], values))
        case AggregateFunction.MEDIAN if column.aggregation.scale is Scale.ORDINAL:
            return MemberValues(_middle(values, upper=False).astype(np.int32))
        case AggregateFunction.MEDIAN:
            lower, upper = (column.positions[_middle(values, upper)] for upper in (False, True))
            return Numbers(_between(lower, upper))
        case AggregateFunction.MODE:
            return MemberValues(_modes(column.positions[values.values], values))
        case AggregateFunction.INTERVAL:
            return _ranges(column, values)
        case AggregateFunction.COMMON_LABEL:
            assert column.levels is not None, "common labels are of a hierarchy"
            return _common_labels(column.levels, values)
        case never:
            assert_never(never)


def _sizes(values: ClassValues) -> NDArray[np.int64]:
    sizes: NDArray[np.int64] = np.add.reduceat(values.counts, values.starts)
    return sizes


def _ends(of_entries: NDArray[np.float64], values: ClassValues) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per class the least and the largest."""
    return np.minimum.reduceat(of_entries, values.starts), np.maximum.reduceat(of_entries, values.starts)


def _means(positions: NDArray[np.float64], values: ClassValues) -> NDArray[np.float64]:
    """Differences to the least of the class are summed, divided by the class's largest power of two."""
    least, largest = _ends(positions, values)
    exponents = np.frexp(np.maximum(np.abs(least), np.abs(largest)))[1]
    scaled = np.ldexp(positions, -exponents[values.classes])
    first = np.ldexp(least, -exponents)
    differences = values.counts * (scaled - first[values.classes])
    means = first + np.add.reduceat(differences, values.starts) / _sizes(values)
    return np.clip(np.ldexp(means, exponents), least, largest)


def _geometric_means(positions: NDArray[np.float64], values: ClassValues) -> NDArray[np.float64]:
    assert (positions > 0).all(), "values that have no logarithm were refused"
    least, largest = _ends(positions, values)
    logarithms = np.add.reduceat(values.counts * np.log(positions), values.starts) / _sizes(values)
    with np.errstate(over="ignore"):
        return np.clip(np.exp(logarithms), least, largest)


def _middle(values: ClassValues, upper: bool) -> NDArray[np.intp]:
    """Per class the code in the middle; if there are two, the upper or the lower one."""
    upto = values.counts.cumsum()
    sizes = _sizes(values)
    before = upto[values.starts] - values.counts[values.starts]
    codes: NDArray[np.intp] = values.values[upto.searchsorted(before + (sizes - (not upper)) // 2, side="right")]
    return codes


def _between(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half way, without overflow, and without underflow where both are equal."""
    with np.errstate(over="ignore"):
        total = lower + upper
    return np.where(np.isfinite(total), total / 2, lower / 2 + upper / 2)


def _modes(positions: NDArray[np.float64], values: ClassValues) -> NDArray[np.int32]:
    """Values that are equal after coding count together."""
    new = np.diff(positions, prepend=np.nan) != 0
    new[values.starts] = True
    runs = np.flatnonzero(new)
    records = np.add.reduceat(values.counts, runs)
    classes = values.classes[runs]
    most = np.maximum.reduceat(records, np.flatnonzero(np.diff(classes, prepend=-1)))
    frequent = runs[records == most[classes]]
    first = frequent[np.flatnonzero(np.diff(values.classes[frequent], prepend=-1))]
    codes: NDArray[np.int32] = values.values[first].astype(np.int32)
    return codes


def _ranges(column: AggregatedColumn, values: ClassValues) -> Ranges:
    assert column.aggregation.grid is not None, "intervals are rounded to a grid"
    least, largest = _ends(column.positions[values.values], values)
    low, high = _floor(least, column.aggregation.grid), _floor(largest, column.aggregation.grid, 1)
    bottom, top = column.coded
    return Ranges(np.where(least <= bottom, -np.inf, low), np.where(largest >= top, np.inf, high))


def _floor(positions: NDArray[np.float64], grid: Decimal, steps: int = 0) -> NDArray[np.float64]:
    """The largest multiple of the grid that is not above the position, moved up by so many steps.

    A multiple is the float nearest to the exact decimal: 3 * 0.1 is 0.3, which lies in the interval from 0.3.
    """
    numerator, denominator = map(float, grid.as_integer_ratio())
    number = np.floor(positions / (numerator / denominator))
    # The quotient may be rounded across a multiple.
    number -= number * numerator / denominator > positions
    number += (number + 1) * numerator / denominator <= positions
    multiples: NDArray[np.float64] = (number + steps) * numerator / denominator
    return multiples


def _common_labels(levels: AttributeLevels, values: ClassValues) -> CommonLabels:
    filled = np.full(len(values.starts), -1, np.int32)
    groups = np.zeros(len(values.starts), np.int32)
    for level, of_codes in enumerate(levels.groups):
        of_entries = of_codes[values.values]
        first = np.minimum.reduceat(of_entries, values.starts)
        common = (filled < 0) & (first == np.maximum.reduceat(of_entries, values.starts))
        filled[common], groups[common] = level, first[common]
    return CommonLabels(filled, groups)
