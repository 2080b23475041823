"""A table's profile: the figures fit its values, and no value shows unless the client asks for it."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.backend import Database, Session
from tableveil.hierarchy import ValueKind
from tableveil.policy import TableReference
from tableveil.source import description
from tableveil.source.description import ColumnDescription, describe

TABLE = TableReference("test", "main", "t")

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    return shared_database


@given(st.lists(st.none() | TEXTS), st.integers(0, 3))
def test_figures_are_those_of_the_values(database: Database, texts: list[str | None], most: int) -> None:
    with database.session() as session:
        session.execute("CREATE OR REPLACE TABLE t (c VARCHAR)")
        with session.relation("rows_", pa.table({"c": pa.array(texts, pa.string())})):
            session.execute("INSERT INTO t FROM rows_")
        table = describe(session, TABLE, most)
    present = [text for text in texts if text is not None]
    # As bytes compare, so do characters.
    shown = sorted(Counter(present).items(), key=lambda item: (-item[1], item[0].encode()))[:most]
    lengths = [len(text) for text in present]
    assert table.rows == len(texts)
    assert table.columns == (
        ColumnDescription(
            name="c",
            type="VARCHAR",
            kind=ValueKind.TEXT,
            nulls=len(texts) - len(present),
            distinct=len(set(present)),
            distinct_exact=True,
            shortest=min(lengths, default=None),
            longest=max(lengths, default=None),
            minimum=min(present, key=str.encode, default=None) if most else None,
            maximum=max(present, key=str.encode, default=None) if most else None,
            values=tuple(shown),
        ),
    )


def test_any_type_and_any_name(session: Session) -> None:
    session.execute(
        """
        CREATE OR REPLACE TABLE t AS SELECT i % 7 AS "sel""ect; --", [i] AS "LIST", {'x': i} AS "stru.ct",
            map{i: i} AS "map", interval (i) minutes AS "a b", 'a'::ENUM('b', 'a') AS "é", '\\x00'::BLOB AS bytes,
            '101'::BIT AS bits, uuid() AS "uuid", '{"a": 1}'::JSON AS j, i / 7.0 AS f, NULL::DATE AS "none"
        FROM range(100) AS numbers(i)
        """
    )
    columns = describe(session, TABLE, 2).columns
    assert [column.name for column in columns[:6]] == ['sel"ect; --', "LIST", "stru.ct", "map", "a b", "é"]
    assert [column.kind is None for column in columns] == [False] + [True] * 4 + [False] * 7
    assert [column.distinct for column in columns] == [7, 100, 100, 100, 100, 1, 1, 1, 100, 1, 100, 0]
    assert columns[0].values == (("0", 15), ("1", 15))
    assert columns[2].values == (("{'x': 0}", 1), ("{'x': 10}", 1))
    assert columns[-1] == ColumnDescription("none", "DATE", ValueKind.DATE, 100, 0, True, None, None)


def test_no_value_shows_unasked(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE t (e ENUM('secret)', 'b'), s STRUCT(x ENUM('hidden')), v VARCHAR)")
    session.execute("INSERT INTO t VALUES ('b', {'x': 'hidden'}, 'unseen')")
    told = describe(session, TABLE)
    assert [column.type for column in told.columns] == ["ENUM", "STRUCT(x ENUM", "VARCHAR"]
    for value in ("secret", "hidden", "unseen"):
        assert value not in repr(told)


def test_collated_text_is_told_as_what_it_is(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE t (name VARCHAR COLLATE NOCASE)")
    session.execute("INSERT INTO t VALUES ('a'), ('A'), (NULL)")
    [column] = describe(session, TABLE).columns
    assert (column.type, column.kind, column.nulls) == ("VARCHAR COLLATE NOCASE", None, 1)


@pytest.mark.long
def test_a_wide_table(session: Session) -> None:
    session.execute(f"CREATE OR REPLACE TABLE t AS SELECT {', '.join(f'{j} AS c{j}' for j in range(450))}")
    assert [column.name for column in describe(session, TABLE).columns] == [f"c{j}" for j in range(450)]


def test_estimates_say_so(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "MOST_ROWS_COUNTED_EXACTLY", 99)
    session.execute("CREATE OR REPLACE TABLE t AS SELECT i, i % 3 AS few FROM range(100) AS numbers(i)")
    many, few = describe(session, TABLE).columns
    assert not many.distinct_exact
    assert 80 <= many.distinct <= 100
    assert few.distinct == 3
