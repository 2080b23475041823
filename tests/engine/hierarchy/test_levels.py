"""Levels as numbers: groups, their order, leaves and loss shares, with and without NULL, for all hierarchies."""

import datetime
import itertools
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import (
    InlineLevels,
    LabelledValues,
    RuleHierarchy,
    ValueKind,
    attribute_levels,
    check_rule,
    label_values,
)
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, MaskFrom, Redaction, SuppressionOnly

INLINE = InlineLevels(
    (
        ("Berlin", "east", "Germany"),
        ("Köln", "west", "Germany"),
        ("Bonn", "west", "Germany"),
        ("O'Fallon", "abroad", "Germany"),
        ("", "abroad", "Germany"),
    )
)
RULES: list[tuple[InlineLevels | RuleHierarchy, ValueKind, st.SearchStrategy[object]]] = [
    (INLINE, ValueKind.TEXT, st.sampled_from([row[0] for row in INLINE.rows])),
    (Intervals("-20", "79", ("3", "15", "45"), "-10", "65"), ValueKind.INTEGER, st.integers()),
    (Intervals("-20", "79", ("3", "15", "45")), ValueKind.INTEGER, st.integers(-20, 79)),
    (Intervals("0.25", "10", ("0.5", "2.5")), ValueKind.DECIMAL, st.decimals(Decimal("0.25"), 10, places=3)),
    (Intervals("0", "1", ("0.1", "0.3")), ValueKind.FLOAT, st.floats(0, 1)),
    (Intervals("0", "1", (), "0.25", "0.75"), ValueKind.FLOAT, st.floats(allow_nan=False, allow_infinity=False)),
    (
        Intervals("1900-01-01", "2099-12-31", ("7", "28", "364")),
        ValueKind.DATE,
        st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)),
    ),
    (
        Dates("1900-01-01", "2099-12-31", (DateUnit.MONTH, DateUnit.QUARTER, DateUnit.YEAR, DateUnit.DECADE)),
        ValueKind.DATE,
        st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)),
    ),
    (
        Dates("1900-01-01", "2099-12-31", (DateUnit.DAY, DateUnit.WEEK)),
        ValueKind.TIMESTAMP,
        st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2099, 12, 31)),
    ),
    (Redaction(6, 5, step=2), ValueKind.TEXT, st.text(alphabet="ab*'é", max_size=6)),
    (Redaction(6, 5, MaskFrom.LEFT), ValueKind.TEXT, st.text(alphabet="ab*'é", max_size=6)),
    (SuppressionOnly(), ValueKind.OTHER, st.integers() | st.booleans() | st.text()),
]


@st.composite
def labelled_values(draw: st.DrawFn) -> LabelledValues:
    definition, kind, strategy = draw(st.sampled_from(RULES))
    values = draw(st.lists(strategy, unique=True, max_size=30))
    return label_values(definition, kind, values, [str(value) for value in values])


def test_the_rules_of_these_tests_are_sound() -> None:
    for definition, kind, _ in RULES:
        if not isinstance(definition, InlineLevels):
            assert check_rule(definition, "f", kind) == []


@given(labelled_values())
def test_equal_labels_stay_equal_at_the_next_level_and_cover_no_less_there(labelled: LabelledValues) -> None:
    assert labelled.covered.all()
    levels = list(zip(labelled.labels, labelled.leaves, strict=True))
    for (labels, leaves), (above, leaves_above) in itertools.pairwise(levels):
        steps = set(zip(labels, above, strict=True))
        assert len(steps) == len(set(labels))
        assert (leaves <= leaves_above).all()
    assert set(labelled.labels[-1]) <= {labelled.top_label}
    assert (labelled.leaves[-1] == labelled.domain_size).all()


@given(labelled_values(), st.booleans())
def test_groups_say_the_same_as_labels(labelled: LabelledValues, has_null: bool) -> None:
    levels = attribute_levels(labelled, has_null)
    values = len(labelled.covered)
    codes = values + has_null
    assert levels.top == len(labelled.labels) == len(levels.labels)
    assert levels.null_code == (values if has_null else None)
    assert levels.groups[0].tolist() == list(range(codes))
    for level in range(1, levels.top + 1):
        groups, labels = levels.groups[level], levels.labels[level - 1]
        assert groups.dtype == np.int32
        assert [labels[group] for group in groups[:values]] == list(labelled.labels[level - 1])
        assert sorted(set(groups.tolist())) == list(range(len(labels)))
        named = [label for label in labels if label is not None]
        assert named == sorted(named)
        assert labels.count(None) == int(has_null and level < levels.top)
        if has_null and level < levels.top:
            assert labels[groups[values]] is None
            assert groups[values] == len(labels) - 1
    assert len(levels.labels[-1]) == min(codes, 1)


