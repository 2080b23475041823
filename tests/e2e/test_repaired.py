"""Extracts that were repaired under their name: a retry tells them from what it loaded, and names that load."""

import gzip
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tableveil.client import Client
from tableveil.errors import ConflictError, TableveilError
from tableveil.v1 import table_service_pb2
from tests.e2e.commands import Outcome, tableveil
from tests.e2e.process import Serve, ServerProcess
from tests.postgresql import Cluster

HALF = "id,born,code\n1,31.12.68,a\n2,01.02.70,b\n"
REPAIRED = HALF + "3,05.06.71,c\n"
FORMAT = ("--no-guess", "--date-format", "%d.%m.%y", "--century-pivot", "born=2026")


@pytest.fixture(scope="module")
def extracts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("extracts")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, serve_all_along: Serve, extracts: Path) -> ServerProcess:
    return serve_all_along(tmp_path_factory.mktemp("server") / "t.duckdb", "--load-directory", str(extracts))


Load = Callable[..., Outcome]


@pytest.fixture(scope="module", params=["read by the client", "read by the server"])
def load(request: pytest.FixtureRequest, server: ServerProcess, extracts: Path) -> Load:
    """Loads a file of the extracts into the table of its name, by a request id that is that name, too."""
    on_server = request.param == "read by the server"
    kind = "here" if not on_server else "there"

    def run(file: str, *options: str) -> Outcome:
        table, _, _ = file.partition(".")
        path = ("--on-server", file) if on_server else (str(extracts / file),)
        named = ("--request-id", f"load {table} {kind}", "--json")
        return tableveil("load", *path, f"{table}_{kind}", *named, *options, server=server.address)

    return run


def refused(outcome: Outcome, *says: str) -> None:
    said = " ".join(outcome.stderr.split())
    assert (outcome.exit_code, "REQUEST_ID_REUSED" in said) == (6, True), said
    assert all(text in said for text in says), said


def name(outcome: Outcome) -> str:
    assert outcome.exit_code == 0, outcome.stderr
    return str(outcome.documents[0]["load"]["name"])


def is_repeated(outcome: Outcome) -> bool:
    assert outcome.exit_code == 0, outcome.stderr
    return bool(outcome.documents[0].get("repeated"))


@pytest.mark.parametrize("mode", [(), ("--replace",), ("--append",)])
def test_a_repaired_file_is_no_repetition(load: Load, extracts: Path, server: ServerProcess, mode: tuple[str]) -> None:
    file = f"august{len(mode)}{''.join(mode)[2:]}.csv"
    (extracts / file).write_text(HALF)
    if mode == ("--append",):
        here = load(file, *FORMAT, "--request-id", "")
        assert here.exit_code == 0, here.stderr
    first = load(file, *FORMAT, *mode)
    assert not is_repeated(first)
    assert is_repeated(load(file, *FORMAT, *mode))
    (extracts / file).write_text(REPAIRED)
    refused(load(file, *FORMAT, *mode), f"{name(first)} loaded", "a file of other content", "bind the release to")
    # As long as the file stays away, and nothing was loaded meanwhile.
    (extracts / file).write_text(HALF)
    again = load(file, *FORMAT, *mode)
    assert (is_repeated(again), name(again)) == (True, name(first))


def test_equal_sizes_do_not_hide_it(load: Load, extracts: Path) -> None:
    rows = (
        "SELECT i AS id, CASE i WHEN {} THEN 'flu' WHEN {} THEN 'gout' ELSE 'none' END AS diagnosis FROM range(99) r(i)"
    )
    for kind in ("csv", "parquet"):
        file = extracts / f"swapped_{kind}.{kind}"
        duckdb.sql(f"COPY ({rows.format(3, 7)}) TO '{file}'")
        size = file.stat().st_size
        first = name(load(file.name, "--no-guess"))
        duckdb.sql(f"COPY ({rows.format(7, 3)}) TO '{file}'")
        assert file.stat().st_size == size
        refused(load(file.name, "--no-guess"), first)


