"""Combinations: rows first, then a rule; padded levels, and labels that would mean both."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import Combination, LabelledValues, ValueKind, check_rule, label_values
from tableveil.hierarchy.rules import Group, Grouping, GroupingLevel, Intervals, Redaction, SimpleRule, SuppressionOnly

FIELD = "attributes[0].hierarchy.combination"

TENS = Intervals("0", "99", ("10", "50"))
MISSING = (("-1", "not asked", "unknown"), ("-2", "no answer", "unknown"))


def label_all(rule: Combination, texts: list[str], own: list[bool] | None = None) -> LabelledValues:
    assert check_rule(rule, FIELD, ValueKind.TEXT) == []
    return label_values(rule, ValueKind.TEXT, texts, texts, None if own is None else np.array(own, dtype=np.bool_))


def at(labelled: LabelledValues, value: int) -> list[str | None]:
    return [labels[value] for labels in labelled.labels]


def test_codes_beside_numbers() -> None:
    numbers = [-1, -2, -3, 7, 99]
    labelled = label_values(Combination(MISSING, TENS), ValueKind.INTEGER, numbers, [str(number) for number in numbers])
    assert at(labelled, 0) == ["not asked", "unknown", "*"]
    assert at(labelled, 2) == [None, None, None]
    assert at(labelled, 3) == ["[0, 9]", "[0, 49]", "*"]
    assert [leaves[1] for leaves in labelled.leaves] == [1, 2, 102]
    assert [leaves[4] for leaves in labelled.leaves] == [10, 50, 102]


def test_rows_beside_what_is_measured_have_no_width() -> None:
    labelled = label_values(Combination(MISSING, TENS), ValueKind.FLOAT, [-1.0, 7.0], ["-1", "7.0"])
    assert (labelled.continuous, labelled.domain_size) == (True, 99)
    assert [leaves.tolist() for leaves in labelled.leaves] == [[0, 10], [0, 50], [99, 99]]


@given(
    st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from("XYZ"), max_size=3), min_size=1),
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), unique_by=lambda pair: pair[0]),
)
def test_the_side_with_fewer_levels_repeats_its_last(
    rows: dict[str, list[str]], length: int, values: list[tuple[str, bool]]
) -> None:
    rule = Combination(tuple((value, *labels) for value, labels in rows.items()), Redaction(length, 26))
    if check_rule(rule, FIELD):
        return
    texts, own = [text for text, _ in values], [counts for _, counts in values]
    labelled = label_all(rule, texts, own)
    depth = max(length - 1, *(len(labels) for labels in rows.values()))
    assert len(labelled.labels) == depth + 1
    assert labelled.domain_size == 26**length + len(rows)
    for index, text in enumerate(texts):
        for level in range(1, depth + 1):
            if text in rows:
                expected = ([text, *rows[text]] + [rows[text][-1] if rows[text] else text] * 9)[level]
            else:
                masked = min(level, length - 1)
                expected = text.ljust(length, "*")[: length - masked] + "*" * masked
            assert labelled.labels[level - 1][index] == expected


def test_a_label_of_the_rows_means_nothing_else() -> None:
    rule = Combination((("Dominican", "Hispanic"), ("Cuban", "Hispanic")), SuppressionOnly())
    labelled = label_all(rule, ["Dominican", "Hispanic", "Russian"], [True, True, False])
    assert labelled.labels[0] == ("Hispanic", None, "Russian")
    settled = Combination((*rule.rows, ("Hispanic",)), SuppressionOnly())
    labelled = label_all(settled, ["Dominican", "Hispanic", "Russian", "Han"], [True, True, False, True])
    assert labelled.labels[0] == ("Hispanic", "Hispanic", "Russian", "Han")
    assert [leaves.tolist() for leaves in labelled.leaves] == [[3, 3, 1, 1], [4, 4, 4, 4]]


def test_the_top_may_be_written_or_not() -> None:
    rule = Combination((("n/a", "none", "*"), ("x", "*")), Redaction(3, 26))
    assert at(label_all(rule, ["n/a", "x", "abc"]), 0) == ["none", "none", "*"]
    assert at(label_all(rule, ["x"]), 0) == ["x", "x", "*"]


@pytest.mark.parametrize(
    ("rows", "rest", "expected"),
    [
        (MISSING, TENS, []),
        ((), TENS, [".rows"]),
        (((),), TENS, [".rows[0]"]),
        ((("a", "*", "b"),), TENS, [".rows[0].labels[1]"]),
        ((("a", "x"), ("a", "y")), TENS, [".rows[1].labels[0]"]),
        ((("a", "x", "y"), ("b", "x", "z")), TENS, [".rows[1].labels[2]"]),
        (MISSING, Intervals("9", "0", ("1",)), [".rest.intervals.maximum"]),
        (MISSING, Redaction(3, 26), [".rest.redaction.padding"]),
        (MISSING, Grouping((GroupingLevel((Group("x", ("1",)),)),)), [".rest.grouping.levels[0].groups"]),
    ],
)
def test_faults(rows: tuple[tuple[str, ...], ...], rest: SimpleRule, expected: list[str]) -> None:
    faults = check_rule(Combination(rows, rest), FIELD, ValueKind.INTEGER)
    assert [fault.field.removeprefix(FIELD) for fault in faults] == expected
