"""Spark by itself: a server that is absent, refuses, is old or is killed, and tables that change or are odd."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pyarrow import parquet

from tableveil.backend import Session, WarehouseSession, column, drop, in_order, table
from tableveil.errors import BusyError, ConflictError, InvalidError
from tableveil.spark import SparkWarehouse
from tableveil.spark.local import LocalServer
from tests.warehouses.conftest import MOST_COLLECTED, query, tree

# PySpark is imported by the session, where it is installed.
pytestmark = pytest.mark.usefixtures("spark_url")


@pytest.fixture(scope="module")
def lake(spark_url: str, embedded: Session) -> SparkWarehouse:
    warehouse = SparkWarehouse("lake", spark_url, MOST_COLLECTED)
    with warehouse.session(embedded) as session:
        session.execute(tree("CREATE SCHEMA IF NOT EXISTS faults"))
    return warehouse


# --- servers --------------------------------------------------------------------------------------------------------


def test_an_absent_server(embedded: Session) -> None:
    started = time.monotonic()
    with pytest.raises(BusyError) as raised:
        SparkWarehouse("lake", "sc://127.0.0.1:9", MOST_COLLECTED).session(embedded)
    assert raised.value.code == "WAREHOUSE_UNAVAILABLE"
    # It is tried again for some seconds; PySpark itself would go on for ten minutes.
    assert time.monotonic() - started < 60


def test_a_token_that_is_refused(spark_url: str, embedded: Session) -> None:
    with pytest.raises(InvalidError) as raised:
        SparkWarehouse("lake", f"{spark_url}x", MOST_COLLECTED).session(embedded)
    assert raised.value.code == "WAREHOUSE_REFUSED"
    assert spark_url.rpartition("=")[2] not in str(raised.value)


def test_an_old_server(lake: SparkWarehouse, embedded: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableveil.spark.connection.OLDEST", (99, 0))
    with pytest.raises(InvalidError, match="expected Spark 99") as raised:
        lake.session(embedded)
    assert raised.value.code == "WAREHOUSE_OLD"


def test_a_server_that_is_killed(tmp_path: Path, embedded: Session) -> None:
    server = LocalServer(tmp_path / "spark", persistent=False)
    try:
        with SparkWarehouse("lake", server.url, MOST_COLLECTED).session(embedded) as session:
            assert session.value(tree("SELECT 1")) == 1
            server.kill()
            with pytest.raises(BusyError) as raised:
                session.value(tree("SELECT 1"))
            assert raised.value.code == "WAREHOUSE_UNAVAILABLE"
    finally:
        server.kill()


def test_a_server_whose_memory_is_too_small_for_a_result(tmp_path: Path, embedded: Session) -> None:
    """The thread that runs out of memory dies alone in Spark, and the statement would wait for ever."""
    many = "unnest(generate_series(1, 3000)) AS a(i), unnest(generate_series(1, 3000)) AS b(j)"
    texts = query(f"SELECT repeat((i * 100003 + j)::VARCHAR, 15) AS t FROM {many}")
    server = LocalServer(tmp_path / "spark", persistent=False, memory="600m")
    try:
        with SparkWarehouse("lake", server.url, 2**31).session(embedded) as session, pytest.raises(BusyError) as raised:
            session.collect("texts", texts)
        assert raised.value.code in ("WAREHOUSE_UNAVAILABLE", "WAREHOUSE_OUT_OF_MEMORY")
    finally:
        server.kill()


def test_a_server_that_forgot_the_session(lake: SparkWarehouse, spark_url: str, embedded: Session) -> None:
    """A server that was restarted knows no session of before; neither does one that ended it for being idle."""
    from pyspark.sql.connect.session import SparkSession

    with lake.session(embedded) as session:
        other = SparkSession(f"{spark_url};session_id={session.id}")
        other.client.release_session()
        with pytest.raises(BusyError, match="restarted") as raised:
            session.value(tree("SELECT 1"))
        assert raised.value.code == "WAREHOUSE_UNAVAILABLE"
        other.client.close()
    with lake.session(embedded) as session:
        assert session.value(tree("SELECT 2")) == 2


# --- tables ---------------------------------------------------------------------------------------------------------


def test_types_without_a_counterpart_keep_spark_s_name(lake: SparkWarehouse, embedded: Session) -> None:
    """They are then refused by the name of their column, like other types that no policy knows."""
    with lake.session(embedded) as session:
        session.execute(
            tree("CREATE TABLE lake.faults.nested AS SELECT {'a': 1} AS s, [1] AS l, 'x' AS t, INTERVAL 1 DAY AS d")
        )
        types = dict(session.described(query("SELECT * FROM lake.faults.nested")))
        session.execute(tree("DROP TABLE lake.faults.nested"))
    assert types == {"s": "struct<a:int>", "l": "array<int>", "t": "VARCHAR", "d": "interval day"}


def test_a_table_that_goes_away(lake: SparkWarehouse, embedded: Session) -> None:
    read = query("SELECT i FROM lake.faults.people")
    with lake.session(embedded) as session:
        session.execute(tree("CREATE TABLE lake.faults.people AS SELECT 1 AS i"))
        assert session.rows(read) == [(1,)]
        session.rename(table("people", "faults", "lake"), table("others", "faults", "lake"))
        with pytest.raises(ConflictError) as raised:
            session.rows(read)
        assert raised.value.code == "WAREHOUSE_TABLE_CHANGED"
        session.execute(tree("DROP TABLE lake.faults.others"))
        session.execute(tree("CREATE TABLE lake.faults.people AS SELECT 1 AS j"))
        with pytest.raises(ConflictError):
            session.rows(read)
        session.execute(tree("DROP TABLE lake.faults.people"))


def test_files_with_another_schema(lake: SparkWarehouse, embedded: Session) -> None:
    """One partition was written by somebody else: its text is not read as numbers, and no row is left out."""
    with lake.session(embedded) as session:
        session.execute(tree("CREATE TABLE lake.faults.parts AS SELECT 1 AS i"))
        first = Path(session.value("SELECT min(_metadata.file_path) FROM lake.faults.parts").removeprefix("file:"))
        parquet.write_table(pa.table({"i": ["Smith"]}), first.with_name("part-9.parquet"))
    with lake.session(embedded) as session:
        with pytest.raises(ConflictError) as raised:
            session.rows(query("SELECT i FROM lake.faults.parts"))
        session.execute(tree("DROP TABLE lake.faults.parts"))
    assert raised.value.code == "WAREHOUSE_TABLE_CHANGED"
    assert "Smith" not in str(raised.value)


def test_files_that_are_added_meanwhile_are_not_read(lake: SparkWarehouse, embedded: Session) -> None:
    """A session keeps the list of a table's files, so that a job reads one state of it to its end."""
    count = query("SELECT count(*) FROM lake.faults.growing")
    with lake.session(embedded) as session:
        session.execute(tree("CREATE TABLE lake.faults.growing AS SELECT CAST(1 AS BIGINT) AS i"))
        first = Path(session.value("SELECT min(_metadata.file_path) FROM lake.faults.growing").removeprefix("file:"))
    with lake.session(embedded) as session:
        assert session.value(count) == 1
        parquet.write_table(pa.table({"i": [2]}), first.with_name("part-9.parquet"))
        assert session.value(count) == 1
    with lake.session(embedded) as session:
        assert session.value(count) == 2
        first.unlink()
        with pytest.raises(ConflictError) as raised:
            session.value(query("SELECT sum(i) FROM lake.faults.growing"))
        assert raised.value.code == "WAREHOUSE_TABLE_CHANGED"
        session.execute(tree("DROP TABLE lake.faults.growing"))


