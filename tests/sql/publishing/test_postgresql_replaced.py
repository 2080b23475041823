"""A published table is replaced by rows in place of rows: views, indexes and grants of its readers stay."""

from collections.abc import Iterator

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import BusyError, ConflictError
from tableveil.publishing.postgresql import PostgresqlTarget
from tests.migrated import opened
from tests.postgresql import Cluster
from tests.sql.publishing.test_postgresql import edition, publish, tables


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    yield from opened(tmp_path_factory.mktemp("publishing") / "test.duckdb")


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    with database.session() as found:
        found.execute("CREATE SCHEMA IF NOT EXISTS source")
        yield found


@pytest.fixture
def url(postgresql: Cluster) -> str:
    return postgresql.new_database()


def release(session: Session, url: str, columns: str, number: int) -> None:
    session.execute(f"CREATE OR REPLACE TABLE source.released AS SELECT {columns}")
    publish(session, url, edition(session, number=number))


def test_readers_keep_views_indexes_and_grants(session: Session, postgresql: Cluster, url: str) -> None:
    release(session, url, "1 AS a, 'x' AS b", 7)
    postgresql.rows(url, "DROP ROLE IF EXISTS auditor")
    for statement in (
        "CREATE VIEW theirs AS SELECT a FROM released",
        "CREATE VIEW upon AS SELECT max(a) FROM theirs",
        "CREATE INDEX quick ON released (a)",
        "CREATE ROLE auditor",
        "GRANT SELECT ON released TO auditor",
    ):
        postgresql.rows(url, statement)
    # A column comes, one that nobody reads goes, and the order is another one.
    release(session, url, "3.5 AS c, 2 AS a", 8)
    assert postgresql.rows(url, "SELECT * FROM upon") == [(2,)]
    assert postgresql.rows(url, "SELECT a, c::float FROM released") == [(2, 3.5)]
    assert postgresql.rows(url, "SELECT indexname::text FROM pg_indexes WHERE tablename = 'released'") == [("quick",)]
    assert postgresql.rows(url, "SELECT has_table_privilege('auditor', 'released', 'SELECT')") == [(True,)]
    PostgresqlTarget(url).remove(8)
    assert tables(postgresql, url) == set()
    assert postgresql.rows(url, "SELECT 1 FROM pg_views WHERE schemaname = 'public'") == []


def test_columns_that_views_read_and_that_go_away_are_named(session: Session, postgresql: Cluster, url: str) -> None:
    release(session, url, "1 AS a, 'x' AS b, 2 AS c, 3 AS d", 7)
    postgresql.rows(url, "CREATE SCHEMA bi")
    postgresql.rows(url, "CREATE VIEW bi.theirs AS SELECT a, b, d FROM released")
    with pytest.raises(ConflictError) as raised:
        release(session, url, "1 AS a, 2.5 AS d", 8)
    assert raised.value.code == "TARGET_IN_USE"
    assert [fault.found for fault in raised.value.faults] == [
        "a column 'b', which goes away, read by 'bi.theirs'",
        "a column 'd', of type integer, which becomes numeric(2,1), read by 'bi.theirs'",
    ]
    assert postgresql.rows(url, "SELECT * FROM bi.theirs") == [(1, "x", 3)]
    postgresql.rows(url, "DROP VIEW bi.theirs")
    release(session, url, "1 AS a, 2.5 AS d", 8)
    assert postgresql.rows(url, "SELECT a, d::float FROM released") == [(1, 2.5)]


def test_a_table_that_goes_away_is_named_with_its_readers(session: Session, postgresql: Cluster, url: str) -> None:
    release(session, url, "1 AS a", 7)
    postgresql.rows(url, "UPDATE tableveil_published SET table_name = 'released_labels'")
    postgresql.rows(url, "ALTER TABLE released RENAME TO released_labels")
    postgresql.rows(url, "CREATE VIEW theirs AS SELECT r FROM released_labels r")
    with pytest.raises(ConflictError, match=r"'released_labels'.*read by 'public.theirs'"):
        release(session, url, "1 AS a", 8)


