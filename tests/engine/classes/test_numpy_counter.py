"""The numpy counter on a histogram that was rolled up already; tests/sql holds the contract of all counters."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.classes import LevelMaps, Marginals, NumpyCounter
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Transformation


@pytest.fixture
def levels() -> AttributeLevels:
    """Codes 0 to 3 are groups 0, 0, 1, 1 at level 1 and 0, 0, 0, 0 at the top, level 2."""
    rows = (("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"))
    values = [row[0] for row in rows]
    return attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, values, values), has_null=False)


def test_level_maps_lead_from_groups_to_the_groups_they_are_part_of(levels: AttributeLevels) -> None:
    maps = LevelMaps([levels])
    assert maps.between(0, 0, 1).tolist() == [0, 0, 1, 1]
    assert maps.between(0, 1, 2).tolist() == [0, 0]
    assert maps.between(0, 1, 1).tolist() == [0, 1]


def records_below(counter: NumpyCounter, transformation: Transformation, size: int) -> Marginals:
    return counter.records_in(transformation, counter.classes(transformation).counts < size)


def test_counts_on_from_a_roll_up(levels: AttributeLevels) -> None:
    groups = [np.array([0, 1], np.int32), np.array([3, 3], np.int32)]
    counter = NumpyCounter([levels, levels], groups, np.array([4, 2]), at=(1, 0))
    assert counter.records == 6
    assert counter.classes((2, 2)).counts.tolist() == [6]
    classes = counter.classes((1, 1))
    found = zip(classes.groups(0).tolist(), classes.groups(1).tolist(), classes.counts.tolist(), strict=True)
    assert sorted(found) == [(0, 1, 4), (1, 1, 2)]
    small = records_below(counter, (1, 1), 3)
    assert small.at == (1, 0)
    assert [counts.tolist() for counts in small.counts] == [[0, 2], [0, 0, 0, 2]]


def test_records_need_not_be_asked_for_right_after_the_classes(levels: AttributeLevels) -> None:
    counter = NumpyCounter([levels], [np.array([0, 1, 2], np.int32)], np.array([3, 1, 2]))
    counter.classes((2,))
    assert records_below(counter, (0,), 3).counts[0].tolist() == [0, 1, 2, 0]
    assert records_below(counter, (1,), 3).counts[0].tolist() == [0, 0, 2, 0]
    assert records_below(counter, (2,), 7).counts[0].tolist() == [3, 1, 2, 0]


def test_counts_far_beyond_32_bits_exactly(levels: AttributeLevels) -> None:
    counter = NumpyCounter([levels], [np.array([0, 1], np.int32)], np.array([2**52, 1]))
    assert counter.classes((1,)).counts.tolist() == [2**52 + 1]
    assert counter.records == 2**52 + 1


def test_no_records_but_withheld_ones(levels: AttributeLevels) -> None:
    counter = NumpyCounter([levels], [np.array([], np.int32)], np.array([], np.int64), withheld=3)
    assert (counter.records, counter.withheld) == (3, 3)
    assert counter.classes((1,)).counts.tolist() == []
    assert records_below(counter, (1,), 2).counts[0].sum() == 0


def nested_levels(groups: list[int]) -> AttributeLevels:
    """Codes that are cut into neighbourhoods of twice the size per level, or all alike in the last one."""
    rows = tuple((f"{code:05}", f"{code // 2:05}", f"{code // 4:05}", "*") for code in groups)
    values = [row[0] for row in rows]
    return attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, values, values), has_null=False)


# From a single group to more than one block or one byte holds; 14 attributes of 70 groups take two 64-bit words.
NARROW, WIDE = (nested_levels(list(range(size))) for size in (3, 70))
MANY = nested_levels(list(range(5000)))


@given(data=st.data())
def test_counts_what_python_counts_in_the_order_of_the_keys(data: st.DataObject) -> None:
    """Few rows in large spaces are numbered by sorting, more by marking, many in small spaces not at all."""
    levels = data.draw(st.lists(st.sampled_from([NARROW, WIDE, MANY]), min_size=1, max_size=16))
    at = tuple(data.draw(st.integers(0, 1)) for _ in levels)
    number = data.draw(st.sampled_from([1, 5, 60, 2000]))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    variety = data.draw(st.integers(1, 100))
    groups = [
        random.integers(0, min(len(attribute.leaves[low]), variety), number).astype(np.int32)
        for attribute, low in zip(levels, at, strict=True)
    ]
    counts = random.integers(1, 2**40, number)
    counter = NumpyCounter(levels, groups, counts, withheld=2, at=at)
    assert counter.records == counts.sum() + 2
    maps = LevelMaps(levels)
    for _ in range(3):
        to = tuple(data.draw(st.integers(low, attribute.top)) for attribute, low in zip(levels, at, strict=True))
        columns = [maps.between(j, low, to[j])[groups[j]].tolist() for j, low in enumerate(at)]
        rows = list(zip(*columns, strict=True))
        expected: Counter[tuple[int, ...]] = Counter()
        for row, count in zip(rows, counts.tolist(), strict=True):
            expected[row] += count
        classes = counter.classes(to)
        found = zip(*(classes.groups(j).tolist() for j in range(len(levels))), strict=True)
        assert list(zip(found, classes.counts.tolist(), strict=True)) == sorted(expected.items())
        size = data.draw(st.sampled_from(classes.counts.tolist())) + 1
        small = np.array([expected[row] < size for row in rows])
        for j, (attribute, low) in enumerate(zip(levels, at, strict=True)):
            marginal = np.zeros(len(attribute.leaves[low]), np.int64)
            np.add.at(marginal, groups[j][small], counts[small])
            assert records_below(counter, to, size).counts[j].tolist() == marginal.tolist()


def test_counts_attributes_of_more_groups_than_two_bytes_hold() -> None:
    """40,000 rows that differ in the first attribute, by 70,000 groups of the second: more places than 31 bits hold."""
    wide = nested_levels(list(range(70_000)))
    first, second = np.arange(40_000) + 20_000, np.random.default_rng(1).integers(0, 70_000, 40_000)
    counter = NumpyCounter([wide, wide], [first, second], np.full(40_000, 3))
    classes = counter.classes((0, 0))
    assert np.array_equal(classes.groups(0), first)
    assert np.array_equal(classes.groups(1), second)
    assert (classes.counts == 3).all()


def test_keeps_few_bytes_per_combination() -> None:
    """Each block of attributes with up to 65,536 combinations takes two bytes, each count eight."""
    groups = [np.zeros(1000, np.int64)] * 6
    counter = NumpyCounter([NARROW] * 5 + [WIDE], groups, np.ones(1000, np.int64))
    assert counter.nbytes <= 1000 * (8 + 2 + 1)
