"""PostgreSQL as a target: types and names arrive as they are or are refused, and nothing is ever half there."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from urllib.parse import quote

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import BusyError, ConflictError, InternalError, InvalidError, TableveilError
from tableveil.publishing import Edition
from tableveil.publishing.declared import declared_targets
from tableveil.publishing.edition import Item
from tableveil.publishing.postgresql import PostgresqlTarget
from tableveil.state.release_objects import ObjectKind
from tests.migrated import opened
from tests.once import once
from tests.postgresql import Cluster


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    yield from opened(tmp_path_factory.mktemp("publishing") / "test.duckdb")


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    """Its tables are gone after the test."""
    with database.session() as found:
        found.execute("CREATE SCHEMA IF NOT EXISTS source")
        yield found
        found.execute("DROP SCHEMA source CASCADE")


@pytest.fixture
def url(postgresql: Cluster) -> str:
    return postgresql.new_database()


def edition(session: Session, name: str = "released", number: int = 7, comment: str = "") -> Edition:
    """A table of the schema `source` as a release."""
    columns = tuple(session.described(f'FROM source."{name.replace(chr(34), chr(34) * 2)}"'))
    item = Item(name, ObjectKind.ROWS, columns, comment, {columns[0][0]: comment} if comment else {})
    return Edition(number, "source", name, date(2026, 11, 22), "0.1.0", ("5-anonymity",), 3, (item,))


def publish(session: Session, url: str, found: Edition, confirm: Callable[[], None] = lambda: None) -> None:
    PostgresqlTarget(url).publish(session, lambda: found, confirm)


def tables(postgresql: Cluster, url: str) -> set[str]:
    rows = postgresql.rows(url, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
    return {name for (name,) in rows} - {"tableveil_published"}


# The type here, a value, its type in PostgreSQL, and the value as a text there.
TYPES = [
    ("BOOLEAN", "true", "boolean", "true"),
    ("TINYINT", "-128", "smallint", "-128"),
    ("UTINYINT", "255", "smallint", "255"),
    ("SMALLINT", "-32768", "smallint", "-32768"),
    ("USMALLINT", "65535", "integer", "65535"),
    ("INTEGER", "-2147483648", "integer", "-2147483648"),
    ("UINTEGER", "4294967295", "bigint", "4294967295"),
    ("BIGINT", "9223372036854775807", "bigint", "9223372036854775807"),
    ("UBIGINT", "18446744073709551615", "numeric(20,0)", "18446744073709551615"),
    ("HUGEINT", "-99999999999999999999999999999999999999", "numeric(38,0)", "-" + "9" * 38),
    ("DECIMAL(4,1)", "-123.4", "numeric(4,1)", "-123.4"),
    ("DECIMAL(38,10)", "0.0000000001", "numeric(38,10)", "0.0000000001"),
    ("FLOAT", "'NaN'", "real", "NaN"),
    ("DOUBLE", "'-Infinity'", "double precision", "-Infinity"),
    ("VARCHAR", "'Zoë''s \\ \"☃\"'", "text", 'Zoë\'s \\ "☃"'),
    ("BLOB", "'\\x00\\xFF'", "bytea", "\\x00ff"),
    ("DATE", "'0044-03-15 (BC)'", "date", "0044-03-15 BC"),
    ("TIME", "'23:59:59.999999'", "time without time zone", "23:59:59.999999"),
    ("TIMESTAMP", "'1969-12-31 23:59:59.999999'", "timestamp without time zone", "1969-12-31 23:59:59.999999"),
    ("TIMESTAMP_S", "'2000-01-01 00:00:01'", "timestamp without time zone", "2000-01-01 00:00:01"),
    ("TIMESTAMP_MS", "'2000-01-01 00:00:00.001'", "timestamp without time zone", "2000-01-01 00:00:00.001"),
    ("TIMESTAMPTZ", "'2020-02-29 12:00:00+02'", "timestamp with time zone", "2020-02-29 10:00:00+00"),
    ("INTERVAL", "'14 months 3 days 00:00:00.000001'", "interval", "1 year 2 mons 3 days 00:00:00.000001"),
    ("UUID", "'00112233-4455-6677-8899-aabbccddeeff'", "uuid", "00112233-4455-6677-8899-aabbccddeeff"),
    ("JSON", """'{"a": [1, null]}'""", "json", '{"a": [1, null]}'),
    ("SMALLINT[]", "[1, NULL, -2]", "smallint[]", "{1,NULL,-2}"),
    ("INTEGER[]", "[]", "integer[]", "{}"),
    ("BIGINT[]", "[1]", "bigint[]", "{1}"),
    ("BOOLEAN[]", "[true]", "boolean[]", "{t}"),
    ("FLOAT[]", "[1.5]", "real[]", "{1.5}"),
    ("DOUBLE[]", "[1.5]", "double precision[]", "{1.5}"),
    ("VARCHAR[]", "['a,b', '\"', NULL]", "text[]", '{"a,b","\\"",NULL}'),
]


def test_types_arrive_one_for_one(session: Session, postgresql: Cluster, url: str) -> None:
    values = ", ".join(f"CAST({value} AS {type_}) AS c{i}" for i, (type_, value, *_) in enumerate(TYPES))
    nulls = ", ".join(f"NULL::{type_} AS c{i}" for i, (type_, *_) in enumerate(TYPES))
    session.execute(f"CREATE TABLE source.released AS SELECT {values} UNION ALL SELECT {nulls}")
    publish(session, url, edition(session))
    types = postgresql.rows(
        url,
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'released'::regclass "
        "AND attnum > 0 ORDER BY attnum",
    )
    assert [type_ for (type_,) in types] == [type_ for *_, type_, _ in TYPES]
    texts = ", ".join(f"c{i}::text" for i in range(len(TYPES)))
    found = postgresql.rows(url, f"SELECT {texts} FROM released")
    assert found == [tuple(text for *_, text in TYPES), (None,) * len(TYPES)]


def test_enums_arrive_with_their_order_and_go_with_their_table(session: Session, postgresql: Cluster, url: str) -> None:
    session.execute(
        "CREATE TABLE source.released AS SELECT unnest(['it''s', 'b,c'])::ENUM('it''s', 'b,c') AS \"é\"\"\""
    )
    for number in (7, 7, 8):
        publish(session, url, edition(session, number=number))
    assert postgresql.rows(url, 'SELECT array_agg("é"""::text ORDER BY "é""" DESC) FROM released') == [
        (["b,c", "it's"],)
    ]
    enums = "SELECT count(*) FROM pg_type WHERE typname LIKE 'tableveil_%' AND typtype = 'e'"
    assert postgresql.rows(url, enums) == [(1,)]
    PostgresqlTarget(url).remove(8)
    assert (postgresql.rows(url, enums), tables(postgresql, url)) == ([(0,)], set())


