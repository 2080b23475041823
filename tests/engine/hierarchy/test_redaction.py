"""Redaction: what is wrong with a rule, and that labels have one length, nest, and measure what they hide."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import LabelledValues, ValueKind, attribute_levels, check_rule, label_values
from tableveil.hierarchy.rules import MaskFrom, PadAt, Redaction

FIELD = "attributes[1].hierarchy.redaction"


def label_all(rule: Redaction, texts: list[str]) -> LabelledValues:
    assert check_rule(rule, FIELD, ValueKind.TEXT) == []
    return label_values(rule, ValueKind.TEXT, texts, texts)


@st.composite
def redactions(draw: st.DrawFn) -> Redaction:
    length = draw(st.integers(1, 8))
    masked = tuple(sorted(draw(st.sets(st.integers(1, length - 1))))) if length > 1 else ()
    return Redaction(
        length,
        draw(st.integers(2, 40)),
        draw(st.sampled_from(MaskFrom)),
        1 if masked else draw(st.integers(1, length)),
        masked=masked,
        mask=draw(st.sampled_from("*#")),
        padding=draw(st.sampled_from(["", "0", "a"])),
        pad_at=draw(st.none() | st.sampled_from(PadAt)),
    )


@given(redactions(), st.lists(st.text(alphabet="ab*'\"é😀 ", max_size=9), unique=True))
def test_labels_are_the_padded_text_with_positions_masked(rule: Redaction, texts: list[str]) -> None:
    labelled = label_all(rule, texts)
    numbers = rule.masked or [level * rule.step for level in range(1, 10) if level * rule.step < rule.length]
    assert len(labelled.labels) == 1 + len(numbers)
    for index, text in enumerate(texts):
        assert labelled.covered[index] == (len(text) <= rule.length)
        for labels, masked in zip(labelled.labels[:-1], numbers, strict=True):
            label = labels[index]
            if len(text) > rule.length:
                assert label is None
                continue
            padding = [rule.padding or rule.mask] * (rule.length - len(text))
            at_the_right = rule.pad_at is PadAt.RIGHT or (rule.pad_at is None and rule.mask_from is MaskFrom.RIGHT)
            characters = [*text, *padding] if at_the_right else [*padding, *text]
            hidden = range(rule.length - masked, rule.length) if rule.mask_from is MaskFrom.RIGHT else range(masked)
            for position in hidden:
                characters[position] = rule.mask
            assert label == "".join(characters)


@pytest.mark.parametrize("mask_from", MaskFrom)
def test_the_leaves_of_each_level_make_up_all_texts_of_the_declared_length(mask_from: MaskFrom) -> None:
    texts = ["".join(letters) for letters in itertools.product("ab*", repeat=5)]
    levels = attribute_levels(label_all(Redaction(5, 3, mask_from, 2), texts), has_null=False)
    # A text that holds a mask itself joins those whose character there was masked.
    assert [float(leaves.sum()) for leaves in levels.leaves] == [3**5] * 4
    assert [leaves[0] for leaves in levels.leaves] == [1, 9, 81, 243]
    assert levels.domain_size == 3**5


def test_masking_from_the_right_and_from_the_left() -> None:
    right = label_all(Redaction(5, 10), ["81667", "816", "", "81667a"])
    assert right.labels[0] == ("8166*", "816**", "*****", None)
    assert right.labels[3] == ("8****", "8****", "*****", None)
    assert right.labels[4] == ("*", "*", "*", None)
    left = label_all(Redaction(5, 10, MaskFrom.LEFT, 2), ["81667", "816", "", "81667a"])
    assert left.labels == (("**667", "**816", "*****", None), ("****7", "****6", "*****", None), ("*", "*", "*", None))


def test_a_listed_alphabet_says_what_is_covered_and_how_much_a_label_hides() -> None:
    rule = Redaction(3, alphabet="01-", padding="0", pad_at=PadAt.LEFT)
    labelled = label_all(rule, ["1", "1-0", "012", "é"])
    assert labelled.labels[:2] == (("00*", "1-*", None, None), ("0**", "1**", None, None))
    assert labelled.domain_size == 27
    assert [leaves[0] for leaves in labelled.leaves] == [3, 9, 27]


def test_integers_with_their_zeros_back() -> None:
    rule = Redaction(5, 10, padding="0", pad_at=PadAt.LEFT)
    numbers = [2139, 94301, 123456, -7]
    labelled = label_values(rule, ValueKind.INTEGER, numbers, [str(number) for number in numbers])
    assert labelled.labels[1] == ("021**", "943**", None, None)


def test_characters_are_code_points() -> None:
    labelled = label_all(Redaction(3, 100), ["😀\u00e9", "e\u0301x", "e\u0301xy"])
    assert labelled.labels[0] == ("😀\u00e9*", "e\u0301*", None)


def test_one_position_has_only_the_top() -> None:
    labelled = label_all(Redaction(1, 26), ["a", "*", ""])
    assert labelled.labels == (("*", "*", "*"),)
    assert labelled.domain_size == 26


def test_a_domain_beyond_floats_keeps_the_right_shares() -> None:
    rule = Redaction(1000, 10, step=300)
    levels = attribute_levels(label_all(rule, ["a", "b"]), has_null=True)
    assert levels.domain_size == 1.0
    assert levels.shares(levels.top).tolist() == [1.0]
    assert levels.shares(3)[0] == pytest.approx(1e-100, rel=1e-12)
    assert levels.shares(0).tolist() == [0, 0, 0]


def test_the_largest_countable_domain_is_counted() -> None:
    counted = label_all(Redaction(308, 10, step=154), ["a"])
    assert (counted.continuous, counted.domain_size, counted.leaves[0][0]) == (False, 1e308, 1e154)
    measured = label_all(Redaction(309, 10, step=154), ["a"])
    assert (measured.continuous, measured.domain_size) == (True, 1.0)


@pytest.mark.parametrize(
    ("rule", "kind", "expected"),
    [
        (Redaction(5, 10), None, []),
        (Redaction(5, 10), ValueKind.TEXT, []),
        (Redaction(1000, 2, MaskFrom.LEFT, 1000), None, []),
        (Redaction(0, 10), None, [".length"]),
        (Redaction(1001, 10), None, [".length"]),
        (Redaction(5, 1), None, [".alphabet_size"]),
        (Redaction(5, 10, step=0), None, [".step"]),
        (Redaction(5, 10, step=6), None, [".step"]),
        (Redaction(-1, 0, step=-1), ValueKind.TEXT, [".length", ".alphabet_size", ".step"]),
        (Redaction(5, 10), ValueKind.INTEGER, [".padding"]),
        (Redaction(5, 10, padding="0"), ValueKind.INTEGER, [".padding"]),
        (Redaction(5, 10, MaskFrom.LEFT, padding="0"), ValueKind.INTEGER, []),
        (Redaction(5, 10, padding="0", pad_at=PadAt.LEFT), ValueKind.INTEGER, []),
        (Redaction(10, 10, masked=(3, 6)), None, []),
        (Redaction(10, 10, masked=(3, 3)), None, [".masked[1]"]),
        (Redaction(10, 10, masked=(0, 10)), None, [".masked[0]", ".masked[1]"]),
        (Redaction(10, 10, step=3, masked=(3,)), None, [".masked"]),
        (Redaction(5, 10, padding="00"), None, [".padding"]),
        (Redaction(5, 10, mask="xx"), None, [".mask"]),
        (Redaction(5, alphabet="0123456789"), ValueKind.TEXT, []),
        (Redaction(5, 10, alphabet="0123456789"), ValueKind.TEXT, []),
        (Redaction(5, 26, alphabet="0123456789"), None, [".alphabet_size"]),
        (Redaction(5, alphabet="001"), None, [".alphabet"]),
        (Redaction(5, alphabet="0"), None, [".alphabet"]),
        (Redaction(5, alphabet="01x", mask="x"), None, [".mask"]),
        (Redaction(5, 10), ValueKind.DATE, [""]),
        (Redaction(5, 10), ValueKind.OTHER, [""]),
    ],
)
def test_faults(rule: Redaction, kind: ValueKind | None, expected: list[str]) -> None:
    assert [fault.field.removeprefix(FIELD) for fault in check_rule(rule, FIELD, kind)] == expected
