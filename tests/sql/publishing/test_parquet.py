"""Parquet as a target: types, partitions, and the few facts in the metadata."""

import stat
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.errors import InvalidError
from tableveil.publishing import Edition
from tableveil.publishing.declared import declared_targets
from tableveil.publishing.edition import Item
from tableveil.publishing.parquet import ParquetTarget
from tableveil.state.release_objects import ObjectKind
from tests.migrated import opened

TYPES = {
    "BOOLEAN": "true",
    "UTINYINT": "255",
    "BIGINT": "-9223372036854775808",
    "UBIGINT": "18446744073709551615",
    "HUGEINT": "-" + "9" * 38,
    "DECIMAL(38,10)": "0.0000000001",
    "DOUBLE": "-inf",
    "VARCHAR": "Zoë's ☃",
    "BLOB": "\\x00\\xFF",
    "DATE": "infinity",
    "TIME": "23:59:59.999999",
    "TIMESTAMP": "-infinity",
    "TIMESTAMP_NS": "2000-01-01 00:00:00.123456789",
    "TIMESTAMP WITH TIME ZONE": "2020-02-29 10:00:00+00",
    "UUID": "00112233-4455-6677-8899-aabbccddeeff",
    "ENUM('BIT', 'b')": "BIT",
    "JSON": '{"a": [1, null]}',
    "INTEGER[]": "[1, NULL]",
    "STRUCT(a INTEGER)": "{'a': 1}",
}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session in whose database the directory `lake` may be written."""
    (tmp_path / "lake").mkdir()
    for made in opened(tmp_path / "test.duckdb"):
        made.close()
    database = Database(Settings(tmp_path / "test.duckdb", threads=1, directories=(tmp_path / "lake",)))
    with database.session() as found:
        yield found
    database.close()


def edition(session: Session) -> Edition:
    item = Item("released", ObjectKind.ROWS, tuple(session.described("FROM main.released")), "", {})
    return Edition(7, "main", "released", date(2026, 11, 22), "0.1.0", ("5-anonymity", "2-diversity"), 3, (item,))


def publish(session: Session, target: ParquetTarget) -> None:
    target.publish(session, lambda: edition(session), lambda: None)


def test_values_and_facts_arrive(session: Session, tmp_path: Path) -> None:
    columns = ", ".join(f"CAST($${value}$$ AS {type_}) AS c{i}" for i, (type_, value) in enumerate(TYPES.items()))
    session.execute(f"CREATE TABLE released AS SELECT {columns} UNION ALL SELECT {', '.join(['NULL'] * len(TYPES))}")
    publish(session, ParquetTarget(tmp_path / "lake"))
    file = tmp_path / "lake" / "main.released" / "released.parquet"
    texts = ", ".join(f"c{i}::VARCHAR" for i in range(len(TYPES)))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(f"SELECT {texts} FROM read_parquet($1)", [str(file)]).fetchall()
    assert found == session.rows(f"SELECT {texts} FROM released")
    assert stat.S_IMODE(file.stat().st_mode) == 0o440
    metadata = pq.read_metadata(file).metadata
    assert {name: value for name, value in metadata.items() if not name.startswith(b"ARROW")} == {
        b"release": b"releases/7",
        b"models": b"5-anonymity; 2-diversity",
        b"suppressed_records": b"3",
        b"tableveil": b"0.1.0",
        b"released": b"2026-11-22",
    }


def test_the_functions_of_analysts_lie_beside_the_files(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE released AS SELECT '[20, 29]' AS age, 20 AS age_from, 29 AS age_to")
    publish(session, ParquetTarget(tmp_path / "lake"))
    files = tmp_path / "lake" / "main.released"
    with duckdb.connect() as connection:
        connection.execute((files / "functions.sql").read_text(encoding="utf-8"))
        mean = f"SELECT tv_mean(age, age_from, age_to) FROM '{files / 'released.parquet'}'"
        assert connection.execute(mean).fetchall() == [({"estimated": 24.5, "low": 20, "high": 29, "open_ends": 0},)]
    assert stat.S_IMODE((files / "functions.sql").stat().st_mode) == 0o440


def test_rows_are_partitioned_if_asked(session: Session, tmp_path: Path) -> None:
    session.execute(
        "CREATE TABLE released AS SELECT i AS charge, ['[0, 5[/x', NULL, 'é'][i % 3 + 1] AS region, i % 2 AS y "
        "FROM range(12) r(i)"
    )
    publish(session, ParquetTarget(tmp_path / "lake", ("region", "y")))
    files = list((tmp_path / "lake" / "main.released" / "released.parquet").rglob("*.parquet"))
    assert len(files) == 6
    with duckdb.connect() as connection:
        query = "SELECT charge, region, y FROM read_parquet($1, hive_partitioning = true) ORDER BY charge"
        found = connection.execute(query, [list(map(str, files))]).fetchall()
    assert found == session.rows("FROM released ORDER BY charge")


@pytest.mark.parametrize(
    ("type_", "partition_by"),
    [
        ("UHUGEINT", ()),
        ("BIT", ()),
        ("TIMETZ", ()),
        ("INTERVAL", ()),
        ("STRUCT(a HUGEINT)", ()),
        ("INTEGER", ("region",)),
        ("INTEGER", ("a",)),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    session: Session, tmp_path: Path, type_: str, partition_by: tuple[str, ...]
) -> None:
    session.execute(f"CREATE TABLE released (a {type_})")
    with pytest.raises(InvalidError) as raised:
        publish(session, ParquetTarget(tmp_path / "lake", partition_by))
    assert raised.value.code == "TARGET_UNFIT"
    assert "released" in raised.value.faults[0].field
    assert not list((tmp_path / "lake").iterdir())


def test_partitions_are_declared_by_the_operator(tmp_path: Path) -> None:
    (target,) = declared_targets([f"lake=parquet:{tmp_path}?partition_by=a&partition_by=b_1"]).values()
    assert isinstance(target, ParquetTarget)
    assert target._partition_by == ("a", "b_1")
    # Readers would find a column of another name: paths hold other characters in an encoding.
    for wrong in ("compression=none", "partition_by=b%20c", "partition_by=", "x"):
        with pytest.raises(InvalidError, match="partition_by"):
            declared_targets([f"lake=parquet:{tmp_path}?{wrong}"])
