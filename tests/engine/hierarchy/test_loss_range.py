"""Loss ranges: labels stay as they are, and loss counts the leaves within the range."""

import datetime
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import AttributeLevels, Combination, ValueKind, attribute_levels, check_rule, label_values
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, LossRange

AGES = Intervals("0", "59", ("5", "10", "30"), "10", "50")
DAY_ONE, LAST_DAY = datetime.date(2023, 1, 1), datetime.date(2025, 12, 31)
DAYS = Dates("2023-01-01", "2025-12-31", (DateUnit.MONTH, DateUnit.QUARTER, DateUnit.YEAR))


def levels(rule: Intervals | Dates, values: list[Any], kind: ValueKind, has_null: bool = False) -> AttributeLevels:
    assert check_rule(rule, "h", kind) == []
    return attribute_levels(label_values(rule, kind, values, [str(value) for value in values]), has_null)


@given(
    st.lists(st.integers(-5, 70), min_size=1, max_size=12, unique=True),
    st.tuples(st.integers(0, 59), st.integers(0, 59)).filter(lambda ends: ends[0] < ends[1]),
    st.booleans(),
)
def test_integers_by_counting(values: list[int], ends: tuple[int, int], has_null: bool) -> None:
    low, high = ends
    rule = replace(AGES, loss_range=LossRange(str(low), str(high)))
    found, plain = levels(rule, values, ValueKind.INTEGER, has_null), levels(AGES, values, ValueKind.INTEGER, has_null)
    assert (found.labels, found.domain_size) == (plain.labels, plain.domain_size)
    domain = high - low + 1 + has_null
    assert found.loss_domain == domain
    every = levels(AGES, list(range(60)), ValueKind.INTEGER)
    for level in range(found.top):
        for group, cost in enumerate(found.loss_leaves[level]):
            members = [values[code] for code in np.flatnonzero(found.groups[level] == group) if code < len(values)]
            if not members:
                assert cost == 1, "NULL is one value"
            elif any(not low <= value <= high for value in members):
                assert cost == domain
            elif level == 0:
                assert cost == 1
            else:
                own = every.groups[level][members[0]]
                assert cost == sum(every.groups[level][value] == own for value in range(low, high + 1))
    for code in range(len(values) + has_null):
        costs = [found.loss_leaves[level][found.groups[level][code]] for level in range(found.top + 1)]
        assert costs == sorted(costs), "loss never falls from a level to a higher one"


def test_room_for_later_days_makes_no_label_look_cheap() -> None:
    values = [datetime.date(2024, 1, 31), datetime.date(2024, 12, 1)]
    of_year = Dates("2024-01-01", "2024-12-31", DAYS.units)
    found = levels(replace(DAYS, loss_range=LossRange("2024-01-01", "2024-12-31")), values, ValueKind.DATE)
    expected = levels(of_year, values, ValueKind.DATE)
    assert [found.shares(level).tolist() for level in range(5)] == [
        expected.shares(level).tolist() for level in range(5)
    ]
    assert found.shares(1)[0] > levels(DAYS, values, ValueKind.DATE).shares(1)[0]


def test_measured_values() -> None:
    rule = Intervals("0", "100", ("10", "50"), loss_range=LossRange("12.5", "90"))
    found = levels(rule, [12.5, 25.0, 90.0, 95.0], ValueKind.FLOAT)
    assert found.loss_domain == 77.5
    assert found.loss_leaves[1].tolist() == [7.5, 10.0, 77.5]
    assert found.loss_leaves[0].tolist() == [0.0, 0.0, 0.0, 77.5]


@given(st.lists(st.dates(DAY_ONE, LAST_DAY), min_size=1, max_size=8, unique=True), st.integers(2, 1_096))
def test_a_number_of_days_counts_wherever_they_are(values: list[datetime.date], number: int) -> None:
    found, plain = levels(replace(DAYS, loss_days=number), values, ValueKind.DATE), levels(DAYS, values, ValueKind.DATE)
    assert (found.labels, found.domain_size, found.loss_domain) == (plain.labels, plain.domain_size, number)
    for of_level, every in zip(found.loss_leaves, plain.leaves, strict=True):
        assert of_level.tolist() == [min(leaves, number) for leaves in every]


def test_days_cost_as_much_in_every_month() -> None:
    rule = replace(DAYS, loss_days=31)
    january, february = (
        levels(rule, [datetime.date(2024, month, 1), datetime.date(2024, month, 20)], ValueKind.DATE)
        for month in (1, 2)
    )
    assert january.shares(1).tolist() == [1.0]
    assert february.shares(1).tolist() == [28 / 30]
    assert january.shares(0).tolist() == february.shares(0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        (replace(AGES, loss_range=LossRange("x", "9")), "h.loss_range.minimum"),
        (replace(AGES, loss_range=LossRange("9", "9")), "h.loss_range.maximum"),
        (replace(AGES, loss_range=LossRange("0", "60")), "h.loss_range.maximum"),
        (replace(DAYS, loss_range=LossRange("2022-12-31", "2024-01-01")), "h.loss_range.minimum"),
        (replace(DAYS, loss_range=LossRange("", "2024-01-01")), "h.loss_range.minimum"),
        (replace(DAYS, loss_days=1), "h.loss_days"),
        (replace(DAYS, loss_days=-1), "h.loss_days"),
        (replace(DAYS, loss_days=1_097), "h.loss_days"),
        (replace(DAYS, loss_days=31, loss_range=LossRange("2024-01-01", "2024-02-01")), "h.loss_days"),
        (Combination((("7", "seven"),), replace(DAYS, loss_days=31)), "h.rest.loss_days"),
        (Combination((("7", "seven"),), replace(AGES, loss_range=LossRange("0", "9"))), "h.rest.loss_range"),
    ],
)
def test_faults(rule: Any, field: str) -> None:
    kind = ValueKind.DATE if isinstance(getattr(rule, "rest", rule), Dates) else ValueKind.INTEGER
    assert [fault.field for fault in check_rule(rule, "h", kind)] == [field]
