"""Stored versions: what was stored is read back, and what differs between two is what their definitions say."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.backend import Database, Session
from tableveil.state import hierarchies
from tableveil.state.compare_hierarchies import compare
from tableveil.state.hierarchies import Stored

Rows = list[tuple[str, ...]]


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


# One for all examples of a property.
@pytest.fixture(scope="module")
def shared_session(shared_database: Database) -> Session:
    return shared_database.session()


@st.composite
def versions(draw: st.DrawFn) -> Rows:
    labels = draw(st.sampled_from(["xy", "yz", "x"]))
    values = draw(st.lists(st.sampled_from(["a", "b", "c'", 'd"', "é\n"]), min_size=1, unique=True))
    depth = draw(st.integers(1, 3))
    return [(value, *(draw(st.sampled_from(labels)) for _ in range(depth - 1)), "*") for value in values]


@given(versions(), versions())
def test_differences_by_the_definition(shared_session: Session, earlier: Rows, later: Rows) -> None:
    stored = [hierarchies.create(shared_session.ledger, "h", rows) for rows in (earlier, later)]
    found = compare(shared_session.ledger, stored[0], stored[1], 100)
    old, new = ({row[0]: row for row in rows} for rows in (earlier, later))
    both = sorted(old.keys() & new.keys())
    assert (found.added, found.removed) == (len(new.keys() - old.keys()), len(old.keys() - new.keys()))
    assert found.added_examples == tuple(sorted(new.keys() - old.keys()))
    assert found.removed_examples == tuple(sorted(old.keys() - new.keys()))
    assert found.unchanged == sum(old[value] == new[value] for value in both)
    levels = range(1, min(len(earlier[0]), len(later[0])))
    assert [difference.level for difference in found.levels] == list(levels)
    for difference in found.levels:
        level = difference.level
        changed = [(v, old[v][level], new[v][level]) for v in both if old[v][level] != new[v][level]]
        before, after = ({row[level] for row in rows} for rows in (earlier, later))
        assert difference.examples == tuple(changed)
        assert difference.relabelled == len(changed)
        assert (difference.labels_added, difference.labels_removed) == (len(after - before), len(before - after))


def test_examples_only_as_many_as_asked_for(session: Session) -> None:
    one = hierarchies.create(session.ledger, "one", [("a", "x", "*"), ("b", "x", "*"), ("c", "x", "*")])
    other = hierarchies.create(session.ledger, "other", [("a", "y", "*"), ("b", "y", "*"), ("d", "y", "*")])
    found = compare(session.ledger, one, other, 1)
    assert (found.added_examples, found.removed_examples, found.levels[0].examples) == (
        ("d",),
        ("c",),
        (("a", "x", "y"),),
    )
    none = compare(session.ledger, one, other, 0)
    assert (none.added_examples, none.removed_examples, none.levels[0].examples) == ((), (), ())
    assert (none.added, none.removed, none.levels[0].relabelled) == (1, 1, 2)


def test_rows_come_back_in_their_order(session: Session) -> None:
    rows = [(str(number), f"{number // 100}…\n", "*") for number in reversed(range(12_345))]
    stored = hierarchies.create(session.ledger, "many", rows)
    assert list(hierarchies.rows(session.ledger, stored)) == rows
    pieces = list(hierarchies.batches(session.ledger, stored))
    assert list(chain.from_iterable(pieces)) == rows
    assert len(pieces) > 1


def test_a_version_keeps_where_it_was_first_stored_from(session: Session) -> None:
    rows = [("p", "*"), ("q", "*")]
    assert hierarchies.create(session.ledger, "kept", rows, "first.csv").origin == "first.csv"
    assert hierarchies.create(session.ledger, "kept", rows, "second.csv").origin == "first.csv"
    found: list[Stored] = hierarchies.page(session.ledger, ("kept", 2), 1)
    assert [(stored.reference, stored.origin) for stored in found] == [("kept@1", "first.csv")]
