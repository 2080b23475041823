"""Faults of intervals: bounds that cannot be read, do not fit, or are not the column's; all are told at once."""

from dataclasses import replace

import pytest

from tableveil.hierarchy import ValueKind, check_rule
from tableveil.hierarchy.rules import Intervals
from tests.engine.hierarchy.test_intervals import FIELD, UNEVEN


def paths(rule: Intervals, kind: ValueKind | None = None) -> list[str]:
    return [fault.field.removeprefix(FIELD) for fault in check_rule(rule, FIELD, kind)]


# Faults of a rule.


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "1,000",
        "1e3",
        " 1",
        "1 ",
        "1\n",
        "nan",
        "inf",
        "-inf",
        "+1",
        ".5",
        "5.",
        "0x10",
        "1_000",
        "\u0661",
        "--1",
    ],
)
@pytest.mark.parametrize("kind", [None, ValueKind.DECIMAL, ValueKind.FLOAT, ValueKind.INTEGER])
def test_only_plain_numbers_are_bounds(text: str, kind: ValueKind | None) -> None:
    assert paths(Intervals(text, "100000", ("10",)), kind) == [".minimum"]
    assert paths(Intervals("-100000", text, ("10",)), kind) == [".maximum"]
    assert paths(Intervals("-100000", "100000", ("10", text)), kind) == [".widths[1]"]
    if text:
        assert paths(Intervals("-100000", "100000", ("10",), bottom_coding=text), kind) == [".bottom_coding"]
        assert paths(Intervals("-100000", "100000", ("10",), top_coding=text), kind) == [".top_coding"]


@pytest.mark.parametrize(
    "text", ["2020-1-1", "20200101", "2020-W01-1", "2020-02-30", "0000-01-01", "2020-01-01T00:00:00"]
)
def test_only_plain_iso_days_are_dates(text: str) -> None:
    assert paths(Intervals("1990-01-01", text, ("7",)), ValueKind.DATE) == [".maximum"]
    assert paths(Intervals("1990-01-01", text, ("7",))) == [".maximum"]


def test_a_number_of_thousands_of_digits_is_refused_and_shortened() -> None:
    (fault,) = check_rule(Intervals("0", "9" * 5000, ("10",)), FIELD)
    assert fault.field == f"{FIELD}.maximum"
    assert len(fault.found) < 200


def test_unreadable_bounds_expect_a_number_or_a_date_if_nothing_says_which() -> None:
    faults = check_rule(Intervals("abc", "xyz", ("10",)), FIELD)
    assert [fault.field for fault in faults] == [f"{FIELD}.minimum", f"{FIELD}.maximum"]
    assert all("number" in fault.expected and "date" in fault.expected for fault in faults)


def test_numbers_and_dates_do_not_mix() -> None:
    assert paths(Intervals("0", "2020-01-01", ("10",))) == [".maximum"]
    assert paths(Intervals("2020-01-01", "2021-01-01", ("7",), "5", "6")) == [".bottom_coding", ".top_coding"]
    assert paths(Intervals("2020-01-01", "2021-01-01", ("7.5",))) == [".widths[0]"]


def test_bounds_are_in_the_notation_of_the_column() -> None:
    assert paths(Intervals("2020-01-01", "2021-01-01", ("7",)), ValueKind.INTEGER) == [".minimum", ".maximum"]
    assert paths(Intervals("0", "10", ("7",)), ValueKind.DATE) == [".minimum", ".maximum"]
    assert paths(Intervals("0", "10.5", ("2.5",)), ValueKind.INTEGER) == [".maximum", ".widths[0]"]
    assert paths(Intervals("0", "10.5", ("2.5",)), ValueKind.DECIMAL) == []


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Intervals("5", "5", ("1",)), [".maximum"]),
        (Intervals("5", "4", ("1",)), [".maximum"]),
        (Intervals("9", "10", ("1",)), []),
        (Intervals("0", "10", ("1",), bottom_coding="0"), [".bottom_coding"]),
        (Intervals("0", "10", ("1",), bottom_coding="11"), [".bottom_coding"]),
        (Intervals("0", "10", ("1",), bottom_coding="10"), []),
        (Intervals("0", "10", ("1",), top_coding="0"), [".top_coding"]),
        (Intervals("0", "10", ("1",), top_coding="11"), [".top_coding"]),
        (Intervals("0", "10", ("1",), top_coding="10"), []),
        (Intervals("0", "10", ("1",), bottom_coding="5", top_coding="5"), [".top_coding"]),
        (Intervals("0", "10", (), bottom_coding="4", top_coding="5"), []),
        (Intervals("0", "10", ()), [".widths"]),
        (Intervals("0", "10", ("0",)), [".widths[0]"]),
        (Intervals("0", "10", ("-2",)), [".widths[0]"]),
        (Intervals("0", "10", ("2", "2")), [".widths[1]"]),
        (Intervals("0", "10", ("4", "2")), [".widths[1]"]),
        (Intervals("0", "10", ("2", "5", "10")), [".widths[1]"]),
        (Intervals("0", "10", ("0.1", "0.3", "0.6")), []),
    ],
)
def test_order_of_bounds_and_widths(rule: Intervals, expected: list[str]) -> None:
    assert paths(rule) == expected


