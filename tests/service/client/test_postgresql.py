"""Rows of a real PostgreSQL: what arrives, and what is refused by name."""

from decimal import Decimal

import pyarrow as pa
import pytest

from tableveil.client.failures import UnreachableError
from tableveil.client.postgresql import postgresql_rows, source_name
from tableveil.errors import InvalidError
from tests.postgresql import Cluster

VALUES = {
    "bool": ("true", pa.bool_()),
    "int2": ("-1", pa.int16()),
    "int4": ("2", pa.int32()),
    "int8": ("9223372036854775807", pa.int64()),
    "float4": ("'-infinity'", pa.float32()),
    "float8": ("'NaN'", pa.float64()),
    "numeric(10,2)": ("1.50", pa.decimal128(10, 2)),
    "numeric(3,5)": ("0.00123", pa.decimal128(5, 5)),
    "numeric(3,-2)": ("1200", pa.decimal128(5, 0)),
    "numeric(38,20)": ("-1.5", pa.decimal128(38, 20)),
    "text": ("'größe 表'", pa.string()),
    "varchar(9)": ("''", pa.string()),
    "char(3)": ("'a'", pa.string()),
    "mood": ("'fine'", pa.string()),
    "positive": ("2.5", pa.decimal128(6, 1)),
    "bytea": ("'\\x00ff'", pa.binary()),
    "date": ("'4713-11-24 BC'", pa.date32()),
    "timestamp": ("'2024-02-29 12:30'", pa.timestamp("us")),
    "timestamptz": ("'2024-02-29 12:30+02'", pa.timestamp("us", "UTC")),
    "time": ("'24:00'", pa.time64("us")),
    "interval": ("'1 month 2 days'", pa.month_day_nano_interval()),
    "uuid": ("'a1dcc652-1666-452b-8114-3eeb1c9598a6'", pa.uuid()),
    "jsonb": ("'{\"a\": 1}'", pa.json_()),
}


@pytest.fixture(scope="module")
def url(postgresql: Cluster) -> str:
    url = postgresql.new_database()
    postgresql.rows(url, "CREATE TYPE mood AS ENUM ('bad', 'fine')")
    postgresql.rows(url, "CREATE DOMAIN positive AS numeric(6,1) CHECK (value > 0)")
    return url


def read(url: str, query: str) -> pa.Table:
    with postgresql_rows(url, query=query) as reader:
        found: pa.Table = reader.read_all()
    return found


def refused(url: str, table: str = "", query: str = "") -> InvalidError:
    with pytest.raises(InvalidError) as raised, postgresql_rows(url, table, query) as reader:
        reader.read_all()
    return raised.value


def test_types(postgresql: Cluster, url: str) -> None:
    columns = ", ".join(f'{value}::{type_} AS "{type_}"' for type_, (value, _) in VALUES.items())
    postgresql.rows(url, f'CREATE TABLE "of All.types" AS SELECT {columns}')
    postgresql.rows(url, 'INSERT INTO "of All.types" DEFAULT VALUES')
    with postgresql_rows(url, "public.of All.types") as reader:
        found = reader.read_all()
    assert dict(zip(found.schema.names, found.schema.types, strict=True)) == {n: t for n, (_, t) in VALUES.items()}
    assert [column.null_count for column in found.columns] == [1] * len(VALUES)
    as_text = [f'"{name}"::text' for name in VALUES if name.startswith(("numeric", "char", "mood", "positive"))]
    for text in as_text:
        ((expected,),) = postgresql.rows(url, f'SELECT {text} FROM "of All.types" WHERE "int2" = -1')
        name = text.split('"')[1]
        own = found[name][0].as_py()
        assert (Decimal(expected) == own) if isinstance(own, Decimal) else (expected == own.rstrip()), name


def test_undeclared_numbers_hold_all_digits(url: str) -> None:
    numbers = (
        "SELECT * FROM (VALUES (1.5, 12345678901234567890.12, 0.000::numeric, NULL::numeric), (200, 1, 0, NULL)) "
        "v(a, b, c, d)"
    )
    found = read(url, numbers + "; ")
    assert list(map(str, found.schema.types)) == [
        "decimal128(18, 1)",
        "decimal128(38, 2)",
        "decimal128(18, 3)",
        "decimal128(18, 0)",
    ]
    assert found["b"].to_pylist() == [Decimal("12345678901234567890.12"), 1]
    (fault,) = refused(url, query="SELECT 1e30::numeric + 1e-10 AS big -- a comment").faults
    assert (fault.field, "41 digits" in fault.found) == ("'big'", True)