UNFIT = [
    "TIMESTAMP_NS",
    "TIMETZ",
    "UHUGEINT",
    "BIT",
    "STRUCT(a INTEGER)",
    "MAP(INTEGER, INTEGER)",
    "INTEGER[3]",
    "DATE[]",
    "INTEGER[][]",
    f"ENUM('{'x' * 64}')",
]


def test_types_that_do_not_fit_are_all_named(session: Session, postgresql: Cluster, url: str) -> None:
    columns = ", ".join(f"c{i} {type_}" for i, type_ in enumerate(UNFIT))
    session.execute(f"CREATE TABLE source.released (fits INTEGER, {columns})")
    with pytest.raises(InvalidError) as raised:
        publish(session, url, edition(session))
    assert raised.value.code == "TARGET_UNFIT"
    assert [fault.found.split(" of type ")[0] for fault in raised.value.faults] == [
        f"a column 'c{i}'" for i in range(len(UNFIT))
    ]
    assert tables(postgresql, url) == set()


@pytest.mark.parametrize("fits", [True, False])
def test_names_have_at_most_63_bytes(session: Session, postgresql: Cluster, url: str, fits: bool) -> None:
    # 21 characters of three bytes each.
    name = "☃" * 20 + ("abc" if fits else "abcd")
    session.execute(f'CREATE TABLE source."{name}" ("{name}" INTEGER)')
    if fits:
        publish(session, url, edition(session, name))
        assert postgresql.rows(url, f'SELECT "{name}" FROM "{name}"') == []
    else:
        with pytest.raises(InvalidError) as raised:
            publish(session, url, edition(session, name))
        assert [fault.field for fault in raised.value.faults] == ["release.name", f"'{name}'"]


