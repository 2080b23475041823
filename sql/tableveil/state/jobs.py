"""The store of jobs: what was asked, what happened, how it ended. Rows are only ever appended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from tableveil.backend import Session
from tableveil.policy import TableReference


class JobKind(StrEnum):
    """What comes out of a job that succeeds."""

    RELEASE = "RELEASE"
    FRONTIER = "FRONTIER"
    PAYOUT_SWEEP = "PAYOUT_SWEEP"
    RISK_ANALYSIS = "RISK_ANALYSIS"
    CLASSIFICATION = "CLASSIFICATION"
    UTILITY_REPORT = "UTILITY_REPORT"


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    INTERRUPTED = "INTERRUPTED"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to the job."""
        return self not in (JobState.QUEUED, JobState.RUNNING)


class JobPhase(StrEnum):
    """What a running job is doing."""

    READING = "READING"
    COUNTING = "COUNTING"
    SEARCHING = "SEARCHING"
    WRITING = "WRITING"
    VERIFYING = "VERIFYING"


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked: `policy` is the document as JSON, `digest` identifies it, `number` names the job.

    `options` is what was asked for beside it, as JSON. Only a job for a release has a target.
    """

    number: int
    request_id: str
    policy: str
    digest: str
    source: TableReference
    target_schema: str
    target_name: str
    submitted_at: datetime
    kind: JobKind = JobKind.RELEASE
    options: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """A phase that began, or progress within it. Scores are None outside the search."""

    at: datetime
    phase: JobPhase
    checked: int | None = None
    lattice_size: str | None = None
    best_score: float | None = None
    lower_bound: float | None = None
    suppressed_share: float | None = None
    of_records: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: `result` is the number of what came out if it succeeded, else `failure` says why, as JSON."""

    state: JobState
    at: datetime
    result: int | None = None
    failure: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as the store knows it: its request, first and last event, outcome."""

    request: Request
    started_at: datetime | None
    last_event: Event | None
    outcome: Outcome | None


def now() -> datetime:
    """The time in UTC, without a zone; not the database's, whose clock stands still during a transaction."""
    return datetime.now(UTC).replace(tzinfo=None)


def next_number(session: Session) -> int:
    """A number no job has."""
    number: int = session.value("SELECT nextval('tableveil.job_numbers')")
    return number


def insert_request(session: Session, request: Request) -> None:
    """Stores a request; an empty request id is none."""
    with session.transaction():
        session.execute(
            "INSERT INTO tableveil.jobs (number, request_id, policy, policy_digest, source_catalog, source_schema, "
            "source_table, target_schema, target_name, submitted_at, kind, options) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                request.number,
                request.request_id or None,
                request.policy,
                request.digest,
                request.source.catalog,
                request.source.schema,
                request.source.table,
                request.target_schema,
                request.target_name,
                request.submitted_at,
                request.kind.value,
                request.options,
            ],
        )


def insert_event(session: Session, job: int, event: Event) -> None:
    """Appends an event."""
    session.execute(
        "INSERT INTO tableveil.job_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            job,
            event.at,
            event.phase.value,
            event.checked,
            event.lattice_size,
            event.best_score,
            event.lower_bound,
            event.suppressed_share,
            event.of_records,
        ],
    )


def insert_outcome(session: Session, job: int, outcome: Outcome, kind: JobKind = JobKind.RELEASE) -> None:
    """Ends a job of that kind, which only matters if it succeeded; the primary key admits one outcome."""
    session.execute(
        f"INSERT INTO tableveil.job_outcomes (job, state, happened_at, failure, warnings, {kind.lower()}) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [job, outcome.state.value, outcome.at, outcome.failure, list(outcome.warnings), outcome.result],
    )


def find_request(session: Session, request_id: str, kind: JobKind = JobKind.RELEASE) -> Request | None:
    """The latest request of a kind with that id: one policy, with its id, may be used for several kinds."""
    rows = session.rows(
        f"{_REQUESTS} WHERE request_id = ? AND kind = ? ORDER BY number DESC LIMIT 1", [request_id, kind.value]
    )
    return _request(*rows[0]) if rows else None


def exists(session: Session, number: int) -> bool:
    """Whether there is a job of that number."""
    return bool(session.rows("SELECT 1 FROM tableveil.jobs WHERE number = ?", [number]))


def find_all(session: Session, numbers: Sequence[int]) -> list[StoredJob]:
    """Those of the jobs that there are, in any order."""
    rows = session.rows(
        f"{_REQUESTS} WHERE number BETWEEN ? AND ? AND list_contains(?::BIGINT[], number)",
        [min(numbers, default=0), max(numbers, default=0), list(numbers)],
    )
    return _with_history(session, [_request(*row) for row in rows])


def page(session: Session, before: int | None, size: int) -> list[int]:
    """The numbers of the next `size` jobs below `before`, newest first."""
    below = before if before is not None else 2**62
    query = "SELECT number FROM tableveil.jobs WHERE number < ? ORDER BY number DESC LIMIT ?"
    return [number for (number,) in session.rows(query, [below, size])]


def has_ended(session: Session, number: int) -> bool:
    """Whether the job of that number has an outcome."""
    return bool(session.rows("SELECT 1 FROM tableveil.job_outcomes WHERE job = ?", [number]))


def unfinished(session: Session) -> list[int]:
    """Numbers of the jobs without an outcome."""
    rows = session.rows("SELECT number FROM tableveil.jobs ANTI JOIN tableveil.job_outcomes ON number = job ORDER BY 1")
    return [number for (number,) in rows]


_REQUESTS = (
    "SELECT number, coalesce(request_id, ''), policy, policy_digest, source_catalog, source_schema, source_table, "
    "target_schema, target_name, submitted_at, kind, options FROM tableveil.jobs"
)


def _request(
    number: int,
    request_id: str,
    policy: str,
    digest: str,
    catalog: str,
    schema: str,
    table: str,
    target_schema: str,
    target_name: str,
    submitted_at: datetime,
    kind: str,
    options: str,
) -> Request:
    source = TableReference(catalog, schema, table)
    return Request(
        number, request_id, policy, digest, source, target_schema, target_name, submitted_at, JobKind(kind), options
    )


def _with_history(session: Session, requests: Sequence[Request]) -> list[StoredJob]:
    numbers = [request.number for request in requests]
    span = [min(numbers, default=0), max(numbers, default=0)]
    # A job that runs for hours has thousands; who asks for it reads two of them.
    started: dict[int, datetime] = {}
    last: dict[int, Event] = {}
    for job, first, event in session.rows(
        "SELECT job, min(happened_at), arg_max(e, (happened_at, rowid)) FROM tableveil.job_events AS e "
        "WHERE job BETWEEN ? AND ? GROUP BY job",
        span,
    ):
        _, at, phase, *progress = event.values()
        started[job], last[job] = first, Event(at, JobPhase(phase), *progress)
    outcomes = {
        job: Outcome(JobState(state), at, _result(results), failure, tuple(warnings))
        for job, state, at, failure, warnings, *results in session.rows(
            f"SELECT job, state, happened_at, failure, warnings, {', '.join(kind.lower() for kind in JobKind)} "
            "FROM tableveil.job_outcomes WHERE job BETWEEN ? AND ?",
            span,
        )
    }
    return [
        StoredJob(request, started.get(request.number), last.get(request.number), outcomes.get(request.number))
        for request in requests
    ]


def _result(results: Sequence[int | None]) -> int | None:
    """The number of what came out, of one for each kind of job."""
    return next((result for result in results if result is not None), None)
