"""Grouping: what is wrong with a rule, and its labels and leaves against a walk from each value upwards."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import LabelledValues, ValueKind, check_rule, label_values
from tableveil.hierarchy.rules import Group, Grouping, GroupingLevel

FIELD = "attributes[0].hierarchy.grouping"

COUNTRIES = GroupingLevel(
    (Group("Norway", ("Oslo", "Bergen")), Group("Italy", ("Rome",)), Group("Malta", ("Valletta",)))
)
PARTS = GroupingLevel((Group("South", ("Italy", "Malta")), Group("North", ("Norway",))))
CITIES = Grouping((COUNTRIES, PARTS))


def label_all(rule: Grouping, texts: list[str], own: list[bool] | None = None) -> LabelledValues:
    assert check_rule(rule, FIELD, ValueKind.TEXT) == []
    return label_values(rule, ValueKind.TEXT, texts, texts, None if own is None else np.array(own, dtype=np.bool_))


@st.composite
def groupings(draw: st.DrawFn) -> Grouping:
    """A grouping of some of the values a to h; each level joins some labels of the one below."""
    members = draw(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=8, unique=True))
    levels: list[GroupingLevel] = []
    while len(members) >= 3 and len(levels) < 3:
        numbers = draw(st.lists(st.integers(0, len(members) - 2), min_size=len(members), max_size=len(members)))
        joined = {n: [m for m, number in zip(members, numbers, strict=True) if number == n] for n in sorted({*numbers})}
        groups = [Group(f"{len(levels)}{n}", tuple(found)) for n, found in joined.items()]
        others = f"{len(levels)}?" if draw(st.booleans()) else ""
        if others and levels:
            # Values left out go with the others.
            groups = groups[1:]
        if not groups or len(groups) + bool(others) < 2:
            break
        if levels and levels[-1].others and not others:
            groups[0] = replace(groups[0], members=(*groups[0].members, levels[-1].others))
        levels.append(GroupingLevel(tuple(groups), others))
        members = [group.label for group in groups]
    return Grouping(tuple(levels) or (COUNTRIES,))


def walked(rule: Grouping, text: str) -> list[str] | None:
    labels: list[str] = []
    for level in rule.levels:
        below = labels[-1] if labels else text
        found = [group.label for group in level.groups if below in group.members]
        if not found and not level.others:
            return None
        labels.append(found[0] if found else level.others)
    return labels


@given(groupings(), st.lists(st.tuples(st.sampled_from("abcdefghxyz"), st.booleans()), unique_by=lambda pair: pair[0]))
def test_labels_and_leaves_are_those_of_the_walk(rule: Grouping, values: list[tuple[str, bool]]) -> None:
    texts, own = [text for text, _ in values], [counts for _, counts in values]
    labelled = label_all(rule, texts, own)
    listed = {member for group in rule.levels[0].groups for member in group.members}
    domain = [*listed]
    if rule.levels[0].others:
        domain += [text for text, counts in values if counts and text not in listed]
    assert labelled.domain_size == len(domain)
    assert not labelled.continuous
    for index, text in enumerate(texts):
        expected = walked(rule, text)
        assert labelled.covered[index] == (expected is not None)
        for level, labels in enumerate(labelled.labels[:-1]):
            assert labels[index] == (expected[level] if expected else None)
            if expected:
                alike = [other for other in domain if (walked(rule, other) or [""] * 9)[level] == expected[level]]
                assert labelled.leaves[level][index] == len(alike)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ((), [".levels"]),
        ((COUNTRIES, PARTS), []),
        ((replace(COUNTRIES, groups=COUNTRIES.groups[:1]),), [".levels[0].groups"]),
        ((replace(COUNTRIES, groups=(), others="all"),), [".levels[0].groups"]),
        ((replace(COUNTRIES, groups=COUNTRIES.groups[:1], others="abroad"),), []),
        ((replace(COUNTRIES, others="Norway"),), [".levels[0].others"]),
        ((replace(COUNTRIES, others="*"),), [".levels[0].others"]),
        ((GroupingLevel((Group("*", ("a",)), Group("", ("b",)))),),
         [".levels[0].groups[0].label", ".levels[0].groups[1].label"]),
        ((GroupingLevel((Group("x", ("a",)), Group("x", ("b",)))),), [".levels[0].groups[1].label"]),
        ((GroupingLevel((Group("x", ("a",)), Group("y", ()))),), [".levels[0].groups[1].members"]),
        ((GroupingLevel((Group("x", ("a", "b")), Group("y", ("c", "b", "a")))),), [".levels[0].groups[1].members[1]"]),
        ((GroupingLevel((Group("x", ("a", "a")), Group("y", ("b",)))),), [".levels[0].groups[0].members[1]"]),
        ((COUNTRIES, GroupingLevel((Group("S", ("Italy", "Maltta")), Group("N", ("Norway",))))),
         [".levels[1].groups[0].members[1]", ".levels[1].groups"]),
        ((COUNTRIES, GroupingLevel((Group("S", ("Italy",)), Group("N", ("Norway",))))), [".levels[1].groups"]),
        ((COUNTRIES, GroupingLevel((Group("S", ("Italy",)),), "elsewhere")), []),
    ],
)  # fmt: skip
def test_faults(levels: tuple[GroupingLevel, ...], expected: list[str]) -> None:
    assert [fault.field.removeprefix(FIELD) for fault in check_rule(Grouping(levels), FIELD)] == expected


def test_faults_name_the_nearest_label_and_where_a_value_was_first() -> None:
    typo = Grouping((COUNTRIES, GroupingLevel((Group("S", ("Italy", "Maltta")), Group("N", ("Norway", "Malta"))))))
    (fault,) = check_rule(typo, FIELD)
    assert "Malta" in fault.hint
    twice = Grouping((GroupingLevel((Group("x", ("a", "b")), Group("y", ("b", "a")))),))
    (fault,) = check_rule(twice, FIELD)
    assert fault.found == "'b' as in groups[0].members[1]; 2 overlapping members"
