"""Loads beside jobs and each other: what must not be written is not, and whatever is refused leaves all as it was."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.control import Control
from tableveil.errors import ConflictError, InvalidError, TableveilError
from tableveil.hierarchy import SafeHarborZip, TableLevels
from tableveil.loading import CsvFormat, FileFormat, LoadDirectory, ParquetFormat, RejectedLine
from tableveil.policy import AttributePolicy, Role, TableReference
from tableveil.runtime import JobManager, Loads
from tableveil.runtime.loads import LoadRequest
from tableveil.state.loads import LoadMode
from tests.once import once
from tests.service.jobs.managed import POLICY, SECONDS, Gate, ended, submit

PATIENTS = TableReference("", "main", "patients")
ROW = pa.table({"age": [30], "ward": [1], "illness": ["x"]})


@dataclass
class Rows:
    """The rows of a table, as if they came with a call; `at_end` is called when all were read."""

    table: pa.Table
    at_end: Callable[[], object] = lambda: None

    @property
    def reader(self) -> pa.RecordBatchReader:
        return self.table.to_reader()

    def end(self) -> tuple[int, tuple[RejectedLine, ...]]:
        self.at_end()
        return self.table.num_rows, ()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture
def database(tmp_path: Path, files: Path) -> Iterator[Database]:
    database = Database(Settings(tmp_path / "test.duckdb", threads=2, directories=(files,)))
    yield database
    database.close()


@pytest.fixture
def loads(database: Database, jobs: JobManager, files: Path) -> Loads:
    return Loads(database, jobs, [LoadDirectory(files)])


def append(loads: Loads, rows: Rows | None = None, table: TableReference = PATIENTS, request_id: str = "") -> int:
    """Loads a row, unless others are stated, and returns the load's number."""
    request = LoadRequest(table, LoadMode.APPEND, request_id)
    return loads.load(request, lambda: rows or Rows(ROW), Control()).load.number


def code(load: Callable[[], object]) -> str:
    with pytest.raises(TableveilError) as raised:
        load()
    return raised.value.code


def count(session: Session, table: str = "patients") -> int:
    rows: int = session.value(f"SELECT count(*) FROM {table}")
    return rows


def no_stream() -> Rows:
    pytest.fail("a file needs no stream")


@pytest.mark.usefixtures("patients")
def test_a_job_that_is_submitted_meanwhile(jobs: JobManager, loads: Loads, gate: Gate, session: Session) -> None:
    before = count(session)
    # The end is asked for twice.
    meanwhile = Rows(ROW, lambda: jobs.at_work() or submit(jobs, POLICY))
    assert code(lambda: append(loads, meanwhile)) == "TABLE_IN_USE"
    assert (count(session), loads.page(None, 9)) == (before, [])
    jobs.cancel(1)
    ended(jobs, 1)
    append(loads)
    assert count(session) == before + 1


@pytest.mark.parametrize("hierarchy", [TableLevels("", "main", "Levels"), SafeHarborZip("", "main", "Levels")])
@pytest.mark.usefixtures("patients")
def test_tables_of_hierarchies_are_read(
    jobs: JobManager, loads: Loads, gate: Gate, session: Session, hierarchy: TableLevels | SafeHarborZip
) -> None:
    session.execute("CREATE TABLE Levels AS SELECT 20 + i AS zip, 1 AS population FROM range(3) r(i)")
    attributes = (AttributePolicy("age", Role.QUASI_IDENTIFIER, hierarchy), *POLICY.attributes[1:])
    number = submit(jobs, replace(POLICY, attributes=attributes)).number
    gate.wait_for(1)
    levels = Rows(pa.table({"zip": [23], "population": [1]}))
    target = TableReference("", "main", "levels")
    assert code(lambda: append(loads, levels, target)) == "TABLE_IN_USE"
    jobs.cancel(number)
    ended(jobs, number)
    append(loads, levels, target)


@pytest.mark.usefixtures("patients")
def test_a_released_table_stays(jobs: JobManager, loads: Loads, session: Session) -> None:
    release = ended(jobs, submit(jobs, POLICY).number).result
    assert release is not None
    before = count(session, "released")
    assert code(lambda: append(loads, table=TableReference("", "main", "Released"))) == "TABLE_RELEASED"
    assert count(session, "released") == before
    # Once it is withdrawn, the name is free for tables of one's own.
    jobs.releases.withdraw(release, "found a mistake")
    session.execute("CREATE TABLE released AS FROM patients")
    append(loads, table=TableReference("", "main", "Released"))


@pytest.mark.usefixtures("patients")
def test_one_load_of_an_id_at_a_time(loads: Loads, session: Session) -> None:
    reading, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        reading.set()
        assert go_on.wait(SECONDS)

    before = count(session)
    first = threading.Thread(target=append, args=(loads, Rows(ROW, wait)), kwargs={"request_id": "etl"})
    first.start()
    try:
        assert reading.wait(SECONDS)
        assert code(lambda: append(loads, request_id="etl")) == "LOAD_RUNNING"
    finally:
        go_on.set()
        first.join()
    assert append(loads, request_id="etl") == 1
    assert count(session) == before + 1


@pytest.mark.parametrize("request_id", once(["x" * 1001, "a\nb", "a\x1b[2J", "a\0", "a\u202eb"], 2))
def test_ids_that_are_none(loads: Loads, jobs: JobManager, request_id: str) -> None:
    """Ids of loads and of jobs."""
    assert code(lambda: append(loads, request_id=request_id)) == "REQUEST_ID_INVALID"
    assert code(lambda: submit(jobs, POLICY, request_id)) == "REQUEST_ID_INVALID"


