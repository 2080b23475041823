"""Dates: what is wrong with a rule, and its labels and leaves against Python's own calendar."""

import datetime
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import LabelledValues, ValueKind, check_rule, label_values
from tableveil.hierarchy.rules import Dates, DateUnit

FIELD = "attributes[0].hierarchy.dates"
UTC = datetime.UTC
DAY, WEEK, MONTH, QUARTER, YEAR, DECADE = DateUnit


def label_all(rule: Dates, kind: ValueKind, values: list[object]) -> LabelledValues:
    assert check_rule(rule, FIELD, kind) == []
    return label_values(rule, kind, values, [str(value) for value in values])


def paths(rule: Dates, kind: ValueKind | None = None) -> list[str]:
    return [fault.field.removeprefix(FIELD) for fault in check_rule(rule, FIELD, kind)]


def expected_label(day: datetime.date, unit: DateUnit) -> str:
    year = str(day.year).zfill(4)
    if unit is WEEK:
        iso = day.isocalendar()
        return f"{str(iso.year).zfill(4)}-W{str(iso.week).zfill(2)}"
    return {
        DAY: day.isoformat(),
        MONTH: day.isoformat()[:7],
        QUARTER: f"{year}-Q{1 + [3, 6, 9, 12].index(next(last for last in (3, 6, 9, 12) if day.month <= last))}",
        YEAR: year,
        DECADE: f"{year[:3]}0s",
    }[unit]


@st.composite
def date_rules(draw: st.DrawFn) -> Dates:
    last_start = datetime.date.max - datetime.timedelta(days=1500)
    near_ends = st.sampled_from([datetime.date.min, last_start])
    first = draw(
        st.dates(max_value=last_start) | st.dates(datetime.date(1890, 1, 1), datetime.date(2040, 1, 1)) | near_ends
    )
    length = draw(st.integers(1, 1500) | st.just(1500))
    growing = [DAY, WEEK] if draw(st.booleans()) else [DAY, MONTH, QUARTER, YEAR, DECADE]
    units = [unit for unit in growing if draw(st.booleans())] or growing[-1:]
    return Dates(first.isoformat(), (first + datetime.timedelta(days=length)).isoformat(), tuple(units))


@given(date_rules())
def test_labels_and_leaves_are_those_of_the_calendar(rule: Dates) -> None:
    day, last = datetime.date.fromisoformat(rule.minimum), datetime.date.fromisoformat(rule.maximum)
    days = [day + datetime.timedelta(days=index) for index in range((last - day).days + 1)]
    labelled = label_all(
        rule, ValueKind.TIMESTAMP, [datetime.datetime.combine(day, datetime.time(23, 59)) for day in days]
    )
    assert labelled.covered.all()
    assert labelled.domain_size == len(days)
    assert len(labelled.labels) == len(rule.units) + 1
    for level, unit in enumerate(rule.units):
        expected = [expected_label(day, unit) for day in days]
        assert list(labelled.labels[level]) == expected
        sizes = Counter(expected)
        assert labelled.leaves[level].tolist() == [sizes[label] for label in expected]


def test_leap_days_and_years_before_1970() -> None:
    rule = Dates("1896-01-01", "1904-12-31", (MONTH, QUARTER, YEAR, DECADE))
    days: list[object] = [datetime.date(1896, 2, 29), datetime.date(1900, 2, 28), datetime.date(1904, 2, 1)]
    labelled = label_all(rule, ValueKind.DATE, days)
    assert [labels[0] for labels in labelled.labels] == ["1896-02", "1896-Q1", "1896", "1890s", "*"]
    assert labelled.leaves[0].tolist() == [29, 28, 29]
    assert labelled.leaves[2].tolist() == [366, 365, 366]
    assert labelled.leaves[3].tolist() == [1461, 1826, 1826]


def test_iso_weeks_around_new_year() -> None:
    rule = Dates("2020-01-01", "2025-12-31", (DAY, WEEK))
    days = ["2020-12-31", "2021-01-03", "2021-01-04", "2024-12-29", "2024-12-30", "2020-01-01"]
    labelled = label_all(rule, ValueKind.TIMESTAMP, [datetime.datetime.fromisoformat(day) for day in days])
    assert labelled.labels[0] == tuple(days)
    assert labelled.labels[1] == ("2020-W53", "2020-W53", "2021-W01", "2024-W52", "2025-W01", "2020-W01")
    # The first week begins on Monday, two days before the range does.
    assert labelled.leaves[1].tolist() == [7, 7, 7, 7, 7, 5]