def test_everything_wrong_is_told_at_once() -> None:
    rule = Intervals("10", "1", ("0", "3", "4", "x"), bottom_coding="5", top_coding="y")
    assert paths(rule) == [
        ".top_coding", ".maximum", ".bottom_coding", ".bottom_coding", ".widths[0]", ".widths[2]", ".widths[3]"
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [ValueKind.TIME, ValueKind.BOOLEAN, ValueKind.TEXT, ValueKind.OTHER])
def test_columns_that_have_no_intervals(kind: ValueKind) -> None:
    faults = check_rule(Intervals("0", "10", ("0",)), FIELD, kind)
    assert [fault.field for fault in faults] == [FIELD, f"{FIELD}.widths[0]"]
    assert ("times_of_day" in faults[0].hint) == (kind is ValueKind.TIME)


@pytest.mark.parametrize(
    ("rule", "kind", "expected"),
    [
        (UNEVEN, None, []),
        (replace(UNEVEN, boundaries=(("18", "18"),)), None, [".boundaries[0].values[1]"]),
        (replace(UNEVEN, boundaries=(("0",),)), None, [".boundaries[0].values[0]"]),
        (replace(UNEVEN, boundaries=(("89", "90"),)), None, [".boundaries[0].values[1]"]),
        (replace(UNEVEN, boundaries=(("18", "x"),)), None, [".boundaries[0].values[1]"]),
        (replace(UNEVEN, bottom_coding="18"), None, [".boundaries[0].values[0]", ".boundaries[1].values[0]"]),
        (replace(UNEVEN, boundaries=((),)), None, [".boundaries[0].values"]),
        (replace(UNEVEN, boundaries=(("18",), ("18",))), None, [".boundaries[1].values"]),
        (replace(UNEVEN, boundaries=(("18", "25"), ("20",))), None, [".boundaries[1].values[0]"]),
        (replace(UNEVEN, widths=("5",)), None, [".boundaries"]),
        # The last of a counted range is a value; the end of a measured one is not where an interval can start.
        (Intervals("0", "9", boundaries=(("9",),)), ValueKind.INTEGER, []),
        (Intervals("0", "9", boundaries=(("9",),)), ValueKind.FLOAT, [".boundaries[0].values[0]"]),
        (Intervals("2020-01-01", "2020-12-31", boundaries=(("2020-06-01 12:00:00",),)), None, []),
        (Intervals("2020-01-01", "2020-12-31", boundaries=(("2020-06-01 12:00:00",),)), ValueKind.DATE,
         [".boundaries[0].values[0]"]),
        (Intervals("2020-01-01", "2020-12-31", ("6 hours", "1 day")), None, []),
        (Intervals("2020-01-01", "2020-12-31", ("6 hours", "1 day")), ValueKind.TIMESTAMP, []),
        (Intervals("2020-01-01", "2020-12-31", ("6 hours",)), ValueKind.DATE, [".widths[0]"]),
        (Intervals("2020-01-01", "2020-12-31", ("6",)), ValueKind.TIMESTAMP, [".widths[0]"]),
        (Intervals("2020-01-01", "2020-12-31", ("1 month",)), ValueKind.TIMESTAMP, [".widths[0]"]),
        (Intervals("2020-01-01", "2020-12-31", ("6 hours", "15 hours")), ValueKind.TIMESTAMP, [".widths[1]"]),
    ],
)  # fmt: skip
def test_bounds_and_widths_that_do_not_fit(rule: Intervals, kind: ValueKind | None, expected: list[str]) -> None:
    assert paths(rule, kind) == expected
