"""The numpy counter on a histogram that was rolled up already; tests/sql holds the contract of all counters."""

from __future__ import annotations

import numpy as np
import pytest

from tableveil.classes import LevelMaps, NumpyCounter
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values


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


def test_counts_on_from_a_roll_up(levels: AttributeLevels) -> None:
    groups = [np.array([0, 1], np.int32), np.array([3, 3], np.int32)]
    counter = NumpyCounter([levels, levels], groups, np.array([4, 2]), at=(1, 0))
    assert counter.records == 6
    assert counter.classes((2, 2)).counts.tolist() == [6]
    classes = counter.classes((1, 1))
    found = zip(classes.groups(0).tolist(), classes.groups(1).tolist(), classes.counts.tolist(), strict=True)
    assert sorted(found) == [(0, 1, 4), (1, 1, 2)]
    small = counter.small_classes((1, 1), 3)
    assert small.at == (1, 0)
    assert [counts.tolist() for counts in small.counts] == [[0, 2], [0, 0, 0, 2]]


def test_small_classes_need_not_be_asked_for_right_after_the_classes(levels: AttributeLevels) -> None:
    counter = NumpyCounter([levels], [np.array([0, 1, 2], np.int32)], np.array([3, 1, 2]))
    counter.classes((2,))
    assert counter.small_classes((0,), 3).counts[0].tolist() == [0, 1, 2, 0]
    assert counter.small_classes((1,), 3).counts[0].tolist() == [0, 0, 2, 0]
    assert counter.small_classes((2,), 7).counts[0].tolist() == [3, 1, 2, 0]


def test_counts_far_beyond_32_bits_exactly(levels: AttributeLevels) -> None:
    counter = NumpyCounter([levels], [np.array([0, 1], np.int32)], np.array([2**52, 1]))
    assert counter.classes((1,)).counts.tolist() == [2**52 + 1]
    assert counter.records == 2**52 + 1


def test_no_records_but_withheld_ones(levels: AttributeLevels) -> None:
    counter = NumpyCounter([levels], [np.array([], np.int32)], np.array([], np.int64), withheld=3)
    assert (counter.records, counter.withheld) == (3, 3)
    assert counter.classes((1,)).counts.tolist() == []
    assert counter.small_classes((1,), 2).counts[0].sum() == 0