@pytest.mark.parametrize(("labels", "taken"), [("'a', 'c'", True), ("'c', 'a'", False), ("'a', 'd'", False)])
def test_enums_that_views_read_take_labels_that_they_have(
    session: Session, postgresql: Cluster, url: str, labels: str, taken: bool
) -> None:
    release(session, url, "'a'::ENUM('a', 'b', 'c') AS e", 7)
    postgresql.rows(url, "CREATE VIEW theirs AS SELECT e FROM released")
    if taken:
        release(session, url, f"'c'::ENUM({labels}) AS e", 8)
        assert postgresql.rows(url, "SELECT e::text FROM theirs") == [("c",)]
        return
    with pytest.raises(ConflictError, match="'e', whose enum gets other labels, read by"):
        release(session, url, f"'a'::ENUM({labels}) AS e", 8)
    # Without the view, it has these labels and no others.
    postgresql.rows(url, "DROP VIEW theirs")
    postgresql.rows(url, "CREATE TABLE kept AS SELECT e FROM released")
    release(session, url, f"'a'::ENUM({labels}) AS e", 8)
    assert postgresql.rows(url, "SELECT enum_range(e)::text FROM released") == [
        (f"{{{labels}}}".replace("'", "").replace(" ", ""),)
    ]
    # The type of what others made of the rows stays with it.
    assert postgresql.rows(url, "SELECT e::text FROM kept") == [("a",)]
    PostgresqlTarget(url).remove(8)
    postgresql.rows(url, "DROP TABLE kept")
    PostgresqlTarget(url).remove(8)
    assert postgresql.rows(url, "SELECT 1 FROM pg_type WHERE typname LIKE 'tableveil%' AND typtype = 'e'") == []


def test_a_reader_in_the_middle_reads_what_was_there_and_holds_nothing_up(
    session: Session, postgresql: Cluster, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adbc_driver_postgresql import dbapi

    monkeypatch.setattr("tableveil.publishing.postgresql._LOCK_TIMEOUT", "10ms")
    release(session, url, "1 AS a", 7)
    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT a FROM released")
        assert cursor.fetchall() == [(1,)]
        release(session, url, "2 AS a", 8)
        cursor.execute("SELECT a FROM released")
        assert cursor.fetchall() == [(1,)]
        # Another column needs the table for itself: it is tried again.
        with pytest.raises(BusyError, match="55P03"):
            release(session, url, "2 AS a, 3 AS b", 9)


def test_a_role_that_is_named_no_longer_loses_what_it_was_given(
    session: Session, postgresql: Cluster, url: str
) -> None:
    for role in ("one", 'two, "2"', "gone"):
        quoted = role.replace('"', '""')
        postgresql.rows(url, f'DROP ROLE IF EXISTS "{quoted}"')
        postgresql.rows(url, f'CREATE ROLE "{quoted}"')
    release(session, f"{url}&grant=one&grant=two,%20%222%22&grant=gone", "1 AS a", 7)
    for of in ("released", "tableveil_published"):
        postgresql.rows(url, f"REVOKE ALL ON {of} FROM gone")
    postgresql.rows(url, "DROP ROLE gone")
    release(session, f"{url}&grant=one", "1 AS a", 8)
    readers = "SELECT grantee::text FROM information_schema.role_table_grants WHERE table_name = 'released'"
    assert postgresql.rows(url, f"{readers} AND grantee <> 'postgres'") == [("one",)]


def test_a_table_of_an_earlier_version_is_replaced_in_place(session: Session, postgresql: Cluster, url: str) -> None:
    session.execute("CREATE OR REPLACE TABLE source.released AS SELECT 'b'::ENUM('a', 'b') AS e")
    for statement in (
        "CREATE TYPE tableveil_0123456789abcdef_0_0 AS ENUM ('a', 'z')",
        "CREATE TABLE released (e tableveil_0123456789abcdef_0_0)",
        "CREATE TABLE tableveil_published (table_name text PRIMARY KEY, place text NOT NULL, release bigint NOT NULL, "
        "types text NOT NULL, published_at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO tableveil_published VALUES ('released', '\"source\".\"released\"', 6, "
        "'tableveil_0123456789abcdef_', '2026-01-01')",
        "CREATE VIEW theirs AS SELECT 1 FROM released",
    ):
        postgresql.rows(url, statement)
    publish(session, url, edition(session))
    assert postgresql.rows(url, "SELECT e::text FROM released") == [("b",)]
    assert postgresql.rows(url, "SELECT release, published_at > '2026-02-01' FROM tableveil_published") == [(7, True)]
    types = "SELECT count(*) FROM pg_type WHERE typname LIKE 'tableveil_0123456789abcdef%'"
    assert postgresql.rows(url, types) == [(0,)]


def test_rows_that_a_trigger_keeps_are_not_mixed_with_new_ones(session: Session, postgresql: Cluster, url: str) -> None:
    release(session, url, "1 AS a", 7)
    postgresql.rows(url, "CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    postgresql.rows(url, "CREATE TRIGGER kept BEFORE DELETE ON released FOR EACH ROW EXECUTE FUNCTION kept()")
    with pytest.raises(ConflictError, match="trigger"):
        release(session, url, "2 AS a", 8)
    assert postgresql.rows(url, "SELECT a FROM released") == [(1,)]
