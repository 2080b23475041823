"""Representatives: every label of a rule, at every level, is the label of one of them."""

import datetime
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import (
    Combination,
    InlineLevels,
    RuleHierarchy,
    ValueKind,
    check_rule,
    label_values,
    representatives,
)
from tableveil.hierarchy.rules import (
    Dates,
    DateUnit,
    DayPart,
    Group,
    Grouping,
    GroupingLevel,
    Intervals,
    OrderBased,
    Redaction,
    SuppressionOnly,
    TimeLevel,
    TimesOfDay,
)


def labels(
    rule: InlineLevels | RuleHierarchy, kind: ValueKind, values: Sequence[object], texts: Sequence[str]
) -> list[set[str]]:
    found = label_values(rule, kind, values, texts)
    return [{label for label in level if label is not None} for level in found.labels]


def own_labels(rule: InlineLevels | RuleHierarchy) -> list[set[str]]:
    found = representatives(rule)
    assert found is not None
    assert len(set(found.texts)) == len(found.texts)
    assert label_values(rule, found.kind, found.values, found.texts).covered.all()
    return labels(rule, found.kind, found.values, found.texts)


@st.composite
def integer_rules(draw: st.DrawFn) -> Intervals:
    minimum = draw(st.integers(-20, 20))
    maximum = minimum + draw(st.integers(2, 60))
    width = draw(st.integers(2, 9))
    widths = draw(st.sampled_from([(), (width,), (width, width * 3)]))
    bottom = draw(st.sampled_from(["", str(draw(st.integers(minimum + 1, maximum - 1)))]))
    top = draw(st.sampled_from(["", str(draw(st.integers(int(bottom or minimum) + 1, maximum)))]))
    rule = Intervals(str(minimum), str(maximum), tuple(map(str, widths)), bottom, top)
    return rule if widths or bottom or top else Intervals(str(minimum), str(maximum), ("2",))


@given(integer_rules())
def test_intervals_of_integers(rule: Intervals) -> None:
    assert check_rule(rule, "", ValueKind.INTEGER) == []
    every = range(int(rule.minimum), int(rule.maximum) + 1)
    assert own_labels(rule) == labels(rule, ValueKind.INTEGER, every, list(map(str, every)))


def test_intervals_of_decimals_dates_and_timestamps() -> None:
    assert own_labels(Intervals("36", "37.5", ("0.5",))) == [{"[36, 36.5)", "[36.5, 37)", "[37, 37.5]"}, {"*"}]
    weeks = Intervals("2024-01-01", "2024-01-15", ("7",))
    assert len(own_labels(weeks)[0]) == 3
    hours = Intervals("2024-01-01 00:00:00", "2024-01-02 00:00:00", ("6 hours", "1 day"))
    assert [len(level) for level in own_labels(hours)] == [4, 1, 1]
    uneven = Intervals("0", "100", boundaries=(("18", "65"), ("65",)))
    assert [len(level) for level in own_labels(uneven)] == [3, 2, 1]


@pytest.mark.parametrize("units", [(unit,) for unit in DateUnit] + [(DateUnit.MONTH, DateUnit.YEAR)])
def test_dates(units: tuple[DateUnit, ...]) -> None:
    rule = Dates("2019-12-30", "2021-02-28", units)
    first = datetime.date(2019, 12, 30)
    days = [first + datetime.timedelta(days=i) for i in range((datetime.date(2021, 2, 28) - first).days + 1)]
    assert own_labels(rule) == labels(rule, ValueKind.DATE, days, list(map(str, days)))


def test_rules_that_list_their_values() -> None:
    assert own_labels(InlineLevels((("a", "x", "*"), ("b", "y", "*")))) == [{"x", "y"}, {"*"}]
    assert own_labels(OrderBased(("s", "m", "l"), (2,))) == [{"[s, m]", "l"}, {"*"}]
    groups = Grouping((GroupingLevel((Group("x", ("a", "b")), Group("y", ("c",)))),))
    assert own_labels(groups) == [{"x", "y"}, {"*"}]
    assert own_labels(Combination((("unknown", "none"),), Intervals("0", "9", ("5",)))) == [
        {"none", "[0, 4]", "[5, 9]"},
        {"*"},
    ]


def test_times_of_day() -> None:
    rule = TimesOfDay(
        (TimeLevel(width="6 hours"), TimeLevel(parts=(DayPart("06:00", "day"), DayPart("18:00", "night"))))
    )
    assert own_labels(rule)[1:] == [{"day", "night"}, {"*"}]


@pytest.mark.parametrize(
    "rule",
    [
        Redaction(5, 10),
        SuppressionOnly(),
        Intervals("0", "10000000", ("2",)),
        Combination((("a", "b"),), SuppressionOnly()),
    ],
)
def test_rules_that_know_no_values_or_too_many(rule: RuleHierarchy) -> None:
    assert representatives(rule) is None
