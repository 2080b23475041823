"""Kills a process at each step of a publication in Spark: the next start completes the release, or leaves no trace."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from tableveil.backend import Database, Settings, WarehouseSession, table
from tableveil.runtime import JobSettings, open_jobs
from tableveil.spark import SparkWarehouse
from tableveil.state.jobs import JobState
from tableveil.state.trials import open_swaps
from tests.migrated import opened
from tests.service.jobs.elsewhere import MADE
from tests.warehouses.conftest import MOST_COLLECTED, query, tree
from tests.warehouses.killed import MILLISECONDS_PER_ROW, SECONDS_TO_KILL, STEPS

ROOT = Path(__file__).resolve().parents[2]
ROWS = 200
RELEASED = {"released", "released_classes", "released_risk", "released_risk_histogram"}


@pytest.fixture
def path(spark_url: str, tmp_path: Path) -> Path:
    """A database file for a warehouse that has one table."""
    path = tmp_path / "ledger.duckdb"
    for database in opened(path):
        with database.session() as session, SparkWarehouse("lake", spark_url, MOST_COLLECTED).session(session) as rows:
            session.execute("CREATE SCHEMA clinic")
            session.execute(MADE[0].replace("{}", "clinic"))
            rows.execute(tree("DROP SCHEMA IF EXISTS clinic CASCADE"))
            rows.execute(tree("CREATE SCHEMA clinic"))
            rows.create(table("patients", "clinic", "lake"), query("SELECT * FROM clinic.patients"))
    return path


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_leaves_all_or_nothing(path: Path, spark_url: str, step: str) -> None:
    command = [sys.executable, "-m", "tests.warehouses.killed", str(path), spark_url, step]
    killed = subprocess.run(command, cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    since = time.monotonic()
    database = Database(Settings(path, threads=1))
    try:
        _check(database, spark_url, step, since)
    finally:
        database.close()


def _check(database: Database, spark_url: str, step: str, since: float) -> None:
    database.warehouses["lake"] = SparkWarehouse("lake", spark_url, MOST_COLLECTED)
    decided = step not in ("while rows are written", "once all is staged")
    with database.ledger() as ledger:
        assert bool(open_swaps(ledger, "lake")) == decided
        open_jobs(database, JobSettings(1)).close(10)
        assert open_swaps(ledger, "lake") == []
        (state,) = ledger.row("SELECT state FROM tableveil.job_outcomes")
        assert state == (JobState.SUCCEEDED if decided else JobState.INTERRUPTED)
    with database.session() as session, database.rows_session(session, "lake") as rows:
        expected = {"patients", *(RELEASED if decided else ())}
        assert {found.name for found in rows.listed("clinic")} == expected
        if decided:
            assert rows.value(tree("SELECT count(*) FROM lake.clinic.released")) > ROWS / 2
        if step == "while rows are written":
            # Spark would write for so long: nothing of it may come afterwards.
            lasting = 2 * ROWS * MILLISECONDS_PER_ROW / 1000
            time.sleep(max(0.0, since - SECONDS_TO_KILL + lasting - time.monotonic()))
        assert {path.name for path in _directory(rows).iterdir()} == expected


def _directory(rows: WarehouseSession) -> Path:
    file = rows.value("SELECT min(_metadata.file_path) FROM lake.clinic.patients")
    return Path(file.removeprefix("file:")).parents[1]
