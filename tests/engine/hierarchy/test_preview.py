"""Previews: groups in the order of their values, their counts by definition, and no more than asked for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import InlineLevels, LabelledValues, PreviewGroup, ValueKind, label_values, preview_levels

ROWS = (("9", "low", "*"), ("10", "high", "*"), ("11", "high", "*"), ("12", "none here", "*"))


def labelled(texts: list[str]) -> LabelledValues:
    return label_values(InlineLevels(ROWS), ValueKind.TEXT, texts, texts)


def test_groups_are_in_the_order_of_their_values_and_only_those_that_occur() -> None:
    texts = ["9", "10", "11", "99"]
    zero, one, top = preview_levels(labelled(texts), texts, np.array([5, 1, 2, 40]), 10, with_values=True)
    assert zero.first == tuple(PreviewGroup(*group) for group in (("9", 1, 1, 5), ("10", 1, 1, 1), ("11", 1, 1, 2)))
    assert one.first == (PreviewGroup("low", 1, 1, 5), PreviewGroup("high", 2, 2, 3))
    assert (one.groups, one.fewest_leaves, one.most_leaves) == (2, 1, 2)
    assert (one.fewest_records, one.most_records) == (3, 5)
    assert top.first == (PreviewGroup("*", 4, 3, 8),)


def test_single_values_are_told_only_if_asked_for() -> None:
    zero, one, _ = preview_levels(labelled(["9", "10"]), ["9", "10"], np.array([5, 1]), 10, with_values=False)
    assert (zero.first, zero.last, zero.left_out) == ((), (), 2)
    assert (zero.groups, zero.fewest_records, zero.most_records) == (2, 1, 5)
    assert len(one.first) == 2


def test_nothing_covered() -> None:
    levels = preview_levels(labelled(["x"]), ["x"], np.array([3]), 10, with_values=True)
    assert [(level.groups, level.first, level.most_records) for level in levels] == [(0, (), 0)] * 3


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 9)), min_size=1, max_size=20), st.integers(1, 12))
def test_groups_by_the_definition(values: list[tuple[str, int]], most: int) -> None:
    texts = [str(number) for number in range(len(values))]
    rows = tuple((text, label, "*") for text, (label, _) in zip(texts, values, strict=True))
    found = label_values(InlineLevels(rows), ValueKind.TEXT, texts, texts)
    records = np.array([count for _, count in values])
    level = preview_levels(found, texts, records, most, with_values=False)[1]
    groups = {label: [count for other, count in values if other == label] for label, _ in values}
    expected = [PreviewGroup(name, len(counts), len(counts), sum(counts)) for name, counts in groups.items()]
    shown = [*level.first, *level.last]
    assert level.groups == len(expected)
    assert level.left_out == len(expected) - len(shown) >= 0
    assert shown == [group for i, group in enumerate(expected) if i < -(-most // 2) or i >= len(expected) - most // 2]
    assert (level.fewest_records, level.most_records) == (
        min(group.records for group in expected),
        max(group.records for group in expected),
    )
