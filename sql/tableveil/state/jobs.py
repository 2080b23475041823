"""The store of jobs, and their kinds: the request, the events, the outcome. Rows are only ever appended."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from tableveil.backend import Ledger, Scopes
from tableveil.errors import Warned
from tableveil.policy import TableReference
from tableveil.state import rights
from tableveil.state.classifications import CLASSIFICATIONS
from tableveil.state.dry_runs import DRY_RUNS
from tableveil.state.frontiers import FRONTIERS
from tableveil.state.mapper import SOURCE_COLUMNS, NumberedTable, Table
from tableveil.state.payout_sweeps import PAYOUT_SWEEPS
from tableveil.state.proposals import PROPOSALS
from tableveil.state.releases import RELEASES
from tableveil.state.risk_analyses import RISK_ANALYSES
from tableveil.state.seen import by_owner
from tableveil.state.utility_reports import UTILITY_REPORTS

Result = TypeVar("Result")


class JobKind(StrEnum):
    """The result of a job that succeeds."""

    RELEASE = "RELEASE"
    FRONTIER = "FRONTIER"
    PAYOUT_SWEEP = "PAYOUT_SWEEP"
    RISK_ANALYSIS = "RISK_ANALYSIS"
    CLASSIFICATION = "CLASSIFICATION"
    UTILITY_REPORT = "UTILITY_REPORT"
    DRY_RUN = "DRY_RUN"
    PROPOSAL = "PROPOSAL"


@dataclass(frozen=True, slots=True)
class StoredKind(Generic[Result]):
    """`collection` and a number name a result, `noun` is its word in messages; `results` has all, with their parts."""

    collection: str
    noun: str
    results: NumberedTable[Result]

    @property
    def module(self) -> str:
        """The modules with the kind's part of a package have this name, such as `payout_sweeps`."""
        return re.sub(r"(?=[A-Z])", "_", self.collection).lower()


KINDS: Mapping[JobKind, StoredKind[Any]] = {
    JobKind.RELEASE: StoredKind("releases", "release", RELEASES),
    JobKind.FRONTIER: StoredKind("frontiers", "frontier", FRONTIERS),
    JobKind.PAYOUT_SWEEP: StoredKind("payoutSweeps", "payout sweep", PAYOUT_SWEEPS),
    JobKind.RISK_ANALYSIS: StoredKind("riskAnalyses", "risk analysis", RISK_ANALYSES),
    JobKind.CLASSIFICATION: StoredKind("classifications", "classifier assessment", CLASSIFICATIONS),
    JobKind.UTILITY_REPORT: StoredKind("utilityReports", "utility report", UTILITY_REPORTS),
    JobKind.DRY_RUN: StoredKind("dryRuns", "dry run", DRY_RUNS),
    JobKind.PROPOSAL: StoredKind("proposals", "proposal", PROPOSALS),
}


class JobState(StrEnum):
    """The state of a job."""

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
    """The phase of a running job."""

    READING = "READING"
    COUNTING = "COUNTING"
    SEARCHING = "SEARCHING"
    WRITING = "WRITING"
    VERIFYING = "VERIFYING"


@dataclass(frozen=True, slots=True)
class Request:
    """The request: `policy` is the document as JSON, `digest` identifies it, `number` names the job.

    `options` are the request's other parts, as JSON. Only a job for a release has a target. The job belongs to `owner`.
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
    owner: str = ""


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
    """The outcome of a job: `result` is the number of its result if it succeeded, else `failure` says why, as JSON."""

    state: JobState
    at: datetime
    result: int | None = None
    failure: str | None = None
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as the store knows it: its request, first and last event, outcome."""

    request: Request
    started_at: datetime | None
    last_event: Event | None
    outcome: Outcome | None


_REQUESTS = NumberedTable("jobs", Request, "job_numbers", names={"digest": "policy_digest"})
_READS = Table("job_reads", TableReference, "job", names=SOURCE_COLUMNS)
_STATE = (
    "coalesce((SELECT state FROM tableveil.job_outcomes WHERE job = number), CASE WHEN number IN "
    "(SELECT job FROM tableveil.job_events) THEN 'RUNNING' ELSE 'QUEUED' END)"
)
"""The state of a stored job."""

_EVENTS = Table("job_events", Event, "job", names={"at": "happened_at"})
_OUTCOMES = Table("job_outcomes", Outcome, "job", names={"at": "happened_at"})


def now() -> datetime:
    """The time in UTC, without a zone; not the database's, whose clock stands still during a transaction."""
    return datetime.now(UTC).replace(tzinfo=None)


def next_number(ledger: Ledger) -> int:
    """A number no job has."""
    return _REQUESTS.next_number(ledger)


