"""The kinds of column that each rule fits, and properties of the labels of all rules."""

import datetime
from decimal import Decimal
from typing import get_args

import numpy as np
import pytest

from tableveil.hierarchy import (
    Combination,
    RuleHierarchy,
    ValueKind,
    attribute_levels,
    check_rule,
    field_of,
    label_values,
)
from tableveil.hierarchy.rules import (
    RULES,
    Dates,
    DateUnit,
    DayPart,
    Group,
    Grouping,
    GroupingLevel,
    Intervals,
    OrderBased,
    PadAt,
    Redaction,
    SimpleRule,
    SuppressionOnly,
    TimeLevel,
    TimesOfDay,
)

VALUES: dict[ValueKind, list[object]] = {
    ValueKind.INTEGER: list(range(40)),
    ValueKind.DECIMAL: [Decimal(i) / 4 for i in range(160)],
    ValueKind.FLOAT: [-0.0, *(i / 8 for i in range(1, 320))],
    ValueKind.DATE: [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(40)],
    ValueKind.TIMESTAMP: [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=7 * i) for i in range(130)],
    ValueKind.TIME: [datetime.time(i // 4, i % 4 * 15).isoformat() for i in range(96)],
    ValueKind.BOOLEAN: ["false", "true"],
    ValueKind.TEXT: [f"{i:03d}" for i in range(300)],
    ValueKind.OTHER: [f"\\x{i:02X}" for i in range(50)],
}
RANGES = {
    ValueKind.INTEGER: Intervals("0", "39", ("5", "20")),
    ValueKind.DECIMAL: Intervals("0", "40", ("0.5", "20"), "1", "30"),
    ValueKind.FLOAT: Intervals("0", "40", boundaries=(("1", "2.5", "30"), ("2.5",))),
    ValueKind.DATE: Intervals("2024-01-01", "2024-03-01", ("7", "28")),
    ValueKind.TIMESTAMP: Intervals("2024-01-01", "2024-03-01", ("6 hours", "1 week")),
}
MONTHS = Dates("2024-01-01", "2024-12-31", (DateUnit.MONTH, DateUnit.QUARTER))
DAY = TimesOfDay((TimeLevel("1 hour"), TimeLevel(parts=(DayPart("06:00", "day"), DayPart("22:00", "night")))))
ZEROS = Redaction(3, 10, padding="0", pad_at=PadAt.LEFT)


def grouping(texts: list[str]) -> Grouping:
    """The first third, the second, and all others."""
    third = max(len(texts) // 3, 1)
    groups = (Group("first", tuple(texts[:third])), Group("second", tuple(texts[third : 2 * third])))
    return Grouping((GroupingLevel(groups, "others"), GroupingLevel((Group("known", ("first", "second")),), "others")))


def rules(kind: ValueKind) -> list[RuleHierarchy]:
    """One rule of each kind that fits columns of the kind."""
    texts = [str(value) for value in VALUES[kind]]
    simple: list[SimpleRule] = [SuppressionOnly(), grouping(texts)]
    simple += [RANGES[kind]] if kind in RANGES else []
    simple += [MONTHS] if kind in (ValueKind.DATE, ValueKind.TIMESTAMP) else []
    simple += [DAY] if kind in (ValueKind.TIME, ValueKind.TIMESTAMP) else []
    simple += [ZEROS] if kind in (ValueKind.TEXT, ValueKind.INTEGER) else []
    simple += [OrderBased(tuple(texts), (2, 5))] if len(texts) > 10 else []
    return [*simple, *(Combination(((texts[0], "a", "b"), ("?", "a", "b")), rule) for rule in simple)]


FITTING = [(kind, rule) for kind in ValueKind for rule in rules(kind)]


def test_every_rule_has_an_entry_and_is_tried_here() -> None:
    assert set(RULES) == set(get_args(SimpleRule)) == {type(rule) for _, rule in FITTING} - {Combination}


@pytest.mark.parametrize(("kind", "rule"), FITTING)
def test_levels_of_a_rule_on_a_kind_of_column(kind: ValueKind, rule: RuleHierarchy) -> None:
    assert check_rule(rule, "field") == []
    assert check_rule(rule, "field", kind) == []
    texts = [str(value) for value in VALUES[kind]]
    labelled = label_values(rule, kind, VALUES[kind], texts)
    assert labelled.covered.all()
    levels = attribute_levels(labelled, has_null=False)
    assert levels.labels[-1] == ("*",)
    for below, above in zip(levels.groups[1:], levels.groups[2:], strict=False):
        # Equal labels have equal labels above.
        pairs = np.unique(np.column_stack([below, above]), axis=0)
        assert len(pairs) == len(np.unique(below))
    for level in range(levels.top):
        # A label stands for no less than what its values stood for below, and never for more than the domain.
        smaller, larger = (levels.leaves[at][levels.groups[at]] for at in (level, level + 1))
        assert (smaller <= larger * (1 + 1e-12)).all()
    assert all("*" not in labels for labels in levels.labels[:-1])


@pytest.mark.parametrize("kind", ValueKind)
def test_rules_refuse_all_other_kinds(kind: ValueKind) -> None:
    fitting = {field_of(rule) for rule in rules(kind)}
    every: list[SimpleRule] = [RANGES[ValueKind.INTEGER], MONTHS, DAY, ZEROS]
    for rule in every:
        if field_of(rule) in fitting:
            continue
        faults = check_rule(rule, "field", kind)
        assert any(fault.field == "field" and f"a column of kind {kind}" in fault.found for fault in faults)
        beside_rows = check_rule(Combination((("?",),), rule), "field", kind)
        assert any(fault.field == f"field.rest.{field_of(rule)}" for fault in beside_rows)


@pytest.mark.parametrize(("kind", "rule"), FITTING)
def test_a_column_without_values(kind: ValueKind, rule: RuleHierarchy) -> None:
    labelled = label_values(rule, kind, [], [])
    assert all(labels == () for labels in labelled.labels)
    assert attribute_levels(labelled, has_null=True).labels[-1] == ("*",)