def test_more_than_may_be_collected(lake: SparkWarehouse, embedded: Session, spark_url: str) -> None:
    many = query("SELECT i FROM unnest(generate_series(1, 1000)) AS v(i)")
    with SparkWarehouse("lake", spark_url, 1000).session(embedded) as session:
        with pytest.raises(InvalidError) as raised:
            session.collect("many", many)
        assert raised.value.code == "COLLECTS_TOO_MUCH"
        assert session.collect("few", many.copy().where("i < 10")) == 9


def test_text_that_is_none(lake: SparkWarehouse, embedded: Session) -> None:
    with lake.session(embedded) as session, pytest.raises(InvalidError) as raised:
        session.collect("bytes", query("SELECT CAST(UNHEX('FF') AS VARCHAR) AS t"))
    assert raised.value.code == "TEXT_INVALID"


def test_many_files_hold_their_rows_in_order(
    lake: SparkWarehouse, embedded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file begins where the one before it ended: the order of files tells nothing more than the order of rows."""
    monkeypatch.setattr("tableveil.spark.session.ROWS_OF_ONE_FILE", 999)
    with lake.session(embedded) as session:
        files = _files(session, f"97 * i % {VALUES + 1}")
    assert len(files) > 1
    bounds = [bound for _, *found in files for bound in found]
    assert bounds == sorted(bounds)


def test_files_tell_nothing_of_the_order_of_the_source(
    lake: SparkWarehouse, embedded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark bounds several files by a sample, which depends on the order."""
    half = VALUES // 2
    orders = ("i", f"{VALUES + 1} - i", f"CASE WHEN i > {half} THEN i - {half} ELSE i + {half} END")
    with lake.session(embedded) as session:
        one, *others = ([size for size, *_ in _files(session, value)] for value in orders)
        assert len(one) == 1
        assert others == [one, one]
        monkeypatch.setattr("tableveil.spark.session.ROWS_OF_ONE_FILE", 999)
        assert len(_files(session, orders[0])) > 1


VALUES = 10_000


def _files(session: WarehouseSession, value: str) -> list[tuple[int, int, int]]:
    """The size, least and greatest value of each file of a sorted table of values, in the order of the files."""
    target = table("ranges", "faults", "lake")
    rows = query(f"SELECT {value} AS a FROM unnest(generate_series(1, {VALUES})) AS v(i)")
    session.write(target.copy(), in_order(rows, [column("a")]))
    files = "SELECT max(_metadata.file_size) AS size, min(a) AS low, max(a) AS high, _metadata.file_path AS path"
    found = session.rows(
        f"SELECT size, low, high FROM ({files} FROM lake.faults.ranges GROUP BY path) AS files ORDER BY path"
    )
    session.execute(drop("TABLE", target))
    return found


# --- releases -------------------------------------------------------------------------------------------------------


def test_nothing_that_is_noted_of_columns_is_written(lake: SparkWarehouse, embedded: Session) -> None:
    """The comments of a source's columns, and lists of their values by models, were in the released files."""
    noted = "CREATE TABLE faults.noted (illness STRING COMMENT 'a secret', seen TIMESTAMP_NTZ) USING PARQUET"
    with lake.session(embedded) as session:
        session._connection.run(lambda spark: spark.sql(noted), None)
        session.execute(tree("INSERT INTO faults.noted VALUES ('flu', TIMESTAMP '2024-01-01 00:00:00')"))
        names = ("illness", "seen")
        bare = in_order(query("SELECT * FROM faults.noted"), list(map(column, names)))
        session.write(table("bare", "faults", "lake"), bare)
        assert session.described(query("SELECT * FROM faults.bare")) == [("illness", "VARCHAR"), ("seen", "TIMESTAMP")]
        fields, files = session._connection.run(
            lambda spark: (spark.table("faults.bare").schema.fields, spark.table("faults.bare").inputFiles()), None
        )
    assert [field.metadata for field in fields] == [{}, {}]
    footers = [parquet.ParquetFile(urlsplit(file).path).metadata for file in files]
    assert sum(footer.num_rows for footer in footers) == 1
    assert not any(b"secret" in text for footer in footers for text in footer.metadata.values())


def test_lent_rows_are_sent_with_the_first_statement_that_names_them(
    lake: SparkWarehouse, embedded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lake.session(embedded) as session:
        sent: list[str] = []
        send = session._lend

        def noted(name: str, *others: Any) -> None:
            sent.append(name)
            send(name, *others)

        monkeypatch.setattr(session, "_lend", noted)
        for name in ("lent_one", "lent_other"):
            embedded.stage(name, "SELECT 1 AS i")
            session.lend(name)
            embedded.execute(f"UPDATE {name} SET i = 2")
        assert session.rows(query("SELECT 7 AS i")) == [(7,)]
        assert sent == []
        for _ in range(2):
            assert session.rows(query("SELECT i FROM lent_one")) == [(1,)]
        assert sent == ["lent_one"]
        session.lend("lent_one")
        session.forget("lent_other")
        assert session.rows(query("SELECT i FROM lent_one")) == [(2,)]
        with pytest.raises(ConflictError):
            session.rows(query("SELECT i FROM lent_other"))
        for name in ("lent_one", "lent_other"):
            embedded.execute(f"DROP TABLE {name}")
