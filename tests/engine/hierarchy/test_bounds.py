"""Bounds and the order of labels, held against the rules that made the labels."""

import datetime
from collections.abc import Sequence
from decimal import Decimal
from random import Random

import pytest

from tableveil.hierarchy import (
    Bounds,
    Combination,
    HierarchyDefinition,
    InlineLevels,
    RuleHierarchy,
    SafeHarborAge,
    SafeHarborDate,
    StoredLevels,
    ValueKind,
    bounds_kind,
    in_order,
    label_values,
    listed_labels,
    read_bounds,
)
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, OrderBased, OrderLabels, Redaction, SuppressionOnly
from tableveil.hierarchy.safe_harbor import age_levels, date_levels
from tests.once import once

DAY = datetime.date(2020, 1, 1)
MOMENT = datetime.datetime(2020, 1, 1)

INTEGERS = [*range(-20, 120)]
DAYS = [DAY + datetime.timedelta(days) for days in range(-400, 900)]
MOMENTS = [MOMENT + datetime.timedelta(minutes=17 * i) for i in range(2000)]
NUMBERS = [Decimal(i) / 7 for i in range(0, 350)]

EVERY = [*DateUnit][2:]
CODED = Intervals("-20", "119", ("5", "10"), bottom_coding="0", top_coding="90")
RULES: dict[str, tuple[RuleHierarchy, ValueKind, Sequence[object]]] = {
    "integers": (CODED, ValueKind.INTEGER, INTEGERS),
    "cut integers": (Intervals("-20", "119", boundaries=(("0", "18", "65"), ("18",))), ValueKind.INTEGER, INTEGERS),
    "coded integers": (Intervals("-20", "119", top_coding="90"), ValueKind.INTEGER, INTEGERS),
    "numbers": (Intervals("0", "50", ("2.5", "5"), top_coding="40"), ValueKind.DECIMAL, NUMBERS),
    "floats": (Intervals("0", "50", ("0.1", "5")), ValueKind.FLOAT, [float(number) for number in NUMBERS]),
    "days": (Intervals("2018-01-01", "2023-01-01", ("7", "28"), bottom_coding="2019-02-02"), ValueKind.DATE, DAYS),
    "periods": (Dates("2018-11-27", "2022-06-18", tuple(EVERY)), ValueKind.DATE, DAYS),
    "weeks": (Dates("2018-11-27", "2022-06-18", (DateUnit.WEEK,)), ValueKind.DATE, DAYS),
    "days of moments": (Dates("2020-01-01", "2020-02-01", (DateUnit.DAY, *EVERY)), ValueKind.TIMESTAMP, MOMENTS),
    "moments": (
        Intervals("2020-01-01", "2020-02-01", ("6 hours", "1 day"), top_coding="2020-01-15 12:00:00"),
        ValueKind.TIMESTAMP,
        MOMENTS,
    ),
}


def text_of(value: object) -> str:
    return str(value)


def place(value: object, kind: ValueKind) -> object:
    """The value as its bounds measure it."""
    if kind is ValueKind.DATE and isinstance(value, datetime.datetime):
        return value.date()
    return value if isinstance(value, datetime.date) else Decimal(str(value))


@pytest.mark.parametrize("rule", once(RULES, 7))
def test_every_value_is_within_the_bounds_of_its_labels(rule: str) -> None:
    """Also within no others: labels of a level do not overlap, so that bounds tell them apart."""
    definition, kind, values = RULES[rule]
    of_bounds = bounds_kind(definition, kind)
    assert of_bounds is not None
    texts = list(map(text_of, values))
    labelled = label_values(definition, kind, values, texts)
    assert labelled.covered.all()
    for level, labels in enumerate([texts, *labelled.labels[:-1]]):
        bounds = {label: read_bounds(of_bounds, label) for label in labels if label is not None}
        for value, label in zip(values, labels, strict=True):
            number = place(value, of_bounds)
            inside = [known for known, found in bounds.items() if found is not None and within(found, number)]
            if level or of_bounds is kind:
                assert inside == [label], (value, label)
            else:
                assert label in inside


def within(bounds: Bounds, value: object) -> bool:
    low = bounds.low is None or bounds.low <= value  # type: ignore[operator]
    return low and (
        bounds.high is None or value < bounds.high or (bounds.high_included and value == bounds.high)  # type: ignore[operator]
    )