def test_a_timestamp_counts_as_its_day_in_utc() -> None:
    rule = Dates("2024-03-05", "2024-03-06", (DAY,))
    east = datetime.timezone(datetime.timedelta(hours=5))
    values: list[object] = [
        datetime.datetime(2024, 3, 6, 4, 59, tzinfo=east),
        datetime.datetime(2024, 3, 6, 5, 0, tzinfo=east),
        datetime.datetime(2024, 3, 5, 23, 59, 59, tzinfo=UTC),
        datetime.datetime(2024, 3, 6, 0, 0),
        datetime.datetime(2024, 3, 7, 0, 0),
        datetime.datetime.min.replace(tzinfo=east),
    ]
    labelled = label_all(rule, ValueKind.TIMESTAMP, values)
    assert labelled.labels[0] == ("2024-03-05", "2024-03-06", "2024-03-05", "2024-03-06", None, None)
    assert labelled.labels[1] == ("*", "*", "*", "*", None, None)


def test_infinities_and_years_beyond_python_are_not_covered() -> None:
    rule = Dates("0001-01-01", "9999-12-31", (YEAR, DECADE))
    values = [datetime.date.max, datetime.date.max, datetime.date.min, datetime.date.min, "12000-01-01", "infinity"]
    texts = ["9999-12-31", "infinity", "0001-01-01", "-infinity", "12000-01-01", "infinity"]
    labelled = label_values(rule, ValueKind.DATE, values, texts)
    assert labelled.labels[0] == ("9999", None, "0001", None, None, None)
    assert labelled.labels[1] == ("9990s", None, "0000s", None, None, None)
    assert labelled.leaves[1][2] == (datetime.date(10, 1, 1) - datetime.date(1, 1, 1)).days


@pytest.mark.parametrize(
    ("rule", "kind", "expected"),
    [
        (Dates("2020-01-01", "2021-01-01", (MONTH, YEAR)), None, []),
        (Dates("2020-13-01", "01.01.2021", (MONTH,)), None, [".minimum", ".maximum"]),
        (Dates("2020-01-01", "2020-01-01", (MONTH,)), None, [".maximum"]),
        (Dates("2020-01-02", "2020-01-01", (MONTH,)), None, [".maximum"]),
        (Dates("2020-01-01", "2021-01-01", ()), None, [".units"]),
        (Dates("2020-01-01", "2021-01-01", (YEAR, MONTH, MONTH)), None, [".units[1]", ".units[2]"]),
        (Dates("2020-01-01", "2021-01-01", (DAY, WEEK)), None, []),
        (Dates("2020-01-01", "2021-01-01", (WEEK, MONTH)), None, [".units[1]"]),
        (Dates("2020-01-01", "2021-01-01", (DAY, WEEK, YEAR)), ValueKind.TIMESTAMP, [".units[2]"]),
        (Dates("2020-01-01", "2021-01-01", (DAY, MONTH)), ValueKind.DATE, [".units[0]"]),
        (Dates("2020-01-01", "2021-01-01", (DAY, MONTH)), ValueKind.TIMESTAMP, []),
        (Dates("2020-01-01", "2021-01-01", (MONTH,)), ValueKind.INTEGER, [""]),
        (Dates("2020-01-01", "2021-01-01", (MONTH,)), ValueKind.TEXT, [""]),
        (Dates("x", "y", ()), ValueKind.OTHER, ["", ".minimum", ".maximum", ".units"]),
    ],
)
def test_faults(rule: Dates, kind: ValueKind | None, expected: list[str]) -> None:
    assert paths(rule, kind) == expected


def test_the_fault_of_weeks_below_months_has_an_example() -> None:
    (fault,) = check_rule(Dates("2020-01-01", "2021-01-01", (WEEK, MONTH)), FIELD)
    assert "2024-W05" in fault.hint


def test_an_unchecked_rule_is_not_labelled() -> None:
    with pytest.raises(ValueError, match="not checked"):
        label_values(Dates("2020-01-01", "soon", (YEAR,)), ValueKind.DATE, [], [])