@pytest.mark.parametrize(
    "type_", ["int4[]", "inet", "money", "oid", "timetz", "int4range", "bit(2)", "xml", "tsvector", "point"]
)
def test_types_that_are_refused(url: str, type_: str) -> None:
    error = refused(url, query=f"SELECT 1 AS fits, NULL::{type_} AS other")
    assert [fault.field for fault in error.faults] == ["'other'"]
    assert error.code == "POSTGRESQL_TYPES"


@pytest.mark.parametrize(
    "value",
    [
        *(
            f"'{sign}infinity'::{type_}"
            for sign in ("", "-")
            for type_ in ("date", "timestamp", "timestamptz", "numeric")
        ),
        *("'NaN'::numeric", "'NaN'::numeric(9,2)", "'294270-01-01'::timestamp"),
    ],
)
def test_values_that_are_refused(url: str, value: str) -> None:
    error = refused(url, query=f"SELECT 1 AS fits, {value} AS other")
    assert [fault.field for fault in error.faults] == ["'other'"]
    assert error.code == "POSTGRESQL_VALUES"


def test_many_columns_with_long_names(postgresql: Cluster, url: str) -> None:
    names = [f"{'ü' * 27}{i:09}" for i in range(1600)]
    postgresql.rows(url, f"CREATE TABLE wide ({', '.join(f'{name} numeric' for name in names)})")
    postgresql.rows(url, "INSERT INTO wide DEFAULT VALUES")
    with postgresql_rows(url, "wide") as reader:
        found = reader.read_all()
    assert (found.schema.names, found.num_rows) == (names, 1)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * FROM nowhere", "nowhere"),
        ("DELETE FROM pg_class", "at least one"),
        ("SELECT nextval('counted')", "an error"),
        ("SELECT 1; SELECT 2", "42601"),
        ('SELECT 1 AS a, 2 AS "A"', "differ"),
        ("", "neither"),
    ],
)
def test_queries_that_are_refused(postgresql: Cluster, url: str, query: str, told: str) -> None:
    postgresql.rows(url, "CREATE SEQUENCE IF NOT EXISTS counted")
    assert told in str(refused(url, query=query))


def test_values_are_in_no_error(url: str) -> None:
    error = refused(url, query="SELECT CASE WHEN i < 9 THEN '1' ELSE 'Miller' END::int FROM generate_series(1, 9) g(i)")
    assert error.code == "POSTGRESQL_REFUSED"
    assert "Miller" not in str(error)


def test_it_ends_in_the_middle(postgresql: Cluster, url: str) -> None:
    def read_on() -> None:
        query = "SELECT i, md5(i::text) FROM generate_series(1, 10000000) g(i)"
        with postgresql_rows(url, query=query) as reader:
            for first, _ in enumerate(reader):
                if not first:
                    postgresql.crash()

    with pytest.raises(UnreachableError) as raised:
        read_on()
    postgresql.start()
    assert raised.value.code == "POSTGRESQL_UNREACHABLE"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:secret@db/clinic",
        "postgres://ann:secret@one:5432,two:5433/clinic",
        "postgresql://ann@db/clinic?password=secret",
        "postgresql://ann@db/clinic?sslmode=require&p%61ssword=secret",
        "postgresql://ann@db/clinic?sslpassword=secret",
        "postgresql://ann@db/clinic?oauth_client_secret=secret",
    ],
)
def test_passwords_in_urls(url: str) -> None:
    error = refused(url, "visits")
    assert error.code == "POSTGRESQL_PASSWORD"
    assert "PGPASSFILE" in error.faults[0].hint
    assert "secret" not in str(error) + source_name(url, "visits", "") + source_name(url, "", "SELECT 1")


def test_passwords_by_files(
    postgresql: Cluster, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    postgresql.rows(url, "CREATE ROLE reader LOGIN PASSWORD 'p'")
    as_reader = url.replace("postgres@", "reader@")
    with pytest.raises(UnreachableError), postgresql_rows(as_reader, query="SELECT 1 AS a"):
        pass
    file = tmp_path_factory.mktemp("passwords") / "pgpass"
    file.write_text("*:*:*:reader:p\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert read(as_reader, "SELECT current_user::text AS who")["who"].to_pylist() == ["reader"]


def test_names_of_sources() -> None:
    of = "postgresql://ann@db:5432/clinic?sslkey=/home/ann/key&service=s"
    assert source_name(of, "a.visits", "") == "postgresql://db:5432/clinic?service=s a.visits"
    assert source_name(of, "", "SELECT 1") != source_name(of, "", "SELECT 2")
    assert source_name("postgresql:///clinic?host=/tmp", "v", "") == "postgresql:///clinic?host=%2Ftmp v"