@pytest.mark.parametrize(
    ("kind", "label", "low", "high", "included"),
    [
        (ValueKind.INTEGER, "[20, 29]", 20, 29, True),
        (ValueKind.INTEGER, "[-5, -1]", -5, -1, True),
        (ValueKind.INTEGER, "< 10", None, 9, True),
        (ValueKind.INTEGER, ">= 90", 90, None, True),
        (ValueKind.INTEGER, "90+", 90, None, True),
        (ValueKind.FLOAT, "[20.5, 30.5)", Decimal("20.5"), Decimal("30.5"), False),
        (ValueKind.FLOAT, "[20.5, 30.5]", Decimal("20.5"), Decimal("30.5"), True),
        (ValueKind.FLOAT, "< 10.5", None, Decimal("10.5"), False),
        (ValueKind.FLOAT, "1e-07", Decimal("1e-07"), Decimal("1e-07"), True),
        (ValueKind.DATE, "2024-Q1", datetime.date(2024, 1, 1), datetime.date(2024, 3, 31), True),
        (ValueKind.DATE, "2024-02", datetime.date(2024, 2, 1), datetime.date(2024, 2, 29), True),
        (ValueKind.DATE, "2020-W53", datetime.date(2020, 12, 28), datetime.date(2021, 1, 3), True),
        (ValueKind.DATE, "1980s", datetime.date(1980, 1, 1), datetime.date(1989, 12, 31), True),
        (ValueKind.DATE, "0000s", datetime.date(1, 1, 1), datetime.date(9, 12, 31), True),
        (ValueKind.DATE, "9990s", datetime.date(9990, 1, 1), datetime.date(9999, 12, 31), True),
        (ValueKind.DATE, "9999-W52", datetime.date(9999, 12, 27), datetime.date(9999, 12, 31), True),
        (ValueKind.DATE, "< 2024-01-01", None, datetime.date(2023, 12, 31), True),
        (ValueKind.DATE, "1934 or before", None, datetime.date(1934, 12, 31), True),
        (
            ValueKind.TIMESTAMP,
            "[2024-01-01T00:00:00, 2024-01-01T06:00:00.5)",
            datetime.datetime(2024, 1, 1),
            datetime.datetime(2024, 1, 1, 6, 0, 0, 500_000),
            False,
        ),
    ],
)
def test_bounds_are_what_the_label_says(kind: ValueKind, label: str, low: object, high: object, included: bool) -> None:
    assert read_bounds(kind, label) == Bounds(low, high, included)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DATE, ValueKind.TIMESTAMP])
@pytest.mark.parametrize("label", ["*", "", "young", "NaN", "infinity", "[a, b]", "< ", "2024-13", "2024-W60"])
def test_other_labels_have_no_bounds(kind: ValueKind, label: str) -> None:
    assert read_bounds(kind, label) is None


@pytest.mark.parametrize("rule", [CODED, RULES["periods"][0]])
def test_bounds_say_nothing_of_the_range(rule: RuleHierarchy) -> None:
    """A range or a coding that ends with the data's maximum would tell it."""
    labels = [">= 90", "< 0"] if rule is CODED else ["2018", "2022-Q2"]
    kind = ValueKind.INTEGER if rule is CODED else ValueKind.DATE
    found = [bounds for label in labels if (bounds := read_bounds(kind, label)) is not None]
    shown = {str(end) for bounds in found for end in (bounds.low, bounds.high)}
    assert len(found) == 2
    assert shown.isdisjoint({"-20", "119", "2018-11-27", "2022-06-18"})


def test_listed_labels_declare_no_bounds() -> None:
    rest = Intervals("0", "99", ("10",))
    combination = Combination((("-1", "unknown", "*"), ("-2", "[20, 29]")), rest)
    assert bounds_kind(combination, ValueKind.INTEGER) is ValueKind.INTEGER
    assert set(listed_labels(combination)) == {"-1", "-2", "unknown", "[20, 29]"}
    without: list[HierarchyDefinition] = [
        InlineLevels((("1", "[1, 2]", "*"),)),
        StoredLevels("ages"),
        SuppressionOnly(),
        Redaction(5, 10),
        OrderBased(("1", "2", "3"), (2,)),
    ]
    for hierarchy in without:
        assert bounds_kind(hierarchy, ValueKind.INTEGER) is None


def test_safe_harbor_has_bounds() -> None:
    assert bounds_kind(SafeHarborAge(), ValueKind.TEXT) is ValueKind.INTEGER
    for age, *labels in age_levels().rows:
        for label in labels[:-1]:
            found = read_bounds(ValueKind.INTEGER, label)
            assert found is not None
            assert within(found, Decimal(age))
    births = SafeHarborDate("1920-05-01", "1960-01-01", birth_as_of="2024-06-01")
    assert bounds_kind(births, ValueKind.TEXT) is ValueKind.DATE
    for day, *labels in date_levels(births).rows:
        for label in labels[:-1]:
            found = read_bounds(ValueKind.DATE, label)
            assert found is not None
            assert within(found, datetime.date.fromisoformat(day))


ORDERS: dict[str, tuple[HierarchyDefinition | None, ValueKind | None, list[str]]] = {
    "mixed widths": (CODED, ValueKind.INTEGER, ["< 0", "[0, 4]", "[0, 9]", "7", "[10, 19]", "100", ">= 100", "*"]),
    "mixed periods": (Dates("2020-01-01", "2024-01-01", (DateUnit.YEAR,)), ValueKind.DATE, ["2020-02", "2021", "*"]),
    "listed intervals": (InlineLevels(()), None, ["< 5", "5-9", "10-14", "> 14", "*"]),
    "words": (SuppressionOnly(), None, ["", "F", "M", "*"]),
    "masked": (Redaction(5, 10), None, ["02***", "021**", "02139", "1****", "*"]),
    "declared": (
        OrderBased(("low", "mid", "high", "top"), (2,), OrderLabels.INTERVAL),
        None,
        ["low", "[low, mid]", "[high, top]", "top", "*"],
    ),
    "combined": (
        Combination((("-1", "unknown"),), Intervals("0", "99", ("10",))),
        ValueKind.INTEGER,
        ["[0, 9]", "[90, 99]", "-1", "unknown", "*"],
    ),
}


@pytest.mark.parametrize("order", ORDERS)
def test_labels_are_in_their_order(order: str) -> None:
    hierarchy, kind, labels = ORDERS[order]
    listed = listed_labels(hierarchy)
    for seed in range(20):
        shuffled = Random(seed).sample(labels, len(labels))
        bounds = [None if kind is None or label in listed else read_bounds(kind, label) for label in shuffled]
        assert [shuffled[i] for i in in_order(hierarchy, shuffled, bounds)] == labels