@given(labelled_values(), st.booleans())
def test_null_is_one_more_value_unless_values_are_measured(labelled: LabelledValues, has_null: bool) -> None:
    levels = attribute_levels(labelled, has_null)
    values = len(labelled.covered)
    counted = not labelled.continuous
    assert levels.domain_size == labelled.domain_size + (1 if has_null and counted else 0)
    assert levels.leaves[0].tolist() == [float(counted)] * (values + has_null)
    for level in range(1, levels.top):
        per_code = levels.leaves[level][levels.groups[level]]
        assert per_code[:values].tolist() == labelled.leaves[level - 1].tolist()
        assert per_code[values:].tolist() == [float(counted)] * has_null
    assert levels.leaves[-1].tolist() == [levels.domain_size] * min(values + has_null, 1)


@given(labelled_values(), st.booleans())
def test_shares_grow_from_nothing_to_all(labelled: LabelledValues, has_null: bool) -> None:
    levels = attribute_levels(labelled, has_null)
    size = levels.domain_size
    per_code = np.array([levels.shares(level)[levels.groups[level]] for level in range(levels.top + 1)])
    assert (per_code[0] == 0).all()
    assert (per_code[-1] == (1 if levels.continuous or size > 1 else 0)).all()
    assert (np.diff(per_code, axis=0) >= 0).all()
    for level in range(levels.top + 1):
        for share, leaves in zip(levels.shares(level), levels.leaves[level], strict=True):
            if levels.continuous:
                assert share == leaves / size
            elif size > 1:
                assert share == (leaves - 1) / (size - 1)


def test_labels_are_numbered_in_their_order() -> None:
    texts = ["Köln", "O'Fallon", "Berlin", "Bonn"]
    levels = attribute_levels(label_values(INLINE, ValueKind.TEXT, texts, texts), has_null=True)
    assert levels.labels == (("abroad", "east", "west", None), ("Germany",))
    assert [groups.tolist() for groups in levels.groups] == [[0, 1, 2, 3, 4], [2, 0, 1, 2, 3], [0, 0, 0, 0, 0]]
    assert [leaves.tolist() for leaves in levels.leaves] == [[1] * 5, [2, 1, 2, 1], [6]]
    assert levels.shares(1).tolist() == [0.2, 0, 0.2, 0]


def test_a_column_of_nulls_alone() -> None:
    levels = attribute_levels(label_values(INLINE, ValueKind.TEXT, [], []), has_null=True)
    assert levels.labels == ((None,), ("Germany",))
    assert [groups.tolist() for groups in levels.groups] == [[0], [0], [0]]
    assert [levels.shares(level).tolist() for level in range(3)] == [[0], [0], [1]]
    assert levels.null_code == 0


def test_a_column_of_nulls_alone_loses_nothing_if_they_are_the_whole_domain() -> None:
    levels = attribute_levels(label_values(SuppressionOnly(), ValueKind.OTHER, [], []), has_null=True)
    assert levels.domain_size == 1
    assert levels.labels == (("*",),)
    assert levels.shares(1).tolist() == [0]


def test_an_empty_table_has_levels_but_no_groups() -> None:
    for definition, kind, _ in RULES:
        levels = attribute_levels(label_values(definition, kind, [], []), has_null=False)
        assert levels.top >= 1
        assert all(len(labels) == 0 for labels in levels.labels)
        assert [len(levels.shares(level)) for level in range(levels.top + 1)] == [0] * (levels.top + 1)
        assert levels.null_code is None


def test_suppression_counts_the_values_present() -> None:
    labelled = label_values(SuppressionOnly(), ValueKind.OTHER, ["a", True, 3], ["a", "true", "3"])
    assert labelled.labels == (("*", "*", "*"),)
    assert labelled.leaves[0].tolist() == [3, 3, 3]
    assert check_rule(SuppressionOnly(), "f", ValueKind.TIMESTAMP) == []


def test_uncovered_values_have_no_levels() -> None:
    labelled = label_values(INLINE, ValueKind.TEXT, ["Bonn", "Paris"], ["Bonn", "Paris"])
    with pytest.raises(ValueError, match="1 values are not covered"):
        attribute_levels(labelled, has_null=False)
