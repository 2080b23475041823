"""Room on the disk: what clearly does not fit is refused before it begins, and what may fit is not."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from tableveil.backend import Database, Session, Settings, create_table, render, table
from tableveil.backend.catalog import column_bytes
from tableveil.control import Control
from tableveil.errors import BusyError
from tableveil.loading import LoadDirectory, ParquetFormat
from tableveil.operate import disk
from tableveil.pipelines.dry_run import dry_run_work
from tableveil.policy import ReleaseKind, ReleaseTarget, TableReference
from tableveil.runtime import JobManager, Loads
from tableveil.runtime.loads import LoadRequest
from tableveil.runtime.memory import least_bytes
from tableveil.state.jobs import JobState
from tableveil.state.loads import LoadMode
from tests.service.jobs.managed import POLICY, Gate, ended, submit, to
from tests.service.jobs.test_loads import Rows
from tests.small_disk import fill, small_disk

MEBIBYTE = 2**20
LEAST = disk.LEAST_FREE_BYTES


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path, 160) as place:
        yield place


@pytest.fixture
def database(place: Path) -> Iterator[Database]:
    database = Database(Settings(place / "test.duckdb", threads=2, directories=(place,)))
    yield database
    database.close()


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """With a large table."""
    database = Database(Settings(tmp_path_factory.mktemp("wide") / "wide.duckdb", threads=2))
    with database.session() as session:
        session.execute("CREATE TABLE large AS SELECT md5(i::VARCHAR) AS illness FROM range(100000) r(i)")
        yield session
    database.close()


@pytest.mark.long
def test_a_release_on_a_small_disk(jobs: JobManager, session: Session, place: Path) -> None:
    session.execute(
        "CREATE TABLE patients AS SELECT 20 + i % 3 AS age, i % 2 AS ward, array_to_string("
        "[md5((20 * (i % 26000) + j)::VARCHAR) for j in range(20)], '') AS illness FROM range(30000) r(i)"
    )
    session.execute("CHECKPOINT")
    patients = TableReference("test", "main", "patients")
    wanted = least_bytes(session, replace(POLICY, suppression_limit=Decimal(0)), patients)
    # How many texts differ is estimated.
    kept = column_bytes(session, patients)["illness"]
    assert 2 * MEBIBYTE < 0.4 * kept < wanted <= kept // 2
    filler = fill(place, leave=LEAST + wanted - MEBIBYTE)
    view = ReleaseTarget("main", "viewed", ReleaseKind.VIEW)
    for policy in (POLICY, replace(POLICY, release=view)):
        policy = replace(policy, suppression_limit=Decimal(0))
        with pytest.raises(BusyError) as raised:
            submit(jobs, policy)
        assert raised.value.code == "DISK_FULL"
        with pytest.raises(BusyError, match="at least"):
            jobs.submit(dry_run_work(policy, "{}"))
        (fault,) = raised.value.faults
        assert fault.expected == f"at least {disk.in_bytes(LEAST + wanted)}"
    # Half of the records may be suppressed, or nothing is known of what is read.
    for small in (POLICY, replace(to("b"), source=TableReference("", "", ""), source_query="SELECT * FROM patients")):
        jobs.cancel(submit(jobs, small).number)
    filler.unlink()
    fill(place, leave=LEAST + wanted + MEBIBYTE)
    job = ended(jobs, submit(jobs, replace(to("fits"), suppression_limit=Decimal(0))).number)
    assert job.state is JobState.SUCCEEDED, job.failure


@pytest.mark.parametrize(
    "shape",
    [
        "md5(i::VARCHAR)",
        "'illness ' || hash(i) % 5",
        "i",
        "(i * 7919) % 150000",
        "hash(i)",
        "'x'",
        "md5((i // 50000)::VARCHAR)",
        "md5((hash(i) % 20000)::VARCHAR)",
        "random()",
    ],
)
def test_what_is_wanted_is_less_than_what_is_taken(wide: Session, shape: str) -> None:
    """Whatever the values are like, though the release has them sorted, in classes of any size."""
    wide.execute(f"CREATE OR REPLACE TABLE t AS SELECT i, {shape} AS illness FROM range(150000) r(i)")
    wide.execute("CREATE OR REPLACE TABLE released AS SELECT 'x' AS a, illness FROM t ORDER BY ALL")
    wide.execute("CHECKPOINT")
    policy = replace(POLICY, suppression_limit=Decimal(0))
    wanted = least_bytes(wide, policy, TableReference("wide", "main", "t"))
    assert wanted <= column_bytes(wide, TableReference("wide", "main", "released")).get("illness", 0)


def test_names_of_any_kind(wide: Session) -> None:
    name = "a.b'\"c"
    wide.execute(render(create_table(table(name, "main"), exp.select("*").from_(table("large", "main")))))
    wide.execute("CHECKPOINT")
    size = column_bytes(wide, TableReference("wide", "main", name.upper()))
    assert size == column_bytes(wide, TableReference("wide", "main", "large"))
    assert size["illness"] > MEBIBYTE
    wide.execute("CREATE OR REPLACE VIEW seen AS FROM large")
    assert column_bytes(wide, TableReference("wide", "main", "seen")) == {}


@pytest.mark.usefixtures("patients")
def test_a_job_that_waited(jobs: JobManager, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk was filled meanwhile."""
    held = [submit(jobs, to(name)).number for name in "ab"]
    gate.wait_for(2)
    waiting = submit(jobs, to("c"))
    monkeypatch.setattr(disk, "free_bytes", lambda _: LEAST - 1)
    for number in held:
        jobs.cancel(number)
    failure = ended(jobs, waiting.number).failure
    assert failure is not None
    assert (failure.code, gate.started) == ("DISK_FULL", held)


def test_loads(jobs: JobManager, database: Database, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = Loads(database, jobs, [LoadDirectory(place)])
    path = place / "a.parquet"
    duckdb.sql(f"COPY (SELECT hash(i) AS n FROM range(20000) r(i)) TO '{path}'")
    target = TableReference("", "main", "loaded")
    of_file = LoadRequest(target, LoadMode.CREATE, "", path.name, ParquetFormat())
    needed = LEAST + path.stat().st_size // 10
    for free, request in ((LEAST - 1, LoadRequest(target, LoadMode.CREATE)), (needed - 1, of_file)):
        monkeypatch.setattr(disk, "free_bytes", lambda _, free=free: free)
        with pytest.raises(BusyError) as raised:
            loads.load(request, lambda: Rows(pa.table({"n": [1]})), Control())
        assert raised.value.code == "DISK_FULL"
    monkeypatch.setattr(disk, "free_bytes", lambda _: needed)
    assert loads.load(of_file, pytest.fail, Control()).load.rows == 20_000
