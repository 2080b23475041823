"""Wider bounds cover the values, keep the labels of those that were covered, and leave loss where it was."""

import datetime
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.drafting import widened
from tableveil.hierarchy import ValueKind, check_rule, label_values
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, LossRange

DATES = Dates("2024-01-01", "2024-12-31", (DateUnit.MONTH, DateUnit.YEAR))


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=20, unique=True), st.booleans())
def test_numbers_are_covered_by_the_labels_that_they_had(values: list[int], decimal: bool) -> None:
    kind: Any = ValueKind.DECIMAL if decimal else ValueKind.INTEGER
    rule = Intervals("0", "80" if decimal else "79", ("5", "10", "40"))
    found = widened(rule, kind, str(min(values)), str(max(values)))
    assert check_rule(found, "", kind) == []
    ordered: list[Any] = sorted(map(Decimal, values) if decimal else values)
    texts = [str(value) for value in ordered]
    labels = label_values(found, kind, ordered, texts)
    assert labels.covered.all()
    before = label_values(rule, kind, ordered, texts)
    if before.covered.all():
        assert found == rule
    for level in range(3):
        for i, covered in enumerate(before.covered):
            old = before.labels[level][i]
            assert not covered or old == labels.labels[level][i] or "80]" in str(old), "the last one was closed"


def test_a_later_year_and_what_loss_was_measured_over() -> None:
    found = widened(DATES, ValueKind.DATE, "2024-02-01", "2025-03-01")
    assert found == Dates("2024-01-01", "2026-12-31", DATES.units, LossRange("2024-01-01", "2024-12-31"))
    assert widened(found, ValueKind.DATE, "2024-02-01", "2026-03-01") == found
    assert widened(found, ValueKind.TIMESTAMP, "2019-02-01 10:00:00", "2026-03-01 00:00:00") == Dates(
        "2019-01-01", "2026-12-31", DATES.units, LossRange("2024-01-01", "2024-12-31")
    )
    by_days = replace(DATES, loss_days=31)
    assert widened(by_days, ValueKind.DATE, "2024-02-01", "2025-03-01") == replace(by_days, maximum="2026-12-31")


@pytest.mark.parametrize(
    ("rule", "kind", "least", "greatest"),
    [
        (DATES, ValueKind.DATE, "2024-01-01", "2024-12-31"),
        (DATES, ValueKind.DATE, "0044-03-15 (BC)", "2024-12-31"),
        (Intervals("0", "120", ("5",), "", "90"), ValueKind.INTEGER, "0", "130"),
        (Intervals("0", "9", ("5",)), ValueKind.FLOAT, "0", "inf"),
        (Intervals("2024-01-01", "2024-12-31", ("7",)), ValueKind.DATE, "2024-01-01", "2025-12-31"),
    ],
)
def test_unchanged(rule: Intervals | Dates, kind: ValueKind, least: str, greatest: str) -> None:
    assert widened(rule, kind, least, greatest) == rule


def test_days_by_boundaries() -> None:
    rule = Intervals("2024-01-01", "2024-12-31", boundaries=(("2024-07-01",),))
    found = widened(rule, ValueKind.DATE, "2024-01-01", "2025-02-01")
    assert (found.minimum, found.maximum) == ("2024-01-01", "2026-12-31")
    days = [datetime.date(2024, 3, 1), datetime.date(2025, 2, 1)]
    assert label_values(found, ValueKind.DATE, days, [str(day) for day in days]).covered.all()