def insert_request(ledger: Ledger, request: Request, reads: Iterable[TableReference] = ()) -> Scopes:
    """Stores a request and the tables that it reads; an empty request id is none.

    Returns the rights by which the job is admitted, which are stored with it.
    """
    admitted = ledger.visibility.compared
    with ledger.transaction():
        _REQUESTS.insert(ledger, [request])
        _READS.insert(ledger, list(reads), request.number)
        rights.insert(ledger, request.number, admitted)
    return admitted


def reads_of(ledger: Ledger, release: int) -> list[TableReference]:
    """The tables that were read for a release."""
    condition = "job = (SELECT job FROM tableveil.releases WHERE number = ?)"
    return _READS.where(ledger, condition, [release])


def insert_event(ledger: Ledger, job: int, event: Event) -> None:
    """Appends an event."""
    _EVENTS.insert(ledger, [event], job)


def insert_outcome(ledger: Ledger, job: int, outcome: Outcome) -> None:
    """Ends a job; the primary key admits one outcome."""
    _OUTCOMES.insert(ledger, [outcome], job)


def find_request(ledger: Ledger, request_id: str, kind: JobKind) -> Request | None:
    """The principal's latest request of a kind with that id."""
    condition = "request_id = ? AND request_id <> '' AND kind = ? AND owner = ?"
    parameters = [request_id, kind.value, ledger.visibility.principal]
    requests = _REQUESTS.where(ledger, condition, parameters, "ORDER BY number DESC LIMIT 1")
    return requests[0] if requests else None


def exists(ledger: Ledger, number: int) -> bool:
    """Whether there is a job of that number that the ledger shows."""
    seen, values = by_owner(ledger.visibility)
    return bool(ledger.rows(f"SELECT 1 FROM tableveil.jobs WHERE number = ? AND {seen}", [number, *values]))


def owner_of(ledger: Ledger, number: int) -> str:
    """The principal who submitted a job."""
    rows = ledger.rows("SELECT owner FROM tableveil.jobs WHERE number = ?", [number])
    return str(rows[0][0]) if rows else ""


def find_all(ledger: Ledger, numbers: Sequence[int]) -> list[StoredJob]:
    """The jobs with these numbers that exist, in any order."""
    started = dict(
        ledger.rows(
            "SELECT job, min(happened_at) FROM tableveil.job_events "
            "WHERE job BETWEEN ? AND ? AND list_contains(?::BIGINT[], job) GROUP BY job",
            [min(numbers, default=0), max(numbers, default=0), list(numbers)],
        )
    )
    # A job that runs for hours has thousands.
    last = "QUALIFY row_number() OVER (PARTITION BY job ORDER BY happened_at DESC, rowid DESC) = 1"
    events, outcomes = _EVENTS.of(ledger, numbers, last), _OUTCOMES.of(ledger, numbers)
    return [
        StoredJob(
            request,
            started.get(request.number),
            next(iter(events[request.number]), None),
            next(iter(outcomes[request.number]), None),
        )
        for request in _REQUESTS.among(ledger, numbers)
    ]


def page(ledger: Ledger, before: int | None, size: int, states: Collection[JobState] = ()) -> list[int]:
    """The numbers of the next `size` jobs below `before` that are in one of the states, or in any; newest first."""
    below = before if before is not None else 2**62
    seen, values = by_owner(ledger.visibility)
    if states:
        seen += f" AND list_contains(?::VARCHAR[], {_STATE})"
        values = [*values, [state.value for state in states]]
    query = f"SELECT number FROM tableveil.jobs WHERE number < ? AND {seen} ORDER BY number DESC LIMIT ?"
    return [number for (number,) in ledger.rows(query, [below, *values, size])]


def has_ended(ledger: Ledger, number: int) -> bool:
    """Whether the job of that number has an outcome."""
    return bool(ledger.rows("SELECT 1 FROM tableveil.job_outcomes WHERE job = ?", [number]))


def target_schemas(ledger: Ledger) -> set[str]:
    """The schemas that jobs ever were to write to."""
    return {schema for (schema,) in ledger.rows("SELECT DISTINCT target_schema FROM tableveil.jobs")} - {""}


def unfinished(ledger: Ledger) -> list[int]:
    """Numbers of the jobs without an outcome."""
    # A release that only lacks its names in a warehouse is completed.
    decided = "SELECT job FROM tableveil.releases JOIN tableveil.release_swaps ON release = number"
    rows = ledger.rows(
        "SELECT number FROM tableveil.jobs ANTI JOIN tableveil.job_outcomes ON number = job "
        f"WHERE number NOT IN ({decided}) ORDER BY 1"
    )
    return [number for (number,) in rows]