def test_names_and_comments_may_hold_anything(session: Session, postgresql: Cluster, url: str) -> None:
    name = "a\"; DROP TABLE x; -- 'é\\"
    quoted = '"' + name.replace('"', '""') + '"'
    session.execute(f"CREATE TABLE source.{quoted} AS SELECT 1 AS {quoted}")
    postgresql.rows(url, f"CREATE SCHEMA {quoted}")
    postgresql.rows(url, f"CREATE ROLE {quoted}")
    target = f"{url}&schema={quote(name)}&grant={quote(name)}"
    publish(session, target, edition(session, name, comment=name))
    assert postgresql.rows(url, f"SELECT {quoted} FROM {quoted}.{quoted}") == [(1,)]
    comments = postgresql.rows(url, "SELECT description FROM pg_description WHERE description LIKE '%DROP%'")
    assert comments == [(name,), (name,)]
    privileges = "SELECT privilege_type::text, grantee::text FROM information_schema.role_table_grants WHERE grantee "
    assert set(postgresql.rows(url, f"{privileges} LIKE '%DROP%'")) == {("SELECT", name)}


@pytest.mark.parametrize("columns", [1600, 1601])
def test_1600_columns(session: Session, postgresql: Cluster, url: str, columns: int) -> None:
    made = ", ".join(f"{i % 100}::TINYINT AS c{i}" for i in range(columns))
    session.execute(f"CREATE TABLE source.released AS SELECT {made}")
    if columns == 1600:
        publish(session, url, edition(session))
        assert postgresql.rows(url, "SELECT c1599 FROM released") == [(99,)]
    else:
        with pytest.raises(InvalidError, match="1,601 columns"):
            publish(session, url, edition(session))


@pytest.mark.parametrize(
    "values",
    [
        "'infinity'::TIMESTAMP",
        "'-infinity'::DATE",
        "'Miller' || chr(0)",
        "'10000-01-01 (BC)'::DATE",
        "'10000-01-01 (BC)'::TIMESTAMP",
    ],
)
def test_values_that_do_not_fit_are_refused_and_not_told(
    session: Session, postgresql: Cluster, url: str, values: str
) -> None:
    session.execute(f"CREATE TABLE source.released AS SELECT {values} AS named")
    with pytest.raises(InvalidError) as raised:
        publish(session, url, edition(session))
    assert raised.value.code == "VALUES_REFUSED"
    assert "Miller" not in str(raised.value)
    assert tables(postgresql, url) == set()


def test_a_system_column_is_refused_by_name(session: Session, url: str) -> None:
    session.execute("CREATE TABLE source.released (ctid INTEGER)")
    with pytest.raises(InvalidError, match="'ctid'"):
        publish(session, url, edition(session))


def test_what_others_made_is_never_replaced(session: Session, postgresql: Cluster, url: str) -> None:
    session.execute("CREATE TABLE source.released AS SELECT 1 AS a")
    postgresql.rows(url, "CREATE TABLE released AS SELECT 'theirs' AS a")
    with pytest.raises(ConflictError) as raised:
        publish(session, url, edition(session))
    assert raised.value.code == "TARGET_OCCUPIED"
    PostgresqlTarget(url).remove(7)
    assert postgresql.rows(url, "SELECT a FROM released") == [("theirs",)]


def test_a_dot_in_a_name_takes_no_place_of_others(session: Session, postgresql: Cluster, url: str) -> None:
    session.execute('CREATE TABLE source."b.released" AS SELECT 1 AS a')
    found = edition(session, "b.released")
    publish(session, url, found)
    publish(session, url, replace(found, number=8, schema="source.b", name="released", items=()))
    assert tables(postgresql, url) == {"b.released"}


