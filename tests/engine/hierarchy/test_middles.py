"""Numbers that stand for labels in statistics."""

import datetime

import pytest

from tableveil.hierarchy import ValueKind, label_values
from tableveil.hierarchy.levels import middle_reader
from tableveil.hierarchy.rules import Intervals

EPOCH = datetime.date(1970, 1, 1).toordinal()


def day(text: str) -> int:
    return datetime.date.fromisoformat(text).toordinal() - EPOCH


@pytest.mark.parametrize(
    ("kind", "label", "middle"),
    [
        (ValueKind.INTEGER, "42", 42.0),
        (ValueKind.INTEGER, "-42", -42.0),
        (ValueKind.INTEGER, "[20, 29]", 24.5),
        (ValueKind.FLOAT, "[20.5, 30.5)", 25.5),
        (ValueKind.FLOAT, "[-1.5, -0.5]", -1.0),
        (ValueKind.INTEGER, "[20, 40[", 30.0),
        (ValueKind.INTEGER, "20-39", 29.5),
        (ValueKind.INTEGER, ">= 90", 90.0),
        (ValueKind.INTEGER, "< 18", 18.0),
        (ValueKind.INTEGER, "*", None),
        (ValueKind.INTEGER, "young", None),
        (ValueKind.DATE, "2024-03-05", day("2024-03-05")),
        (ValueKind.DATE, "[2024-03-01, 2024-03-03]", day("2024-03-02")),
        (ValueKind.DATE, "2024-02", day("2024-02-15")),
        (ValueKind.DATE, "2024-Q1", day("2024-02-15")),
        (ValueKind.DATE, "2023", day("2023-07-02")),
        (ValueKind.DATE, "1990s", (day("1990-01-01") + day("1999-12-31")) / 2),
        (ValueKind.DATE, "2024-W10", day("2024-03-07")),
        (ValueKind.DATE, "9990s", None),
        (ValueKind.DATE, "2024-13", None),
        (ValueKind.TIMESTAMP, "2024-03-05", day("2024-03-05")),
        (ValueKind.TIMESTAMP, "2024-02", day("2024-02-15")),
        (ValueKind.TIMESTAMP, "[2024-03-05T06:00:00, 2024-03-06T06:00:00)", day("2024-03-05") + 0.75),
        (ValueKind.TIMESTAMP, ">= 2024-03-05T12:00:00.000", day("2024-03-05") + 0.5),
        (ValueKind.TIMESTAMP, "[06:00, 12:00)", None),
    ],
)
def test_a_number_stands_for_a_label(kind: ValueKind, label: str, middle: float | None) -> None:
    read = middle_reader(kind)
    assert read is not None
    assert read(label) == middle


def test_text_has_no_numbers() -> None:
    assert middle_reader(ValueKind.TEXT) is None


def test_labels_of_a_rule_are_read() -> None:
    rule = Intervals("0", "99", ("10", "50"), "10", "80")
    values = list(range(100))
    labelled = label_values(rule, ValueKind.INTEGER, values, [str(value) for value in values])
    read = middle_reader(ValueKind.INTEGER)
    assert read is not None
    middles = [read(label or "") for label in labelled.labels[0]]
    assert middles[:10] == [10.0] * 10
    assert middles[10:80] == [value // 10 * 10 + 4.5 for value in range(10, 80)]
    assert middles[80:] == [80.0] * 20
