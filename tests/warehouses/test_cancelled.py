"""A job over Spark that is cancelled in any of its phases leaves no table, and no file of one."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from tableveil.backend import table
from tableveil.pipelines.anonymize import release_work
from tableveil.runtime import JobManager
from tableveil.spark import SparkWarehouse
from tableveil.state.jobs import JobPhase, JobState
from tests.migrated import opened
from tests.service.jobs.elsewhere import MADE
from tests.warehouses.conftest import MOST_COLLECTED, query, tree
from tests.warehouses.killed import RELEASE

PHASES = (JobPhase.READING, JobPhase.COUNTING, JobPhase.WRITING, JobPhase.VERIFYING)


def test_nothing_is_left(spark_url: str, tmp_path: Path) -> None:
    for database in opened(tmp_path / "ledger.duckdb"):
        database.warehouses["lake"] = SparkWarehouse("lake", spark_url, MOST_COLLECTED)
        with database.session() as session, database.rows_session(session, "lake") as rows:
            session.execute("CREATE SCHEMA clinic")
            session.execute(MADE[0].replace("{}", "clinic"))
            rows.execute(tree("DROP SCHEMA IF EXISTS clinic CASCADE"))
            rows.execute(tree("CREATE SCHEMA clinic"))
            rows.create(table("patients", "clinic", "lake"), query("SELECT * FROM clinic.patients"))
            file = rows.value("SELECT min(_metadata.file_path) FROM lake.clinic.patients")
            directory = Path(file.removeprefix("file:")).parents[1]
            jobs = JobManager(database, 1)
            for phase in PHASES:
                number = jobs.submit(release_work(RELEASE, "{}")).number
                for seen in jobs.watch(number, stopped=lambda: False):
                    if seen.phase is phase:
                        jobs.cancel(number)
                assert seen.state is JobState.CANCELLED
                assert [found.name for found in rows.listed("clinic")] == ["patients"]
                assert [path.name for path in directory.iterdir()] == ["patients"]
            jobs.close(10)
