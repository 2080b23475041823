"""Exports: complete or not there at all, whatever objects are called and whatever is in the way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tableveil.backend import file_name
from tableveil.client import Client, ExportFormat, UnreachableError
from tableveil.client.export import export_objects
from tableveil.errors import ConflictError, InternalError, InvalidError
from tests.once import once
from tests.service.client import samples
from tests.service.client.fake_service import FakeService

PARQUET, DUCKDB = ExportFormat.PARQUET, ExportFormat.DUCKDB
FORMATS = pytest.mark.parametrize("export_format", once([PARQUET, DUCKDB]))

HOSTILE = 'x"; DROP TABLE y; --\n../../\x1b[31m\u202e*?% Käse.'


def tables(target: str) -> dict[str, pa.Table]:
    """Contents for the objects of a release."""
    return {
        target: pa.table({"age": ["[20, 30["] * 1000 + [None], "n": range(1001)}),
        f"{target}_classes": pa.table({"size": [7, 8]}),
        f"{target}_risk": pa.table({"measure": ["highest"], "value": [0.2]}),
        f"{target}_risk_histogram": pa.table({"size": pa.array([], pa.int64())}),
    }


def serve(service: FakeService, target: str = "released") -> dict[str, pa.Table]:
    service.releases["releases/3"] = samples.release(target=target)
    service.objects = tables(target)
    return service.objects


def in_database(path: Path) -> dict[str, pa.Table]:
    """All tables of a database file, in the order they were made."""
    with duckdb.connect(path, read_only=True) as connection:
        query = "SELECT schema_name, table_name FROM duckdb_tables() ORDER BY table_oid"
        found = connection.execute(query).fetchall()
        assert {schema for schema, _ in found} == {"main"}
        assert connection.execute("FROM duckdb_views() WHERE NOT internal").fetchall() == []
        return {name: connection.table(f'"{name.replace(chr(34), 2 * chr(34))}"').to_arrow_table() for _, name in found}


@pytest.mark.parametrize(
    "target", ["released", HOSTILE, "select", "n" * 10_000], ids=["plain", "hostile", "sql", "long"]
)
def test_a_fresh_database(client: Client, service: FakeService, tmp_path: Path, target: str) -> None:
    expected = serve(service, target)
    path = tmp_path / "out.duckdb"
    assert client.export("3", path, DUCKDB) == [path]
    found = in_database(path)
    assert list(found) == list(expected)
    assert found == expected
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("SELECT (tv_mean('[1, 3]', 1, 3)).estimated").fetchall() == [(2,)]
    # Neither a log nor anything else stays beside it.
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("target", ["released", HOSTILE, "..", "n" * 10_000], ids=["plain", "hostile", "dots", "long"])
def test_a_directory_of_parquet(client: Client, service: FakeService, tmp_path: Path, target: str) -> None:
    expected = serve(service, target)
    path = tmp_path / "out"
    files = client.export("releases/3", path, PARQUET)
    assert sorted(path.iterdir()) == sorted(files)
    assert list(tmp_path.iterdir()) == [path]
    for file, table in zip(files, expected.values(), strict=True):
        with duckdb.connect() as connection:
            assert connection.read_parquet(str(file)).to_arrow_table() == table


def test_a_directory_of_csv(client: Client, service: FakeService, tmp_path: Path) -> None:
    expected, path = serve(service, HOSTILE), tmp_path / "out"
    files = client.export("releases/3", path, ExportFormat.CSV)
    assert [file.suffix for file in files] == [".csv"] * 4
    with duckdb.connect() as connection:
        for file, table in zip(files, expected.values(), strict=True):
            assert connection.read_csv(str(file), header=True).fetchall() == [
                tuple(row.values()) for row in table.to_pylist()
            ]
    client.export("3", path, ExportFormat.CSV, overwrite=True)
    refused(client, path, PARQUET)


def test_a_path_may_be_called_anything(client: Client, service: FakeService, tmp_path: Path) -> None:
    serve(service)
    for export_format in ExportFormat:
        path = tmp_path / f"it's [a] \"*? {export_format}; --"
        client.export("3", path, export_format)
        assert path.exists()


def test_what_is_written_is_readable_as_other_files_are(client: Client, service: FakeService, tmp_path: Path) -> None:
    serve(service)
    umask = os.umask(0o022)
    try:
        client.export("3", tmp_path / "parquet", PARQUET)
        client.export("3", tmp_path / "out.duckdb", DUCKDB)
    finally:
        os.umask(umask)
    assert (tmp_path / "parquet").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out.duckdb").stat().st_mode & 0o777 == 0o644


@FORMATS
def test_order_and_types_stay(tmp_path: Path, export_format: ExportFormat) -> None:
    count = 400_000
    table = pa.table(
        {
            "n": range(count),
            "date": [date(2024, 1, 1)] * count,
            "money": [Decimal("12.30")] * count,
            "time": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * count, pa.timestamp("us", "UTC")),
            "flag": [True] * count,
        }
    )
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=8192))
    [path] = export_objects(["t"], lambda name: reader, tmp_path / "out", export_format)
    with duckdb.connect(path if export_format is DUCKDB else ":memory:") as connection:
        found = connection.table("t") if export_format is DUCKDB else connection.read_parquet(str(path))
        assert [str(kind) for kind in found.types] == [
            "BIGINT", "DATE", "DECIMAL(4,2)", "TIMESTAMP WITH TIME ZONE", "BOOLEAN",
        ]  # fmt: skip
        assert found.project("n").to_arrow_table().column("n") == table.column("n")


def test_a_database_is_written_for_older_readers(tmp_path: Path) -> None:
    rows = pa.table({"n": [1]})
    read = rows.to_reader
    [path] = export_objects(["t"], lambda name: read(), tmp_path / "out", DUCKDB, storage_version="v1.0.0")
    with duckdb.connect(path) as connection:
        assert connection.execute("SELECT tags['storage_version'] FROM duckdb_databases()").fetchone() == ("v1.0.0+",)
        assert connection.execute("SELECT n FROM t").fetchall() == [(1,)]
    for version, export_format in (("v99", DUCKDB), ("x", DUCKDB), ("v1.0.0", ExportFormat.CSV)):
        with pytest.raises(InvalidError, match="storage_version") as raised:
            export_objects(["t"], lambda name: read(), tmp_path / "new", export_format, storage_version=version)
        assert raised.value.code == "STORAGE_VERSION_INVALID"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("discharges_released", "discharges_released.parquet"),
        ("Käse 1-2", "Käse 1-2.parquet"),
        ("a/b", "a%2Fb.parquet"),
        ("a%2Fb", "a%252Fb.parquet"),
        ("..", "%2E%2E.parquet"),
        ("a\0b\n", "a%00b%0A.parquet"),
        ("", ".parquet"),
    ],
)
def test_file_names(name: str, expected: str) -> None:
    assert f"{file_name(name)}.parquet" == expected


def test_long_names_stay_different() -> None:
    long = "ü" * 10_000
    assert file_name(f"{long}a") != file_name(f"{long}b")
    assert len(file_name(long).encode()) <= 255


@FORMATS
def test_refuses_to_overwrite(
    client: Client, service: FakeService, tmp_path: Path, export_format: ExportFormat
) -> None:
    serve(service)
    path = tmp_path / "out"
    client.export("3", path, export_format)
    service.objects = tables("released")
    service.objects["released"] = pa.table({"new": [1]})
    with pytest.raises(ConflictError) as caught:
        client.export("3", path, export_format)
    assert caught.value.code == "PATH_EXISTS"
    [rows, *_] = client.export("3", path, export_format, overwrite=True)
    with duckdb.connect(path if export_format is DUCKDB else ":memory:") as connection:
        found = connection.table("released") if export_format is DUCKDB else connection.read_parquet(str(rows))
        assert found.columns == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def refused(client: Client, path: Path, export_format: ExportFormat) -> None:
    with pytest.raises(ConflictError) as caught:
        client.export("3", path, export_format, overwrite=True)
    assert caught.value.code == "PATH_NOT_AN_EXPORT"


def test_overwrites_no_directory_of_other_things(client: Client, service: FakeService, tmp_path: Path) -> None:
    serve(service)
    precious = tmp_path / "thesis.txt"
    precious.write_text("precious")
    refused(client, tmp_path, PARQUET)
    refused(client, tmp_path, DUCKDB)
    refused(client, precious, PARQUET)
    refused(client, precious, DUCKDB)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    refused(client, link, PARQUET)
    refused(client, link, DUCKDB)
    assert precious.read_text() == "precious"


def test_overwrites_no_database_that_a_server_works_with(client: Client, service: FakeService, tmp_path: Path) -> None:
    serve(service)
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE patients AS SELECT 1")
        # Nobody's export while someone has it open.
        refused(client, path, DUCKDB)
        connection.execute("CREATE SCHEMA tableveil")
    refused(client, path, DUCKDB)
    with duckdb.connect(path) as connection:
        connection.execute("DROP SCHEMA tableveil")
    log = path.with_name("clinic.duckdb.wal")
    log.touch()
    refused(client, path, DUCKDB)
    log.unlink()
    client.export("3", path, DUCKDB, overwrite=True)
    assert list(in_database(path)) == list(service.objects)


@FORMATS
def test_a_stream_that_breaks_leaves_nothing(
    client: Client, service: FakeService, tmp_path: Path, export_format: ExportFormat
) -> None:
    serve(service)
    service.break_after = 5_000
    with pytest.raises(UnreachableError):
        client.export("3", tmp_path / "out", export_format)
    assert list(tmp_path.iterdir()) == []


@FORMATS
def test_a_stream_that_breaks_keeps_what_was_there(
    client: Client, service: FakeService, tmp_path: Path, export_format: ExportFormat
) -> None:
    serve(service)
    path = tmp_path / "out"
    client.export("3", path, export_format)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    service.break_after = 5_000
    with pytest.raises(UnreachableError):
        client.export("3", path, export_format, overwrite=True)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@FORMATS
def test_ctrl_c_leaves_nothing(tmp_path: Path, export_format: ExportFormat) -> None:
    def interrupted(name: str) -> pa.RecordBatchReader:
        def batches() -> object:
            yield pa.record_batch({"n": [1]})
            raise KeyboardInterrupt

        return pa.RecordBatchReader.from_batches(pa.schema([("n", pa.int64())]), batches())

    with pytest.raises(KeyboardInterrupt):
        export_objects(["t"], interrupted, tmp_path / "out", export_format)
    assert list(tmp_path.iterdir()) == []


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# Started in the background of a shell, it would ignore Ctrl-C.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tableveil.cli.main import main
main()
"""