def test_what_changes_the_meaning_of_the_bytes_counts(load: Load, extracts: Path) -> None:
    (extracts / "options.csv").write_text(HALF)
    first = name(load("options.csv", *FORMAT))
    for options in (
        ("--no-guess", "--date-format", "%d.%m.%y", "--century-pivot", "born=1969"),
        (*FORMAT, "--type", "id=VARCHAR"),
        (*FORMAT, "--rename", "code=ward"),
        (*FORMAT, "--null", "a"),
        (*FORMAT, "--max-rejected", "1"),
        ("--no-guess", "--all-text"),
    ):
        refused(load("options.csv", *options), first, "in another format")


def test_several_files_and_packed_ones(server: ServerProcess, extracts: Path) -> None:
    for part in "ab":
        (extracts / f"part-{part}.csv").write_text(HALF)
    (extracts / "packed.csv.gz").write_bytes(gzip.compress(HALF.encode(), mtime=0))
    for table, files in (("parts", "part-*.csv"), ("packed", "packed.csv.gz")):
        asked = ("load", str(extracts / files), table, *FORMAT, "--request-id", table, "--json")
        first, again = (tableveil(*asked, server=server.address) for _ in range(2))
        assert (is_repeated(first), is_repeated(again)) == (False, True)
        if table == "parts":
            (extracts / "part-b.csv").write_text(REPAIRED)
        else:
            (extracts / files).write_bytes(gzip.compress(REPAIRED.encode(), mtime=0))
        refused(tableveil(*asked, server=server.address), name(first))


def test_a_file_that_changes_while_it_is_sent(server: ServerProcess, extracts: Path) -> None:
    file = extracts / "growing.csv"
    duckdb.sql(f"COPY (SELECT i FROM range(400_000) r(i)) TO '{file}'")

    def grow(rows: int) -> None:
        with file.open("a") as more:
            more.write("1\n")

    with Client(server.address) as client:
        with pytest.raises(ConflictError) as raised:
            client.load_file(file, "growing", progress=grow)
        assert raised.value.code == "FILE_CHANGED"
        assert "growing" not in [info.table.table for info in client.list_tables()]


def test_rows_in_another_order_are_the_same_rows(server: ServerProcess) -> None:
    def rows(order: list[int], changed: int = 0) -> pa.Table:
        texts = pa.array([f"t{i}" for i in order]).dictionary_encode()
        return pa.table({"id": order, "text": texts, "x": [None if i == 1 else i / 3 + changed for i in order]})

    def cut(table: pa.Table, size: int) -> pa.RecordBatchReader:
        batches: Iterator[pa.RecordBatch] = iter(table.to_batches(size))
        return pa.RecordBatchReader.from_batches(table.schema, batches)

    with Client(server.address) as client:
        for mode in ({}, {"append": True}, {"replace": True}):
            table, named = "shuffled", f"rows {mode}"

            def sent(table_: pa.Table, mode: dict[str, bool] = mode, named: str = named) -> bool:
                return client.load(table_, "shuffled", request_id=named, **mode).repeated

            assert not sent(rows([0, 1, 2, 3]))
            assert sent(rows([3, 1, 0, 2]))
            with pytest.raises(ConflictError) as raised:
                sent(rows([0, 1, 2, 3], changed=1))
            assert raised.value.code == "REQUEST_ID_REUSED"
            assert "from other rows" in str(raised.value)
            for other in (rows([0, 1, 2]), rows([0, 1, 2, 3, 3])):
                with pytest.raises(ConflictError, match="from other rows"):
                    sent(other)
            assert (
                client.describe_table(table).rows == {"{}": 4, "{'append': True}": 8, "{'replace': True}": 4}[str(mode)]
            )


@pytest.mark.long
def test_a_table_of_postgresql_that_moved(server: ServerProcess, postgresql: Cluster) -> None:
    url = postgresql.new_database()
    postgresql.rows(url, "CREATE TABLE visits (id int, code text)")
    postgresql.rows(url, "INSERT INTO visits VALUES (1, 'a'), (2, 'b')")
    for asked in (("--table", "visits"), ("moved", "--query", "SELECT * FROM visits ORDER BY code")):
        command = ("load", url, *asked, "--request-id", asked[-1], "--json")
        first = name(tableveil(*command, server=server.address))
        # PostgreSQL moves an updated row, so that its rows come in another order.
        postgresql.rows(url, "UPDATE visits SET code = code WHERE id = 1")
        assert is_repeated(tableveil(*command, server=server.address))
        postgresql.rows(url, "UPDATE visits SET code = chr(ascii(code) + 1)")
        refused(tableveil(*command, server=server.address), first, "from other rows")


