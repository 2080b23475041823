"""Aggregates against their definitions, class by class."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from statistics import median, median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.aggregation import AggregatedColumn, Aggregates, CommonLabels, MemberValues, Numbers, Ranges, aggregate
from tableveil.classes import ClassValues
from tableveil.hierarchy import AttributeLevels
from tableveil.policy import AggregateFunction, Aggregation, Scale
from tests.engine.microaggregation.tables import POSITIONS, hierarchies

Classes = list[list[int]]
"""The codes of the records of each class."""


def aggregated(
    positions: Sequence[float],
    classes: Classes,
    function: AggregateFunction,
    scale: Scale = Scale.NUMERIC,
    grid: str | None = None,
    levels: AttributeLevels | None = None,
    coded: tuple[float, float] = (-math.inf, math.inf),
) -> Aggregates:
    aggregation = Aggregation(function, scale, None if grid is None else Decimal(grid))
    column = AggregatedColumn(
        "x", aggregation, np.ones(len(positions), np.int64), np.array(positions, float), levels, coded
    )
    pairs = sorted(Counter((number, code) for number, codes in enumerate(classes) for code in codes).items())
    entries = np.array([(number, code, count) for (number, code), count in pairs])
    return aggregate(column, ClassValues(entries[:, 0], entries[:, 1], entries[:, 2]))


def numbers(*arguments: object, **options: object) -> list[float]:
    found = aggregated(*arguments, **options)  # type: ignore[arg-type]
    assert isinstance(found, Numbers)
    return [float(value) for value in found.values]


def codes(*arguments: object, **options: object) -> list[int]:
    found = aggregated(*arguments, **options)  # type: ignore[arg-type]
    assert isinstance(found, MemberValues)
    return [int(code) for code in found.codes]


def ranges(*arguments: object, **options: object) -> list[tuple[float, float]]:
    found = aggregated(*arguments, **options)  # type: ignore[arg-type]
    assert isinstance(found, Ranges)
    return list(zip(found.low.tolist(), found.high.tolist(), strict=True))


@st.composite
def classes_of(draw: st.DrawFn, positions: st.SearchStrategy[float] = POSITIONS) -> tuple[list[float], Classes]:
    chosen = sorted(draw(st.sets(positions, min_size=1, max_size=8)))
    records = st.lists(st.integers(0, len(chosen) - 1), min_size=1, max_size=8)
    return chosen, draw(st.lists(records, min_size=1, max_size=4))


@given(table=classes_of())
def test_means_and_medians(table: tuple[list[float], Classes]) -> None:
    positions, classes = table
    means = numbers(positions, classes, AggregateFunction.MEAN)
    medians = numbers(positions, classes, AggregateFunction.MEDIAN)

    for found_mean, found_median, of in zip(means, medians, classes, strict=True):
        exact = [Fraction(positions[code]) for code in of]
        mean, size = sum(exact, Fraction(0)) / len(exact), max(abs(value) for value in exact)
        assert abs(Fraction(found_mean) - mean) <= size * Fraction(1, 10**14) + Fraction(5e-324)
        assert min(exact) <= found_mean <= max(exact)
        assert found_median == pytest.approx(float(median(exact)), rel=1e-15, abs=5e-324)


# Numbers below have fewer digits than the tolerance asks for.
@given(table=classes_of(st.floats(sys.float_info.min, 1.7e308)))
def test_geometric_means(table: tuple[list[float], Classes]) -> None:
    positions, classes = table
    found = numbers(positions, classes, AggregateFunction.GEOMETRIC_MEAN)

    for mean, of in zip(found, classes, strict=True):
        logarithm = math.fsum(math.log(positions[code]) for code in of) / len(of)
        assert math.log(mean) == pytest.approx(logarithm, rel=1e-12, abs=1e-12)
        assert min(positions[code] for code in of) <= mean <= max(positions[code] for code in of)


@given(table=classes_of(), scale=st.sampled_from([Scale.ORDINAL, Scale.NOMINAL]))
def test_modes_and_middle_members(table: tuple[list[float], Classes], scale: Scale) -> None:
    positions, classes = table
    ranks = list(range(len(positions)))

    modes = codes(ranks, classes, AggregateFunction.MODE, scale)

    assert modes == [min(of, key=lambda code: (-of.count(code), code)) for of in classes]
    assert codes(ranks, classes, AggregateFunction.MEDIAN, Scale.ORDINAL) == [median_low(of) for of in classes]


def test_values_that_are_the_same_after_coding_are_one_mode() -> None:
    positions = [10.0, 10.0, 10.0, 12.0]

    assert codes(positions, [[1, 2, 3, 3, 2], [3, 3, 0], [2, 1, 3]], AggregateFunction.MODE) == [1, 3, 1]


@given(table=classes_of(st.floats(-1e9, 1e9)), grid=st.sampled_from(["5", "0.1", "0.25", "1000", "0.003", "2"]))
def test_intervals_hold_their_members_and_end_on_the_grid(table: tuple[list[float], Classes], grid: str) -> None:
    positions, classes = table
    step = Fraction(grid)
    for (low, high), of in zip(ranges(positions, classes, AggregateFunction.INTERVAL, grid=grid), classes, strict=True):
        members = [positions[code] for code in of]
        assert low <= min(members) <= max(members) < high
        # They are the numbers nearest to exact multiples, and no multiple between them and the members is left out.
        first, end = round(Fraction(low) / step), round(Fraction(high) / step)
        assert (low, high) == (float(first * step), float(end * step))
        assert float((first + 1) * step) > min(members)
        assert float((end - 1) * step) <= max(members)


@given(table=classes_of(st.integers(-(10**6), 10**6).map(lambda n: n / 10)), data=st.data())
def test_intervals_tell_of_members_only_which_cells_the_outermost_are_in(
    table: tuple[list[float], Classes], data: st.DataObject
) -> None:
    positions, classes = table
    cells = [math.floor(Fraction(str(position)) * 2) for position in positions]
    moved = sorted({(cell + data.draw(st.sampled_from([0.0, 0.25, 0.5]))) / 2 for cell in set(cells)})
    at = sorted(set(cells))
    elsewhere = [[at.index(cells[code]) for code in of] for of in classes]

    found = ranges(positions, classes, AggregateFunction.INTERVAL, grid="0.5")

    assert found == ranges(moved, elsewhere, AggregateFunction.INTERVAL, grid="0.5")


def test_decimals_are_in_the_interval_that_begins_with_them() -> None:
    """3 * 0.1 is 0.30000000000000004 in binary, and 0.3 / 0.1 is 2.9999999999999996."""
    positions = [0.3, 0.6, 0.7]

    found = ranges(positions, [[0], [1], [2], [0, 2]], AggregateFunction.INTERVAL, grid="0.1")

    assert found == [(0.3, 0.4), (0.6, 0.7), (0.7, 0.8), (0.3, 0.8)]


def test_intervals_have_no_end_where_values_were_coded() -> None:
    positions = [10.0, 10.0, 12.0, 17.0, 30.0]
    classes = [[0, 2], [1], [2, 3], [2, 4], [0, 4]]

    found = ranges(positions, classes, AggregateFunction.INTERVAL, grid="5", coded=(10.0, 30.0))

    assert found == [(-math.inf, 15), (-math.inf, 15), (10, 20), (10, math.inf), (-math.inf, math.inf)]


@given(levels=hierarchies(), data=st.data())
def test_common_labels_are_the_lowest(levels: AttributeLevels, data: st.DataObject) -> None:
    number = len(levels.groups[0])
    records = st.lists(st.integers(0, number - 1), min_size=1, max_size=4)
    classes = data.draw(st.lists(records, min_size=1, max_size=4))

    found = aggregated(range(number), classes, AggregateFunction.COMMON_LABEL, Scale.NOMINAL, levels=levels)

    assert isinstance(found, CommonLabels)
    for level, group, of in zip(found.levels, found.groups, classes, strict=True):
        together = [{int(groups[code]) for code in of} for groups in levels.groups]
        assert together[level] == {group}
        assert all(len(groups) > 1 for groups in together[:level])
