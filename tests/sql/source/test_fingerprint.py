"""The fingerprint changes with any value, name, type and key, and not with the order of rows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.backend import Database, Session
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import fingerprint, full_fingerprint, resolve_source

KEY = b"k" * 32


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def mark(session: Session, definition: str, rows: str, key: bytes = KEY, name: str = "t") -> str:
    """The fingerprint of a table of `definition` with the rows of a VALUES list."""
    session.execute(f"CREATE OR REPLACE TABLE {name} ({definition})")
    session.execute(f"INSERT INTO {name} VALUES {rows}")
    policy = Policy(
        source=TableReference("", "main", name),
        attributes=(AttributePolicy("a", Role.SENSITIVE),),
        person_column=None,
        privacy_models=(KAnonymity(2),),
        release=ReleaseTarget("main", "out"),
        default_role=Role.SENSITIVE,
    )
    source, _, _ = resolve_source(session, policy)
    assert source is not None
    return fingerprint(session, source, key)


ROWS = "(1, 'x'), (2, 'y'), (2, 'y'), (NULL, 'z')"


def test_same_rows_in_any_order_and_table(session: Session) -> None:
    first = mark(session, "a INTEGER, b VARCHAR", ROWS)
    assert mark(session, "a INTEGER, b VARCHAR", "(NULL, 'z'), (2, 'y'), (1, 'x'), (2, 'y')") == first
    assert mark(session, "a INTEGER, b VARCHAR", ROWS, name="other") == first
    assert len(first) == 64


@pytest.mark.parametrize(
    ("definition", "rows"),
    [
        pytest.param("a INTEGER, b VARCHAR", "(1, 'x'), (2, 'y'), (2, 'y'), (NULL, 'Z')", id="a text"),
        pytest.param("a INTEGER, b VARCHAR", "(3, 'x'), (2, 'y'), (2, 'y'), (NULL, 'z')", id="a number"),
        pytest.param("a INTEGER, b VARCHAR", "(1, 'x'), (2, 'y'), (2, 'y'), (0, 'z')", id="a NULL"),
        pytest.param("a INTEGER, b VARCHAR", "(1, 'x'), (2, 'y'), (2, 'y'), (NULL, NULL)", id="another NULL"),
        pytest.param("a INTEGER, b VARCHAR", "(1, 'x'), (2, 'y'), (NULL, 'z')", id="a row less"),
        pytest.param("a INTEGER, b VARCHAR", "(1, 'x'), (2, 'y'), (2, 'y'), (2, 'y'), (NULL, 'z')", id="a row more"),
        pytest.param("a INTEGER, b VARCHAR", "(1, 'x'), (1, 'x'), (2, 'y'), (NULL, 'z')", id="another row twice"),
        pytest.param("a INTEGER, b VARCHAR", "(2, 'x'), (1, 'y'), (2, 'y'), (NULL, 'z')", id="values swapped"),
        pytest.param("a INTEGER, c VARCHAR", ROWS, id="a name"),
        pytest.param("a BIGINT, b VARCHAR", ROWS, id="a type"),
        pytest.param("a INTEGER, b VARCHAR, c INTEGER DEFAULT 1", ROWS.replace("')", "', 1)"), id="a column"),
    ],
)
def test_changes_with_anything(session: Session, definition: str, rows: str) -> None:
    assert mark(session, definition, rows) != mark(session, "a INTEGER, b VARCHAR", ROWS)


def test_changes_with_the_order_of_columns(session: Session) -> None:
    first = mark(session, "a VARCHAR, b VARCHAR", "('x', 'y')")
    assert mark(session, "b VARCHAR, a VARCHAR", "('x', 'y')") != first


def test_says_nothing_without_the_key(session: Session) -> None:
    assert mark(session, "a INTEGER, b VARCHAR", ROWS, b"j" * 32) != mark(session, "a INTEGER, b VARCHAR", ROWS, KEY)


def test_infinite_numbers_warn_of_nothing(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE t AS SELECT i AS a, if(i < 9, 'inf'::DOUBLE, i) AS b FROM range(20) r(i)")
    target = ReleaseTarget("main", "out")
    policy = Policy(TableReference("", "main", "t"), (), None, (KAnonymity(2),), target, Role.INSENSITIVE)
    source, _, _ = resolve_source(session, policy)
    assert source is not None
    assert full_fingerprint(session, source, KEY).sketch is not None


def test_empty_tables_differ_by_their_shape(session: Session) -> None:
    none = "(1) LIMIT 0"
    assert mark(session, "a INTEGER", none) == mark(session, "a INTEGER", none)
    assert mark(session, "a INTEGER", none) != mark(session, "a BIGINT", none)


Rows = list[tuple[int | None, str | None]]
rows = st.lists(st.tuples(st.integers(0, 3) | st.none(), st.sampled_from("xyz") | st.none()), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(first=rows, second=rows)
def test_equal_exactly_if_the_rows_are(shared_database: Database, first: Rows, second: Rows) -> None:
    def literal(value: int | str | None) -> str:
        return "NULL" if value is None else repr(value)

    with shared_database.session() as session:
        marks = [
            mark(session, "a INTEGER, b VARCHAR", ", ".join(f"({literal(a)}, {literal(b)})" for a, b in found))
            for found in (first, second)
        ]
    assert (marks[0] == marks[1]) == (sorted(first, key=repr) == sorted(second, key=repr))
