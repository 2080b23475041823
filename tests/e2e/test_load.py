"""Loading, as its users do it: every type and any name arrives, and a table is whole or not there, whatever happens."""

import gzip
import random
import shlex
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tableveil.client import Client, UnreachableError
from tableveil.errors import CancelledError, ConflictError, InvalidError, TableveilError
from tableveil.v1 import policy_pb2
from tableveil.v1 import table_service_pb2 as v1
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, ServerProcess, durable
from tests.e2e.test_types import TYPES
from tests.postgresql import Cluster

HOSTILE = ('qu"ote', "select", "a b; DROP TABLE t", "größe 表", "x'y", "tab\there", "l" * 300)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory from which the server loads."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def server(serve_all_along: Serve, files: Path) -> ServerProcess:
    return serve_all_along(files.parent / "loading.duckdb", "--load-directory", str(files))


def written(path: Path, query: str) -> Path:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def test_types_and_names_in_a_file(server: ServerProcess, files: Path) -> None:
    # Parquet has these types as they are.
    types = [type_ for type_, (_, _, _, read) in TYPES.items() if not read]
    values = [f"'{TYPES[type_][0]}'::{type_}" for type_ in types]
    hostile = [f'i % 3 AS "{name.replace(chr(34), chr(34) * 2)}"' for name in HOSTILE]
    columns = [f"CASE WHEN i % 5 > 0 THEN {value} END AS c{j}" for j, value in enumerate(values)]
    file = written(files / "typed.parquet", f"SELECT i AS id, {', '.join(columns + hostile)} FROM range(60) AS r(i)")
    with Client(server.address) as client:
        by_server = client.load_server_file("typed.parquet", 'ty"ped by the server')
        by_client = client.load_file(file, 'ty"ped by the client')
    for loaded in (by_server, by_client):
        assert loaded.load.rows == 60
        assert [column.type for column in loaded.load.columns][1 : len(types) + 1] == types
    query = "SELECT COLUMNS(*)::VARCHAR FROM {} ORDER BY ALL"
    with durable(server.database) as connection:
        expected = connection.execute(query.format(f"'{file}'")).fetchall()
        for who in ("server", "client"):
            assert connection.execute(query.format(f'"ty""ped by the {who}"')).fetchall() == expected


