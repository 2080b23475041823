"""A job over Spark that is cancelled at any time ends soon, and leaves no table, no file of one and no task."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from sqlglot import exp

from tableveil.backend import Database, WarehouseSession, column, in_order, table
from tableveil.control import Control, Stopped
from tableveil.pipelines.anonymize import release_work
from tableveil.runtime import JobSettings, open_jobs
from tableveil.spark import SparkWarehouse
from tableveil.spark import session as spark_session
from tableveil.state.jobs import JobPhase, JobState
from tests.migrated import opened
from tests.service.jobs.elsewhere import MADE, SECONDS, done
from tests.service.jobs.managed import ended
from tests.warehouses.conftest import MOST_COLLECTED, query, tree
from tests.warehouses.killed import RELEASE
from tests.warehouses.tasks import Tasks

PHASES = (JobPhase.READING, JobPhase.COUNTING, JobPhase.WRITING, JobPhase.VERIFYING)

STEPS = {
    "fingerprint": "tableveil.source.fingerprint._totals",
    "sampled values": "tableveil.source.fingerprint.sketch_elsewhere",
    "facts": "tableveil.pipelines.read.check_facts",
    "values": "tableveil.pipelines.read.build_dictionary",
    "counting": "tableveil.pipelines.read.build_base",
    "exposure": "tableveil.lifecycle.publish.check_exposure",
    "writing rows": "tableveil.release.write.write_rows",
    "verifying": "tableveil.lifecycle.publish.verify",
    "fingerprint afterwards": "tableveil.lifecycle.publish._check_unchanged",
}
"""The work of a job by the function that does it, in the order of the job."""

ENDLESS = "CREATE VIEW slow.numbers AS SELECT id FROM range(100000000000000)"

SECONDS_TO_END = 5.0
"""How long a cancelled job and its tasks may take to end, from the cancel on; what it staged is dropped by then."""

DELAYS = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.1)
"""From the planning of a statement to its running: seconds from its start to its cancel."""


@pytest.fixture
def database(spark_url: str, tmp_path: Path) -> Iterator[Database]:
    """A database whose warehouse has one table in the schema `clinic`, and numbers without an end in `slow`."""
    for database in opened(tmp_path / "ledger.duckdb"):
        database.warehouses["lake"] = SparkWarehouse("lake", spark_url, MOST_COLLECTED)
        with database.session() as session, database.rows_session(session, "lake") as rows:
            session.execute("CREATE SCHEMA clinic")
            session.execute(MADE[0].replace("{}", "clinic"))
            for schema in ("clinic", "slow"):
                rows.execute(tree(f"DROP SCHEMA IF EXISTS {schema} CASCADE"))
                rows.execute(tree(f"CREATE SCHEMA {schema}"))
            rows.create(table("patients", "clinic", "lake"), query("SELECT * FROM clinic.patients"))
            assert isinstance(rows, spark_session.SparkSession)
            rows._connection.run(lambda spark: spark.sql(ENDLESS), None)
        yield database


def test_nothing_is_left(database: Database) -> None:
    jobs = open_jobs(database, JobSettings(1))
    for phase in PHASES:
        number = jobs.submit(release_work(RELEASE, "{}")).number
        for seen in jobs.watch(number, stopped=lambda: False):
            if seen.phase is phase:
                jobs.cancel(number)
        assert seen.state is JobState.CANCELLED
        _check_nothing_is_left(database)
    jobs.close(10)


def test_running_statements(database: Database, spark_tasks: Tasks) -> None:
    """One statement of each step never ends; the job is cancelled once Spark computes it. The next job works."""
    jobs = open_jobs(database, JobSettings(1))
    assert spark_tasks.wait_for_none(SECONDS)
    for step, work in STEPS.items():
        with _endless(work) as started:
            number = jobs.submit(release_work(RELEASE, "{}")).number
            assert started.wait(SECONDS), step
            assert spark_tasks.wait_for_some(SECONDS), step
            # A statement that ends by itself would have.
            time.sleep(1)
            assert spark_tasks.running(), step
            cancelled = time.monotonic()
            jobs.cancel(number)
            assert ended(jobs, number, SECONDS).state is JobState.CANCELLED, step
            assert time.monotonic() - cancelled < SECONDS_TO_END, step
        assert spark_tasks.wait_for_none(cancelled + SECONDS_TO_END - time.monotonic()), step
        _check_nothing_is_left(database)
    jobs.close(10)
    assert done(database, RELEASE).state is JobState.SUCCEEDED


@contextmanager
def _endless(step: str) -> Iterator[threading.Event]:
    """The first statement of a function that reads a table never ends; the event tells that it has started."""
    armed, started = threading.Event(), threading.Event()
    run, execute = spark_session.SparkSession._run, spark_session.SparkSession.execute

    def slowed(statement: exp.Expr | str) -> exp.Expr | str:
        found = tree(statement) if isinstance(statement, str) else statement.copy()
        query = found.expression if isinstance(found, exp.Insert) else found
        read = next((each for each in query.find_all(exp.Table) if each.db == "clinic"), None)
        if not armed.is_set() or started.is_set() or read is None:
            return statement
        started.set()
        rows = exp.select("t.*").from_(exp.alias_(table(read.name, "clinic", "lake"), "t", table=True))
        rows = rows.join("lake.slow.numbers AS n", join_type="CROSS", dialect="duckdb")
        read.replace(rows.where("n.id % 1000003 = 0", dialect="duckdb").subquery(read.alias or read.name))
        return found

    def running(self: Any, statement: Any, parameters: Sequence[object], read: Callable[..., Any]) -> Any:
        # Others only bind the statement, and rows are counted before they are written.
        runs = read in (spark_session._fetched, spark_session._streamed) and not step.endswith("write_rows")
        return run(self, slowed(statement) if runs else statement, parameters, read)

    def executing(self: Any, statement: Any, parameters: Sequence[object] = ()) -> None:
        execute(self, slowed(statement) if isinstance(statement, exp.Insert) else statement, parameters)

    module, _, name = step.rpartition(".")
    work = getattr(__import__(module, fromlist=[name]), name)

    def begun(*values: Any, **named: Any) -> Any:
        armed.set()
        return work(*values, **named)

    with (
        patch(step, begun),
        patch.object(spark_session.SparkSession, "_run", running),
        patch.object(spark_session.SparkSession, "execute", executing),
    ):
        yield started


def _check_nothing_is_left(database: Database) -> None:
    with database.session() as session, database.rows_session(session, "lake") as rows:
        assert [found.name for found in rows.listed("clinic")] == ["patients"]
        file = rows.value("SELECT min(_metadata.file_path) FROM lake.clinic.patients")
        directory = Path(file.removeprefix("file:")).parents[1]
        assert [path.name for path in directory.iterdir()] == ["patients"]


# --- statements -----------------------------------------------------------------------------------------------------


def test_a_statement_that_is_being_planned(database: Database, spark_tasks: Tasks) -> None:
    """A stage that Spark starts after the cancel runs for ever: adaptive execution starts stages in other threads."""
    grouped = tree(
        "SELECT CAST(f.i AS BIGINT) % 10 AS g, max(n.id) AS m FROM lake.slow.numbers AS n "
        "JOIN lake.slow.few AS f ON n.id % 1000003 = f.i GROUP BY ALL"
    )
    numbers = query(
        "SELECT n.id FROM lake.slow.numbers AS n JOIN lake.slow.few AS f ON n.id % 1000003 = f.i WHERE n.id % 1009 = 0"
    )
    with database.session() as embedded, database.rows_session(embedded, "lake") as rows:
        rows.write(table("few", "slow", "lake"), query("SELECT i FROM unnest(generate_series(1, 50000)) AS v(i)"))
        written = table("written", "slow", "lake")
        for delay in DELAYS:
            _check_cancelled(rows, lambda: rows.rows(grouped), delay, spark_tasks)
            _check_cancelled(rows, lambda: rows.write(written, in_order(numbers, [column("id")])), delay, spark_tasks)
            rows.control = Control()
            rows.execute("DROP TABLE IF EXISTS lake.slow.written")


def _check_cancelled(rows: WarehouseSession, work: Callable[[], object], delay: float, tasks: Tasks) -> None:
    control = rows.control = Control()
    timer = threading.Timer(delay, control.cancel)
    timer.start()
    with pytest.raises(Stopped):
        work()
    timer.join()
    # Stages that were being planned have started by then.
    time.sleep(1)
    assert tasks.wait_for_none(SECONDS_TO_END), delay