def test_kills_between(serve: Serve, tmp_path: Path) -> None:
    """The server is killed while it loads or compares: a retry loads once, and a repaired file is noticed."""
    database, file = tmp_path / "killed.duckdb", tmp_path / "extract.csv"
    duckdb.sql(f"COPY (SELECT i AS id, hash(i) AS code FROM range(300_000) r(i)) TO '{file}'")
    asked = ("load", "--on-server", file.name, "t", "--replace", "--no-guess", "--request-id", "night", "--json")
    chance = random.Random(7)
    # As the command spells the defaults.
    how = table_service_pb2.CsvFormat(encoding_name="utf-8", header_lines=1)
    outcomes: list[str] = []

    def ask(address: str) -> None:
        with Client(address) as client:
            try:
                done = client.load_server_file(file.name, "t", how, replace=True, request_id="night")
                outcomes.append(done.load.name)
            except TableveilError as error:
                outcomes.append(error.code)

    for attempt in range(3):
        server = serve(database, "--load-directory", str(tmp_path))
        thread = threading.Thread(target=ask, args=(server.address,))
        thread.start()
        # The last one may answer before it is killed.
        time.sleep(chance.uniform(0, 0.6) if attempt < 2 else 3)
        server.kill()
        thread.join()
    server = serve(database, "--load-directory", str(tmp_path))
    done = tableveil(*asked, server=server.address)
    first = name(done)
    assert is_repeated(tableveil(*asked, server=server.address))
    listed = tableveil("loads", "--json", server=server.address).documents[0]["loads"]
    assert [(one["name"], one["rows"]) for one in listed] == [(first, "300000")]
    assert {one for one in outcomes if one.startswith("loads/")} <= {first}
    text = file.read_text()
    file.write_text(text.replace("\n7,", "\n8,", 1))
    refused(tableveil(*asked, server=server.address), first)
    server.kill()
    server = serve(database, "--load-directory", str(tmp_path))
    refused(tableveil(*asked, server=server.address), first)
    with Client(server.address) as client:
        assert client.describe_table("t").rows == 300_000


def test_changed_columns_and_empty_extracts(load: Load, extracts: Path) -> None:
    def replace(text: str, *options: str) -> Outcome:
        (extracts / "changing.csv").write_bytes(text.encode())
        return load("changing.csv", "--replace", "--request-id", "", *options)

    def columns(outcome: Outcome) -> list[str]:
        assert outcome.exit_code == 0, outcome.stderr
        return [column["name"] for column in outcome.documents[0]["load"]["columns"]]

    assert columns(replace("id,code\n1,a\n2,b\n")) == ["id", "code"]
    for changed in ("id,code,ward\n1,a,x\n", "id\n1\n"):
        differs = replace(changed, "--no-guess")
        assert (differs.exit_code, "--replace --columns-changed" in " ".join(differs.stderr.split())) == (2, True)
        assert columns(replace(changed, "--columns-changed", "--no-guess")) == changed.splitlines()[0].split(",")
        done = replace("id,code\nx1,a\nx2,b\n", "--columns-changed", "--no-guess")
        assert columns(done) == ["id", "code"]
    for empty in ("", "\n", "\ufeff", "id,code\n"):
        for options in ((), ("--columns-changed",), ("--no-guess",)):
            assert replace(empty, *options).exit_code == 10
    assert replace("", "--format", "parquet").exit_code == 10
    assert replace("no Parquet", "--format", "parquet").exit_code == 2
    # Nothing is there that an empty file would replace.
    (extracts / "fresh.csv").write_text("")
    assert load("fresh.csv", "--request-id", "").exit_code == 2
    wrong = load("changing.csv", "--append", "--columns-changed", "--no-guess")
    assert (wrong.exit_code, "columns_changed" in wrong.stderr) == (2, True)
    assert columns(replace("id,code\n1,a\n2,b\n", "--no-guess")) == ["id", "code"]
