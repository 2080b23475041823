"""The level limits of drafts: the highest level at which a column still has several labels."""

import datetime
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.drafting import ColumnFacts, draft_columns, propose_hierarchy
from tableveil.drafting.draft import telling_level
from tableveil.hierarchy import ValueKind, label_values
from tableveil.hierarchy.rules import Dates, Intervals
from tests.engine.drafting.test_hierarchies import DATE, INTEGER, TEXT, column


@given(
    st.tuples(st.just(INTEGER), st.lists(st.integers(-300, 300), min_size=1, max_size=40))
    | st.tuples(st.just(INTEGER), st.lists(st.integers(10000, 10999), min_size=1, max_size=40))
    | st.tuples(st.just(DATE), st.lists(st.dates(datetime.date(2019, 1, 1), datetime.date(2021, 12, 31)), min_size=1)),
    st.sampled_from(["age", "zip", "x"]),
)
def test_it_is_the_highest_with_several_labels(of: tuple[ValueKind, Sequence[Any]], name: str) -> None:
    kind, values = of
    facts = column(kind, values, name)
    [draft] = draft_columns([facts])
    rule = propose_hierarchy(facts, draft.meaning).hierarchy
    level = telling_level(facts, rule)
    if not isinstance(rule, Intervals | Dates):
        assert level == 0
        return
    distinct = sorted(set(values))
    labels = label_values(rule, kind, distinct, [str(value) for value in distinct]).labels
    several = [at for at, names in enumerate(labels, 1) if len(set(names)) > 1]
    assert level == max(several, default=0)


@pytest.mark.parametrize(
    ("facts", "level"),
    [
        (column(ValueKind.TIME, ["08:15:00", "23:59:59"], "seen_at"), 3),
        (column(TEXT, [f"0{i:04}" for i in range(40)], "zip_code"), 4),
        (column(TEXT, list("fm") * 20, "sex"), 0),
    ],
)
def test_other_kinds_are_told_by_the_level_below_the_top(facts: ColumnFacts, level: int) -> None:
    [draft] = draft_columns([facts])
    assert telling_level(facts, propose_hierarchy(facts, draft.meaning).hierarchy) == level


@pytest.mark.parametrize(
    ("facts", "limit"),
    [
        (column(INTEGER, range(20, 95), "age"), 4),
        (column(INTEGER, range(20, 35), "age"), 2),
        # A year of days: by quarters, since all have the same year.
        (column(DATE, [datetime.date(2024, month, 1) for month in range(1, 13)], "admitted"), 2),
        (column(TEXT, [f"0{i:04}" for i in range(40)], "zip_code"), 4),
        (column(TEXT, list("fm") * 20, "sex"), None),
        # Nobody has said yet that it matters.
        (column(INTEGER, list(range(40)) * 3, "foo"), None),
    ],
)
def test_quasi_identifiers_that_are_decided_are_limited(facts: ColumnFacts, limit: int | None) -> None:
    [draft] = draft_columns([facts])
    assert draft.proposal is not None
    assert draft.maximum_level == limit