@FORMATS
@pytest.mark.parametrize("number", once([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
def test_a_killed_process_leaves_nothing_that_looks_done(
    client: Client, service: FakeService, tmp_path: Path, export_format: ExportFormat, number: signal.Signals
) -> None:
    serve(service)
    service.stall_after = 5_000
    path = tmp_path / "out"
    # No `preexec_fn` sees to Ctrl-C: with one the process is forked, and gRPC may keep it from ever starting.
    command = [sys.executable, "-c", PROGRAM, "export", "3", "--output", str(path), "--format", export_format]
    process = subprocess.Popen([*command, "--server", service.address])
    until(lambda: service.pieces_sent >= 5 and any(tmp_path.glob(".tableveil-*.partial/content*")))
    process.send_signal(number)
    code = process.wait(60)
    assert not path.exists()
    if number is not signal.SIGKILL:
        assert code == 128 + number
        assert list(tmp_path.iterdir()) == []
    # The files of a killed process are removed by the next export to the path.
    service.resume.set()
    client.export("3", path, export_format)
    assert list(tmp_path.iterdir()) == [path]


def test_the_files_of_an_export_under_way_are_not_swept(client: Client, service: FakeService, tmp_path: Path) -> None:
    serve(service)
    service.stall_after = 5_000
    with ThreadPoolExecutor() as executor:
        first = executor.submit(client.export, "3", tmp_path / "out")
        until(lambda: service.pieces_sent >= 5)
        # The stall is the first one's.
        service.stall_after = None
        client.export("3", tmp_path / "out")
        service.resume.set()
        # It finds that another one was there first.
        with pytest.raises(ConflictError):
            first.result()
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_no_directory_to_write_into(client: Client, service: FakeService, tmp_path: Path) -> None:
    serve(service)
    with pytest.raises(InvalidError) as caught:
        client.export("3", tmp_path / "missing" / "out")
    assert caught.value.code == "PATH_NOT_FOUND"


def test_what_the_system_refuses(client: Client, service: FakeService, tmp_path: Path) -> None:
    serve(service)
    with pytest.raises(InternalError, match="cannot write") as caught:
        client.export("3", tmp_path / ("n" * 300))
    assert caught.value.code == "EXPORT_FAILED"