@pytest.mark.usefixtures("patients")
def test_an_id_may_be_long(loads: Loads) -> None:
    assert append(loads, request_id="é" * 1000) == append(loads, request_id="é" * 1000)


@pytest.mark.usefixtures("patients")
def test_an_id_names_the_columns_and_the_file(loads: Loads, session: Session, files: Path) -> None:
    append(loads, request_id="stream")
    others = Rows(ROW.set_column(0, "age", pa.array([30], pa.int8())))
    assert code(lambda: append(loads, others, request_id="stream")) == "REQUEST_ID_REUSED"
    (files / "a.csv").write_text("n\n1\n")
    request = LoadRequest(TableReference("", "", "n"), LoadMode.CREATE, "file", "a.csv", CsvFormat(), '"a.csv"')
    assert not loads.load(request, no_stream, Control()).repeated
    assert loads.load(request, no_stream, Control()).repeated
    other = replace(request, origin='"b.csv"')
    assert code(lambda: loads.load(other, no_stream, Control())) == "REQUEST_ID_REUSED"
    assert count(session, "n") == 1


@pytest.mark.usefixtures("patients")
def test_a_load_of_an_earlier_version_says_that_nothing_compares_it(loads: Loads, session: Session) -> None:
    request = LoadRequest(PATIENTS, LoadMode.APPEND, "old")
    loads.load(request, lambda: Rows(ROW), Control())
    others = Rows(ROW.set_column(0, "age", pa.array([31])))
    assert code(lambda: loads.load(request, lambda: others, Control())) == "REQUEST_ID_REUSED"
    # A client that tells a file by its digest now sent its rows alone before; and then the ledger knew nothing.
    for content, asked in (("", replace(request, content_digest="1")), ("SET content = NULL", request)):
        if content:
            session.execute(f"UPDATE tableveil.loads {content}")
        again = loads.load(asked, lambda: others, Control())
        assert again.repeated
        assert ["whether this is the same is not known" in note for note in again.notes] == [True]


@pytest.mark.usefixtures("patients")
def test_a_retry_that_breaks_off_compares_nothing(loads: Loads, session: Session) -> None:
    request = LoadRequest(PATIENTS, LoadMode.APPEND, "cut")
    loads.load(request, lambda: Rows(ROW), Control())

    class Cut(Rows):
        def end(self) -> tuple[int, tuple[RejectedLine, ...]]:
            return 2, ()

    assert code(lambda: loads.load(request, lambda: Cut(ROW), Control())) == "STREAM_INCOMPLETE"
    before = count(session)
    assert loads.load(request, lambda: Rows(ROW), Control()).repeated
    assert count(session) == before


def test_constraints_hold(loads: Loads, session: Session) -> None:
    session.execute("CREATE TABLE patients (age INTEGER PRIMARY KEY, ward INTEGER NOT NULL, illness VARCHAR)")
    append(loads)
    for rows in (ROW, ROW.set_column(0, "age", pa.array([1])).set_column(1, "ward", pa.array([None], pa.int64()))):
        with pytest.raises(ConflictError) as raised:
            append(loads, Rows(rows))
        assert raised.value.code == "CONSTRAINT_BROKEN"
        assert "30" not in str(raised.value.faults)
    assert count(session) == 1


@pytest.mark.parametrize(
    ("content", "how", "expected"),
    [
        (b"PAR1 and no more PAR1", ParquetFormat(), "PARQUET_UNREADABLE"),
        (b"", ParquetFormat(), "PARQUET_UNREADABLE"),
        (b"damaged", ParquetFormat(), "PARQUET_UNREADABLE"),
        (b"nested", ParquetFormat(), "TYPES_INVALID"),
        (b"a;b\n1;2\n", CsvFormat(), "CSV_DELIMITER"),
        (b"a,b\n1,2\n3\n", CsvFormat(), "CSV_LINES_REJECTED"),
    ],
)
def test_broken_files(
    loads: Loads, session: Session, files: Path, content: bytes, how: FileFormat, expected: str
) -> None:
    path = files / "broken"
    path.write_bytes(content)
    if content in (b"damaged", b"nested"):
        query = "SELECT [i] AS a FROM range(3) r(i)" if content == b"nested" else "SELECT i AS a FROM range(9999) r(i)"
        duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    if content == b"damaged":
        # The columns can still be read, their rows cannot.
        whole = path.read_bytes()
        path.write_bytes(whole[:4] + b"\xff" * 200 + whole[204:])
    request = LoadRequest(TableReference("", "", "new"), LoadMode.CREATE, "", "broken", how)
    assert code(lambda: loads.load(request, no_stream, Control())) == expected
    assert session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name = 'new'") == []
    assert loads.page(None, 9) == []


def test_links_out_of_the_directory(loads: Loads, files: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text("a\n1\n")
    (files / "link.csv").symlink_to(outside)
    (files / "folder").symlink_to(tmp_path)
    for path in ("link.csv", "folder/outside.csv", str(outside), "../outside.csv"):
        request = LoadRequest(TableReference("", "", "new"), LoadMode.CREATE, "", path, CsvFormat())
        with pytest.raises(InvalidError) as raised:
            loads.load(request, no_stream, Control())
        assert raised.value.code == "FILE_NOT_FOUND"
