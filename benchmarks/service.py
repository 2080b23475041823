"""The service in this process, without the network: policies go in as messages, releases come out of the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Database, Session, Settings, Warehouse, column, create_table, table
from tableveil.convert import canonical_json, policy_from_proto
from tableveil.errors import InvalidError, TableveilError
from tableveil.lookups import Releases
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.work import Work
from tableveil.policy import Guard, IfExists, Policy, ReleaseGuards, ReleaseTarget
from tableveil.runtime import Failure, Job, open_jobs
from tableveil.state.releases import Release
from tests.service.convert.policy_to_proto import policy_to_proto

TARGET = ReleaseTarget(
    "released",
    "release",
    if_exists=IfExists.REPLACE,
    guards=ReleaseGuards(off=(Guard.FEWER_RECORDS, Guard.ERASED_COLUMNS)),
)
"""Where every measured job writes, whatever the one before wrote."""

SECONDS_TO_STOP = 60.0
ROWS_PER_BATCH = 100_000


@dataclass(frozen=True, slots=True)
class Run:
    """One job from submission to outcome: its release, or why there is none."""

    seconds: float
    release: Release | None
    failure: Failure | None

    @property
    def outside_phases(self) -> float:
        """Seconds outside all phases: submission, queue, bookkeeping, commit, reading the result."""
        return self.seconds - sum(self.release.phase_seconds.values()) if self.release is not None else self.seconds


class LocalService:
    """A `database` with a job manager on it, as the server runs them. Use it in a `with` statement."""

    def __init__(
        self,
        path: Path,
        memory_limit: str | None = None,
        threads: int | None = None,
        warehouses: Sequence[Warehouse] = (),
    ) -> None:
        self.database = Database(Settings(path, memory_limit, threads))
        self.database.warehouses.update({warehouse.name: warehouse for warehouse in warehouses})
        self._manager = open_jobs(self.database)
        with self.session() as session:
            session.execute(f"CREATE SCHEMA IF NOT EXISTS {TARGET.schema}")

    def __enter__(self) -> LocalService:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._manager.close(SECONDS_TO_STOP)
        self.database.close()

    def session(self) -> Session:
        """A session of the same database, for what is measured beside the jobs."""
        return self.database.session()

    def load(self, name: str, rows: pa.Table) -> None:
        """Creates a table in the schema `main`."""
        with self.session() as session, session.relation("loaded", rows):
            session.execute(create_table(table(name, "main"), exp.select("*").from_(table("loaded"))))

    def group_by(self, name: str, columns: Sequence[str]) -> float:
        """Seconds of one plain GROUP BY over columns of a table in `main`, all its rows read as Arrow."""
        query = exp.select(*map(column, columns), exp.Count(this=exp.Star())).from_(table(name, "main"))
        started = time.monotonic()
        with self.session() as session:
            for _ in session.batches(query.group_by(*map(column, columns)), ROWS_PER_BATCH):
                pass
        return time.monotonic() - started

    def submit(self, work: Work) -> int:
        """Queues a job and returns its number."""
        return self._manager.submit(work).number

    def ended(self, number: int) -> Job:
        """Waits for the end of a job."""
        *_, job = self._manager.watch(number, stopped=lambda: False)
        return job

    def run(
        self, policy: Policy, watch: Callable[[Job], None] = lambda job: None, *, target: ReleaseTarget = TARGET
    ) -> Run:
        """Submits the policy as a client would, with this target, and waits for the outcome.

        `watch` is called with each state of the job that a watcher is sent.
        """
        message = policy_to_proto(
            replace(policy, release=target, repeat_reason="A benchmark releases the same rows again and again.")
        )
        started = time.monotonic()
        try:
            converted, faults = policy_from_proto(message)
            if converted is None or faults:
                raise InvalidError("POLICY_INVALID", "; ".join(map(str, faults)), faults)
            job = self._manager.submit(release_work(converted, canonical_json(message)))
        except TableveilError as error:
            return Run(time.monotonic() - started, None, Failure.of(error))
        for seen in self._manager.watch(job.number, stopped=lambda: False):
            watch(seen)
            job = seen
        ended = time.monotonic()
        if job.result is None:
            return Run(ended - started, None, job.failure)
        return Run(ended - started, Releases(self.database).get(job.result), None)