@pytest.mark.parametrize("step", once(["_write", "_prepare", "_drop_unused_types", "confirm"]))
def test_a_server_that_dies_in_the_middle_has_what_it_had(
    session: Session, postgresql: Cluster, url: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    session.execute("CREATE TABLE source.released AS SELECT i AS a FROM range(100000) r(i)")
    publish(session, url, edition(session, number=6))
    session.execute("UPDATE source.released SET a = -a")
    target = PostgresqlTarget(url)
    if step != "confirm":
        done = getattr(target, step)

        def dying(*arguments: object) -> None:
            done(*arguments)
            postgresql.crash()

        monkeypatch.setattr(target, step, dying)
    with pytest.raises(BusyError) as raised:
        target.publish(session, lambda: edition(session), postgresql.crash if step == "confirm" else lambda: None)
    assert raised.value.code == "TARGET_UNREACHABLE"
    monkeypatch.undo()
    with pytest.raises(BusyError):
        target.publish(session, lambda: edition(session), lambda: None)
    postgresql.start()
    assert postgresql.rows(url, "SELECT sum(a)::bigint FROM released") == [(sum(range(100000)),)]
    target.publish(session, lambda: edition(session), lambda: None)
    assert postgresql.rows(url, "SELECT sum(a)::bigint FROM released") == [(-sum(range(100000)),)]
    assert tables(postgresql, url) == {"released"}


def test_a_withdrawal_in_the_middle_leaves_nothing(session: Session, postgresql: Cluster, url: str) -> None:
    session.execute("CREATE TABLE source.released AS SELECT 1 AS a")

    def withdrawn() -> None:
        raise ConflictError("RELEASE_TAKEN_BACK", "it was withdrawn")

    with pytest.raises(ConflictError):
        publish(session, url, edition(session), withdrawn)
    assert tables(postgresql, url) == set()


def test_missing_rights_and_roles_are_told_by_their_state(session: Session, postgresql: Cluster, url: str) -> None:
    session.execute("CREATE TABLE source.released AS SELECT 1 AS a")
    for option, state in (("grant=nobody_here", "42704"), ("schema=not_there", "3F000")):
        with pytest.raises(InternalError, match=state):
            publish(session, f"{url}&{option}", edition(session))
    assert tables(postgresql, url) == set()


def test_passwords_come_by_the_ways_of_libpq(
    session: Session, postgresql: Cluster, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("CREATE TABLE source.released AS SELECT 1 AS a")
    postgresql.rows(url, "CREATE ROLE publisher LOGIN PASSWORD 'hush-hush'")
    postgresql.rows(url, "GRANT CREATE ON SCHEMA public TO publisher")
    theirs = url.replace("postgres@", "publisher@")
    with pytest.raises(BusyError) as raised:
        publish(session, theirs, edition(session))
    assert "hush" not in str(raised.value)
    file = tmp_path / "pgpass"
    file.write_text("*:*:*:publisher:hush-hush\n")
    file.chmod(0o600)
    monkeypatch.setitem(os.environ, "PGPASSFILE", str(file))
    publish(session, theirs, edition(session))
    assert tables(postgresql, url) == {"released"}


@pytest.mark.parametrize(
    "url_",
    [
        *("postgresql://ann:hush-hush@clinic/db", "postgresql:///db?password=hush-hush"),
        # libpq takes them, other readers of URLs end in them.
        *("postgresql://ann:hush#hush@clinic/db", "postgresql://ann:hush?hush@clinic/db"),
        "postgresql:///db#?pass%77ord=hush-hush",
    ],
)
def test_a_url_with_a_password_is_refused_with_a_hint(url_: str) -> None:
    with pytest.raises(InvalidError) as raised:
        declared_targets([f"warehouse={url_}"])
    (fault,) = raised.value.faults
    assert (fault.field, "PGPASSFILE" in fault.hint, "hush" in str(raised.value)) == ("publish", True, False)


@pytest.mark.parametrize(
    "declarations", [["shelf"], ["=directory:/tmp"], ["shelf=ftp://ann:hush-hush@clinic"], ["a b=directory:/tmp"]]
)
def test_other_declarations_are_refused_without_their_text(declarations: Sequence[str]) -> None:
    with pytest.raises(TableveilError) as raised:
        declared_targets(declarations)
    assert (raised.value.code, "hush" in str(raised.value)) == ("TARGET_INVALID", False)