def test_commands(server: ServerProcess, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("id,name,zip\n1,Ann,01234\n2,Bob,90210\nx,Cy,\n")
    refused = tableveil("load", str(file), "people", server=server.address)
    assert refused.exit_code == 2
    assert "line 4, column 'id'" in refused.stderr
    loaded = tableveil("load", str(file), "people", "--max-rejected", "1", "--json", server=server.address)
    [document] = loaded.documents
    assert (document["load"]["rows"], document["rejected_lines"][0]["line"]) == ("2", "4")
    assert [column["type"] for column in document["load"]["columns"]] == ["BIGINT", "VARCHAR", "VARCHAR"]
    assert "people" in tableveil("tables", server=server.address).stdout
    unasked = tableveil("describe", "people", server=server.address).stdout
    assert "BIGINT" in unasked
    assert "90210" not in unasked
    assert "90210" in tableveil("describe", "people", "--values", "2", server=server.address).stdout
    assert "Did you mean 'people'" in tableveil("describe", "peple", server=server.address).stderr
    assert tableveil("describe", "main.people", server=server.address).stdout == unasked
    taken = tableveil("load", str(file), "main.people", "--all-text", server=server.address)
    assert (taken.exit_code, taken.stderr.splitlines()[0]) == (6, "Conflict (TARGET_EXISTS)")


@pytest.mark.long
def test_a_file_is_guessed_and_said(server: ServerProcess, tmp_path: Path) -> None:
    file = tmp_path / "messy.csv"
    lines = ["Straße;geboren;Betrag", "Müllerweg;31.12.1999;1,50", "n/a;1.2.2000;-", ";;20"]
    file.write_bytes("\n".join(lines).encode("latin-1"))
    command = ("load", str(file), "messy", "--request-id", "messy 1")
    loaded, repeated = (tableveil(*command, server=server.address) for _ in range(2))
    assert (loaded.exit_code, repeated.exit_code) == (0, 0)
    assert ["in the database" in each.stdout for each in (loaded, repeated)] == [True, False]
    shown = ["geboren", "DATE", "1999-12-31", "|", "2000-02-01", "|", "NULL", "31.12.1999", "|", "1.2.2000", "|"]
    assert shown in [line.split() for line in loaded.stdout.splitlines()]
    said = loaded.stderr.partition("guessed: ")[2].splitlines()[0]
    again = tableveil("load", str(file), "again", *shlex.split(said), server=server.address)
    assert again.stderr == ""
    with durable(server.database) as connection:
        rows = connection.execute("FROM again").fetchall()
        assert rows == connection.execute("FROM messy").fetchall()
        assert rows[1:] == [(None, date(2000, 2, 1), None), (None, None, Decimal("20.00"))]
    stated = tableveil("load", str(file), "other", "--encoding", "ascii", server=server.address)
    assert (stated.exit_code, "CSV_ENCODING" in stated.stderr) == (2, True)
    file.write_text("a,b\n1,2\nsecret,3\n4,5\n")
    refused = tableveil("load", str(file), "refused", server=server.address)
    assert "With --show-lines" in refused.stderr
    assert "secret" not in refused.stderr
    refused = tableveil("load", str(file), "refused", "--show-lines", server=server.address)
    assert "such as 'secret'" in refused.stderr
    assert "secret" not in server.log_file.read_text()


def test_rows_are_shown_as_they_are_stored(server: ServerProcess, tmp_path: Path) -> None:
    """In the table's types, without lines that were left out, and never from the table, which has others' rows."""
    file = tmp_path / "births.csv"
    words = "a long text that is cut"
    file.write_text(f'born,sum,note,id\n01-JAN-68,1,"{words}",1\nbroken\n02-FEB-69,2.5,NA,2\n')
    with Client(server.address) as client:
        empty = pa.table({"id": ["0"], "born": [date(1, 1, 1)], "sum": [Decimal("1.000")], "note": ["others'"]})
        client.load(empty, "births")
    command = ("load", str(file), "births", "--append", "--max-rejected", "1")
    assert "CSV_CENTURY" in tableveil(*command, server=server.address).stderr
    loaded = tableveil(*command, "--century-pivot", "born=2000", server=server.address)
    lines = {line.split()[0]: line.split()[1:] for line in loaded.stdout.splitlines() if "|" in line}
    assert lines["born"] == ["DATE", "1968-01-01", "|", "1969-02-02", "01-JAN-68", "|", "02-FEB-69"]
    assert lines["sum"] == ["DECIMAL(4,3)", "1.000", "|", "2.500", "1", "|", "2.5"]
    assert lines["id"] == ["VARCHAR", "1", "|", "2"]
    assert lines["note"][:6] == ["VARCHAR", "a", "long", "text", "tha…", "|"]
    assert "others'" not in loaded.stdout
    file.write_text("id\n")
    assert tableveil("load", str(file), "none", server=server.address).exit_code == 0


def test_replacing_and_removing(server: ServerProcess, tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("id,ward\n1,a\n2,b\n")

    def command(*arguments: str) -> str:
        done = tableveil(*arguments, server=server.address)
        return done.stdout + done.stderr

    assert "replaced" not in command("load", str(file), "visits", "--replace")
    file.write_text("ward,id\nc,3\n")
    assert "rows replaced" in command("load", str(file), "visits", "--replace")
    file.write_text("id\n4\n")
    assert "COLUMNS_DIFFER" in command("load", str(file), "visits", "--replace")
    assert "one of them" in command("load", str(file), "visits", "--replace", "--append")
    assert "1 row removed." in command("truncate", "main.visits")
    assert "visits is dropped, with 0 rows." in command("drop", "visits")
    assert "TABLE_NOT_FOUND" in command("drop", "visits")
    for method in ("TruncateTable", "DropTable"):
        with Client(server.address) as client:
            resources = {name for entry in client.list_audit_entries(method=method) for name in entry.resources}
            assert resources <= {"main.visits", "visits"}
            assert resources


def test_other_encodings(server: ServerProcess, files: Path) -> None:
    """Converted by either side, and no copies are left."""
    file = files / "prices.csv.gz"
    file.write_bytes(gzip.compress("preis €,b\n1,ü\n".encode("cp1252")))
    for options, table in (((), "prices_sent"), (("--on-server",), "prices_read")):
        name = "prices.csv.gz" if options else str(file)
        loaded = tableveil("load", name, table, "--encoding", "cp1252", "--json", *options, server=server.address)
        assert [column["name"] for column in loaded.documents[0]["load"]["columns"]] == ["preis €", "b"], loaded
    refused = tableveil("load", str(file), "prices", "--encoding", "latin-1", server=server.address)
    assert refused.stderr.splitlines()[0] == "Invalid (CSV_ENCODING)"
    assert "--encoding cp1252" in refused.stderr
    assert not list(server.spill_directory.iterdir())


def test_a_request_id_loads_once(server: ServerProcess) -> None:
    rows = pa.table({"a": [1, 2]})
    with Client(server.address) as client:
        client.load(rows.to_reader(), "once")
        first = client.load(rows, "once", append=True, request_id="etl-1")
        again = client.load(rows, "once", append=True, request_id="etl-1")
        assert (first.repeated, again.repeated) == (False, True)
        assert first.load == again.load
        assert client.describe_table("once").rows == 4
        with pytest.raises(ConflictError, match="etl-1"):
            client.load(rows, "other", request_id="etl-1")
        assert [load.table.table for load in client.list_loads()][:2] == ["once", "once"]
        assert client.get_load(first.load.name) == first.load
    listed = tableveil("loads", "--limit", "1", server=server.address).stdout.splitlines()[1]
    assert listed.split()[:3] == [first.load.name, "main.once", "2"]
    assert first.load.name in tableveil("show", first.load.name, server=server.address).stdout


def test_appending_loses_nothing(server: ServerProcess) -> None:
    with Client(server.address) as client:
        client.load(pa.table({"a": pa.array([1], pa.int8()), "b": ["x"]}), "narrow")

        def append(**columns: object) -> v1.LoadTableResponse:
            return client.load(pa.table(columns), "narrow", append=True)

        for columns, code in (
            ({"a": [300], "b": ["y"]}, "VALUES_DO_NOT_FIT"),
            ({"a": [1.5], "b": ["y"]}, "VALUES_DO_NOT_FIT"),
            ({"a": ["007"], "b": ["y"]}, "VALUES_DO_NOT_FIT"),
            ({"a": [1]}, "COLUMNS_DIFFER"),
            ({"a": [1], "b": ["y"], "c": [1]}, "COLUMNS_DIFFER"),
            ({"a": [1], "b": [["nested"]]}, "TYPES_INVALID"),
        ):
            with pytest.raises(InvalidError) as raised:
                append(**columns)
            assert raised.value.code == code
        assert append(B=["y", None], A=[2, None]).load.rows == 2
        assert client.describe_table("narrow").rows == 3


def test_places_that_are_not_free(server: ServerProcess, files: Path) -> None:
    rows = pa.table({"a": [1]})
    outside = written(files.parent / "outside.parquet", "SELECT 1 AS a")
    (files / "link.parquet").symlink_to(outside)
    with Client(server.address) as client:
        client.load(rows, "taken")
        with pytest.raises(ConflictError, match="nothing of that name"):
            client.load(rows, "TAKEN")
        for table in ("", "nul\0"):
            with pytest.raises(InvalidError):
                client.load(rows, table)
        with pytest.raises(InvalidError, match="own state"):
            client.load(rows, "tableveil.mine")
        for path in (str(outside), "../outside.parquet", "link.parquet", "no.parquet", "", "."):
            with pytest.raises(InvalidError) as raised:
                client.load_server_file(path, "new", v1.ParquetFormat())
            assert raised.value.code == "FILE_NOT_FOUND"


def test_streams_that_end_early(server: ServerProcess) -> None:
    from tableveil.client.loads import LoadRequests

    class Cut(LoadRequests):
        def __iter__(self):  # type: ignore[no-untyped-def]
            yield from list(super().__iter__())[:-1]

    start = v1.LoadStart(table=policy_pb2.TableReference(table="cut"))
    with Client(server.address) as client:
        with pytest.raises(InvalidError) as raised:
            client._load(Cut(start, pa.table({"a": [1]}).to_reader()))
        assert raised.value.code == "STREAM_INCOMPLETE"
        with pytest.raises(TableveilError):
            client._load([v1.LoadTableRequest(start=start), v1.LoadTableRequest(arrow_ipc=b"no arrow")])
        assert "cut" not in [info.table.table for info in client.list_tables()]


@pytest.mark.long
def test_a_client_that_vanishes_leaves_nothing(server: ServerProcess, tmp_path: Path) -> None:
    """Its process is killed while it sends; the next load goes into the same place."""
    code = (
        "import sys, time, pyarrow as pa\n"
        "from tableveil.client import Client\n"
        "batch = pa.record_batch({'a': list(range(50_000))})\n"
        "def batches():\n"
        "    for i in range(10**6):\n"
        "        yield batch\n"
        "        if i == 20: print('sending', flush=True)\n"
        "        time.sleep(0.001)\n"
        "Client(sys.argv[1]).load(pa.RecordBatchReader.from_batches(batch.schema, batches()), 'vanished')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, server.address], stdout=subprocess.PIPE) as sender:
        assert sender.stdout is not None
        assert sender.stdout.readline() == b"sending\n"
        sender.kill()
    with Client(server.address) as client:
        assert "vanished" not in [info.table.table for info in client.list_tables()]
        assert client.load(pa.table({"a": [1]}), "vanished").load.rows == 1


def test_a_csv_file_of_the_server(server: ServerProcess, files: Path) -> None:
    (files / "prices.csv").write_text("item;price\n01;1.5\n02;20.25\n")
    command = ("load", "prices.csv", "prices", "--on-server", "--delimiter", ";", "--request-id", "prices", "--json")
    [document] = tableveil(*command, server=server.address).documents
    assert [column["type"] for column in document["load"]["columns"]] == ["VARCHAR", "DECIMAL(18,2)"]
    (files / "others.csv").write_text("item;price\n03;1.5\n")
    another = tableveil("load", "others.csv", *command[2:], server=server.address)
    assert "REQUEST_ID_REUSED" in another.stderr


def test_a_table_that_a_job_reads(server: ServerProcess) -> None:
    with Client(server.address) as client, duckdb.connect() as connection:
        wide = connection.sql(samples.wide(24)).to_arrow_reader()
        client.load(wide, "wide")
        job = client.submit(samples.message(samples.wide_policy(24, target="of_wide")))
        with pytest.raises(ConflictError) as raised:
            client.load(connection.sql(samples.wide(24)), "wide", append=True)
        assert raised.value.code == "TABLE_IN_USE"
        assert job.name in raised.value.faults[0].found
        client.cancel_job(job.name)
        with pytest.raises(CancelledError):
            client.wait(job.name)
        client.load(connection.sql(samples.wide(24)), "wide", append=True)


@pytest.mark.long
def test_rows_of_postgresql(server: ServerProcess, postgresql: Cluster) -> None:
    url = postgresql.new_database()
    postgresql.rows(url, "CREATE TABLE visits (id uuid, born date, charge numeric(9,2), told timestamptz, more jsonb)")
    row = "gen_random_uuid(), '1980-02-29'::date, 12.5, '2024-01-01 10:00+02'::timestamptz, '{}'::jsonb"
    postgresql.rows(url, f"INSERT INTO visits SELECT {row} FROM generate_series(1, 1000)")
    postgresql.rows(url, "INSERT INTO visits DEFAULT VALUES")
    command = ("load", url, "--table", "public.visits", "--json", "--request-id", "night 1")
    [loaded], [again] = (tableveil(*command, server=server.address).documents for _ in range(2))
    assert [column["type"] for column in loaded["load"]["columns"]] == [
        *("UUID", "DATE", "DECIMAL(9,2)", "TIMESTAMP WITH TIME ZONE", "JSON")
    ]
    assert (loaded["load"]["rows"], again["repeated"]) == ("1001", True)
    assert (
        loaded["load"]["file"]
        == url.replace("postgres@", "").replace("host=/tmp/", "host=%2Ftmp%2F") + " public.visits"
    )
    replaced = tableveil(
        "load", url, "visits", "--query", "SELECT * FROM visits LIMIT 9", "--replace", "--json", server=server.address
    )
    assert (replaced.documents[0]["load"]["rows"], replaced.documents[0]["load"]["removed_rows"]) == ("9", "1001")
    refused = tableveil("load", url.replace("@", ":pass@"), "--table", "visits", server=server.address)
    assert (refused.exit_code, "PGPASSFILE" in refused.stderr) == (2, True)
    wrong = tableveil("load", "file.csv", "t", "--query", "SELECT 1", server=server.address)
    assert "--query are for postgresql" in wrong.stderr


@pytest.mark.long
def test_postgresql_ends_in_the_middle(server: ServerProcess, postgresql: Cluster) -> None:
    url = postgresql.new_database()
    crashed: list[int] = []

    def crash(rows: int) -> None:
        if not crashed:
            crashed.append(rows)
            postgresql.crash()

    query = "SELECT i, md5(i::text) FROM generate_series(1, 10000000) g(i)"
    with Client(server.address) as client:
        client.load(pa.table({"i": [7], "md5": ["x"]}), "interrupted")
        with pytest.raises(UnreachableError):
            client.load_postgresql(url, "interrupted", query=query, replace=True, progress=crash)
        postgresql.start()
        assert crashed
        assert client.describe_table("interrupted").rows == 1


def test_kills_in_the_middle(serve: Serve, tmp_path: Path) -> None:
    """A table is whole or absent, and the ledger of loads agrees."""
    draw = random.Random(5)
    rows = 200_000
    files = tmp_path / "files"
    files.mkdir()
    written(files / "t.parquet", f"SELECT i, md5(i::VARCHAR) AS text FROM range({rows}) AS r(i)")
    database = tmp_path / "kills.duckdb"
    options = ("--load-directory", str(files))
    server = serve(database, *options)
    with Client(server.address) as client:
        began = time.monotonic()
        client.load_server_file("t.parquet", "standing")
        seconds = time.monotonic() - began
    for round_, how in enumerate(("new", "append", "replace", "append", "replace")):
        table = "standing" if how != "new" else f"new_{round_}"
        with Client(server.address) as client:

            def load(client: Client = client, table: str = table, how: str = how) -> None:
                # The server may be killed before it answers.
                with suppress(TableveilError):
                    client.load_server_file("t.parquet", table, append=how == "append", replace=how == "replace")

            thread = threading.Thread(target=load)
            thread.start()
            time.sleep(draw.uniform(0.1, 1) * seconds)
            server.kill()
            thread.join()
        with durable(database) as connection:
            tables = connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY ALL"
            ).fetchall()
            ledger = connection.execute(
                "SELECT table_name, sum(row_count - removed_rows) FROM tableveil.loads GROUP BY ALL ORDER BY ALL"
            ).fetchall()
            assert [name for name, _ in ledger] == [name for (name,) in tables]
            for name, loaded in ledger:
                assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (loaded,)
        server = serve(database, *options)
