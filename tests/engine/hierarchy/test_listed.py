"""Written-out hierarchies: every kind of fault with its path, example and count; and look-ups by text."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.errors import Fault
from tableveil.hierarchy import InlineLevels, ValueKind, check_levels, label_values

FIELD = "attributes[2].hierarchy.inline"
TEXTS = st.text(alphabet="ab'\"*é😀", max_size=3)


def paths(faults: list[Fault]) -> list[str]:
    return [fault.field.removeprefix(FIELD) for fault in faults]


@st.composite
def nesting_rows(draw: st.DrawFn) -> list[tuple[str, ...]]:
    """Sound rows, built from the top down: each label hangs below one label of the level above."""
    above: list[tuple[str, ...]] = [(draw(TEXTS),)]
    for _ in range(draw(st.integers(1, 3))):
        labels = draw(st.lists(TEXTS, min_size=1, max_size=8, unique=True))
        above = [(label, *draw(st.sampled_from(above))) for label in labels]
    return above


@given(nesting_rows())
def test_sound_rows_have_no_faults(rows: list[tuple[str, ...]]) -> None:
    assert check_levels(rows, FIELD) == []


@given(st.lists(st.lists(st.none() | st.sampled_from(["a", "b", ""]), max_size=4), max_size=6))
def test_rows_have_faults_unless_they_meet_the_definition(rows: list[list[str | None]]) -> None:
    widths = {len(row) for row in rows}
    values = [row[0] for row in rows if row]
    sound = (
        len(widths) == 1
        and widths.pop() >= 2
        and not any(label is None for row in rows for label in row)
        and len(set(values)) == len(values)
        and len({row[-1] for row in rows}) == 1
        and all(
            one[level + 1] == other[level + 1]
            for one in rows
            for other in rows
            for level in range(len(one) - 1)
            if one[level] == other[level]
        )
    )
    faults = check_levels(rows, FIELD)
    assert (faults == []) == sound
    assert all(fault.field.startswith(f"{FIELD}.rows") for fault in faults)


def test_no_rows() -> None:
    assert paths(check_levels([], FIELD)) == [".rows"]


@pytest.mark.parametrize("rows", [[("a",), ("b",)], [(), ()]])
def test_too_few_columns(rows: list[tuple[str, ...]]) -> None:
    (fault,) = check_levels(rows, FIELD)
    assert fault.field == f"{FIELD}.rows"
    assert fault.found == f"{len(rows[0])} column{'' if rows[0] else 's'}"


def test_ragged_rows_are_measured_by_what_most_have() -> None:
    (fault,) = check_levels([("a", "*"), ("b", "x", "*"), ("c", "x", "*"), ("d",)], FIELD)
    assert fault.field == f"{FIELD}.rows[0]"
    assert fault.found == "2 columns; 2 rows unlike the others"
    assert fault.expected == "3 columns in every row"


def test_null_anywhere() -> None:
    (fault,) = check_levels([("a", "x", "*"), ("b", None, None), (None, "x", "*"), ("c", "x", "*")], FIELD)
    assert fault.field == f"{FIELD}.rows[1].labels[1]"
    assert fault.found == "NULL; 2 rows with NULL"


def test_repeated_values() -> None:
    rows = [("a", "*"), ("it's", "*"), ("it's", "*"), ("b", "*"), ("a", "*"), ("a", "*")]
    (fault,) = check_levels(rows, FIELD)
    assert fault.field == f"{FIELD}.rows[4].labels[0]"
    assert fault.found == "the value of rows[0] again; 2 values repeated"


def test_a_repeated_value_is_found_in_unsound_rows_too() -> None:
    rows = [("a", "*"), ("a", None), ("b", "*")]
    assert paths(check_levels(rows, FIELD)) == [".rows[1].labels[1]", ".rows[1].labels[0]"]


def test_more_than_one_top() -> None:
    (fault,) = check_levels([("a", "1"), ("b", "1"), ("c", "2")], FIELD)
    assert fault.field == f"{FIELD}.rows[2].labels[1]"
    assert fault.found == "2 labels at the top"
    assert paths(check_levels([(None, "1"), ("a", "1"), ("b", "2")], FIELD)) == [
        ".rows[0].labels[0]",
        ".rows[2].labels[1]",
    ]
    (fault,) = check_levels([(str(index), str(index)) for index in range(9)], FIELD)
    assert fault.found == "9 labels at the top"


def test_levels_that_do_not_nest() -> None:
    rows = [
        ("a", "x", "1", "*"),
        ("b", None, "1", "*"),
        ("c", "y", "1", "*"),
        ("d", "x", "2", "*"),
        ("e", "y", "2", "*"),
        ("f", "z", "1", "*"),
        ("g", "z", "2", "*"),
    ]
    faults = check_levels(rows, FIELD)
    assert paths(faults) == [".rows[1].labels[1]", ".rows[3].labels[2]"]
    assert faults[1].found == "a label of level 1 that is under another one in rows[0]; 3 labels under more than one"


def test_all_kinds_are_told_at_once_and_each_once() -> None:
    rows = [
        ("a", "x", "*"),
        ("a", "x", "?"),
        ("b",),
        ("c", None, "*"),
        ("d", "y", "*"),
        ("d", "y", "?"),
        ("e", None, None),
        ("f", "*"),
    ]
    assert paths(check_levels(rows, FIELD)) == [
        ".rows[2]",
        ".rows[3].labels[1]",
        ".rows[1].labels[0]",
        ".rows[1].labels[2]",
        ".rows[1].labels[2]",
    ]


def test_long_labels_are_cut() -> None:
    (fault,) = check_levels([("a" * 10_000, "*"), ("a" * 10_000, "*")], FIELD)
    assert len(fault.found) < 250


@given(nesting_rows(), st.lists(TEXTS, unique=True))
def test_labels_and_leaves_are_those_of_the_rows(rows: list[tuple[str, ...]], texts: list[str]) -> None:
    labelled = label_values(InlineLevels(tuple(rows)), ValueKind.TEXT, texts, texts)
    by_value = {row[0]: row for row in rows}
    assert labelled.covered.tolist() == [text in by_value for text in texts]
    assert labelled.domain_size == len(rows)
    assert labelled.top_label == rows[0][-1]
    for level, (labels, leaves) in enumerate(zip(labelled.labels, labelled.leaves, strict=True), start=1):
        sizes = Counter(row[level] for row in rows)
        for text, label, size in zip(texts, labels, leaves.tolist(), strict=True):
            row = by_value.get(text)
            assert label == (row[level] if row else None)
            if label is not None:
                assert size == sizes[label]


def test_values_are_looked_up_by_their_text() -> None:
    definition = InlineLevels((("1.50", "low", "*"), ("true", "low", "*"), ("", "none", "*")))
    labelled = label_values(definition, ValueKind.OTHER, [True, object(), ""], ["true", "1.5", ""])
    assert labelled.labels == (("low", None, "none"), ("*", None, "*"))
    assert labelled.leaves[0].tolist()[::2] == [2, 1]


def test_labels_that_blanks_alone_tell_apart_are_said_to() -> None:
    [top] = check_levels([("a", "x", " *"), ("b", "x", "  *"), ("c", "y", " *")], FIELD)[:1]
    assert top.hint == "Blanks around alone tell 1 label from another one: leave them out."
    [top] = check_levels([("a", "x"), ("b", "y")], FIELD)
    assert "End every row" in top.hint
    [nesting] = check_levels([("a", "x", "1", "*"), ("b", "x", "1 ", "*")], FIELD)
    assert "Blanks around alone" in nesting.hint
