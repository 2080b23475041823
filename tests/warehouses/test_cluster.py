"""Spark with executors of its own: one is killed, a disk is full, a path is closed, the server is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from tableveil.backend import Session, WarehouseSession, column, in_order, table
from tableveil.errors import BusyError, InvalidError
from tableveil.pipelines.anonymize import release_work
from tableveil.runtime import JobSettings, open_jobs
from tableveil.spark import SparkWarehouse
from tableveil.spark import local as local_server
from tableveil.spark.local import LocalServer
from tableveil.state.jobs import JobPhase
from tests.migrated import opened
from tests.service.jobs.elsewhere import MADE, POLICY
from tests.warehouses.conftest import MOST_COLLECTED, query, tree

DISK = "24m"
EXECUTORS = 2

# Root reads everything, unless it may not.
CLOSED_TO_ROOT = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The server's, whose place to spill is small where the test may mount one."""
    directory = tmp_path_factory.mktemp("cluster")
    spill = directory / "spill"
    spill.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(spill)]
    mounted = os.geteuid() == 0 and subprocess.run(mount, check=False).returncode == 0
    yield directory
    if mounted:
        subprocess.run(["umount", "--lazy", str(spill)], check=True)


@pytest.fixture(scope="module")
def server(spark_url: str, directory: Path) -> Iterator[LocalServer]:
    """Skipped where that of all tests is."""
    started = _start(directory)
    yield started
    started.kill()


def _start(directory: Path, port: int = 0) -> LocalServer:
    popen = subprocess.Popen

    def closed(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        closing = CLOSED_TO_ROOT if os.geteuid() == 0 and shutil.which(CLOSED_TO_ROOT[0]) else ()
        return popen([*closing, *command], **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_server, "MASTER", f"local-cluster[{EXECUTORS},1,1024]")
        patched.setattr(subprocess, "Popen", closed)
        return LocalServer(directory, persistent=False, port=port)


@pytest.fixture
def rows(server: LocalServer, embedded: Session) -> Iterator[WarehouseSession]:
    with SparkWarehouse("lake", server.url, MOST_COLLECTED).session(embedded) as session:
        session.execute(tree("CREATE SCHEMA IF NOT EXISTS clinic"))
        yield session


def _executors(server: LocalServer) -> list[int]:
    """Their processes, oldest first."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            group = int((path / "stat").read_text().rpartition(")")[2].split()[2])
            if group == server.group and b"CoarseGrainedExecutorBackend" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return sorted(found)


def test_an_executor_that_is_killed_loses_no_row(server: LocalServer, rows: WarehouseSession) -> None:
    """Spark counts again what the executor had counted."""
    numbers = query("SELECT i, i % 1000 AS k FROM unnest(generate_series(1, 400000)) AS v(i)")
    rows.write(table("numbers", "clinic", "lake"), in_order(numbers, [column("i")]))
    counted = query(
        "SELECT a.k, count(*) AS n FROM lake.clinic.numbers AS a JOIN lake.clinic.numbers AS b ON a.k = b.k "
        "WHERE (a.i + b.i) % 7 <> 3 GROUP BY a.k"
    )
    assert rows.collect("before", counted) == 1000
    killed = _executors(server)
    assert killed
    timer = threading.Timer(1.0, os.kill, (killed[0], signal.SIGKILL))
    timer.start()
    assert rows.collect("after", counted) == 1000
    timer.join()
    assert killed[0] not in _executors(server)
    embedded = rows.embedded
    assert embedded.value("SELECT count(*) FROM (FROM before EXCEPT FROM after)") == 0


def test_a_path_without_rights(rows: WarehouseSession) -> None:
    if os.geteuid() == 0 and shutil.which(CLOSED_TO_ROOT[0]) is None:
        pytest.skip("root may read everything")
    rows.execute(tree("CREATE TABLE lake.clinic.closed AS SELECT 'Smith' AS name"))
    file = Path(rows.value("SELECT min(_metadata.file_path) FROM lake.clinic.closed").removeprefix("file:"))
    file.chmod(0)
    with pytest.raises(InvalidError) as raised:
        rows.collect("names", query("SELECT name FROM lake.clinic.closed"))
    assert raised.value.code == "WAREHOUSE_DENIED"
    assert "clinic" not in str(raised.value)
    file.parent.chmod(0o500)
    file.chmod(0o600)
    with pytest.raises(InvalidError) as raised:
        rows.execute(tree("INSERT INTO lake.clinic.closed SELECT 'Jones'"))
    assert raised.value.code == "WAREHOUSE_DENIED"
    file.parent.chmod(0o700)


def test_a_full_disk(directory: Path, rows: WarehouseSession) -> None:
    if not os.path.ismount(directory / "spill"):
        pytest.skip("the test may not mount a disk that is full")
    text = "md5(CAST(i AS VARCHAR)) || md5(CAST(-i AS VARCHAR))"
    many = query(f"SELECT {text} AS t FROM unnest(generate_series(1, 1000000)) AS v(i)")
    with pytest.raises(BusyError) as raised:
        rows.write(table("many", "clinic", "lake"), in_order(many, [column("t")]))
    assert raised.value.code == "WAREHOUSE_DISK_FULL"
    rows.execute(tree("DROP TABLE lake.clinic.many"))
    assert rows.value(tree("SELECT 1")) == 1


def test_a_server_that_is_killed_in_the_middle(server: LocalServer, rows: WarehouseSession, tmp_path: Path) -> None:
    """The job fails soon, and nothing is released."""
    for database in opened(tmp_path / "ledger.duckdb"):
        database.warehouses["lake"] = SparkWarehouse("lake", server.url, MOST_COLLECTED)
        with database.session() as session:
            session.execute("CREATE SCHEMA clinic")
            session.execute(MADE[0].replace("{}", "clinic"))
            with database.rows_session(session, "lake") as lake:
                lake.create(table("patients", "clinic", "lake"), query("SELECT * FROM clinic.patients"))
        jobs = open_jobs(database, JobSettings(1))
        number = jobs.submit(release_work(POLICY, "{}")).number
        for seen in jobs.watch(number, stopped=lambda: False):
            if seen.phase is JobPhase.COUNTING:
                server.kill()
        jobs.close(10)
        assert seen.failure is not None
        assert seen.failure.code == "WAREHOUSE_UNAVAILABLE"
        with database.ledger() as ledger:
            assert ledger.rows("SELECT number FROM tableveil.releases") == []
