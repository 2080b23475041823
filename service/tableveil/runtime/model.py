"""A job in the form for clients, the reason of its failure, and the interface to those who count jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Protocol

from tableveil.errors import (
    BY_KIND,
    BusyError,
    Change,
    FailureKind,
    Fault,
    InfeasibleError,
    Relaxation,
    TableveilError,
    Warned,
    passes,
)
from tableveil.policy import TableReference
from tableveil.state.jobs import JobKind, JobPhase, JobState, Request
from tableveil.state.publications import PublicationState


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a request or a job failed; `retry_seconds` says when a busy server may be asked again.

    Only readers of all the `releases` are told it.
    """

    kind: FailureKind
    code: str
    message: str
    faults: tuple[Fault, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    retry_seconds: float | None = None
    releases: tuple[int, ...] = ()

    @classmethod
    def of(cls, error: TableveilError) -> Failure:
        """The failure for an error of the tree."""
        kind = FailureKind.__members__.get(error.kind, FailureKind.INTERNAL)
        relaxations = error.relaxations if isinstance(error, InfeasibleError) else ()
        retry_seconds = error.retry_seconds if isinstance(error, BusyError) else None
        return cls(kind, error.code, error.message, error.faults, relaxations, retry_seconds, error.releases)

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later: it passes by itself, or a right was given since."""
        return passes(self.code, BY_KIND[self.kind]) or self.kind is FailureKind.DENIED

    def to_json(self) -> str:
        """As text for the store."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Failure:
        """The failure that `to_json` wrote."""
        stored = json.loads(text)
        faults = tuple(Fault(**fault) for fault in stored["faults"])
        relaxations = tuple(
            Relaxation(tuple(Change(**change) for change in relaxation["changes"]), relaxation["nearest"])
            for relaxation in stored["relaxations"]
        )
        kind = FailureKind(stored["kind"])
        return cls(kind, stored["code"], stored["message"], faults, relaxations, releases=tuple(stored["releases"]))

    def without_texts(self) -> Failure:
        """The failure for those who may not see all the releases that it depends on."""
        message = "the reason depends on releases of which you may not see all: submit it again"
        return Failure(self.kind, self.code, message)


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far the search of a job is; see `tableveil.control.Progress` and `RecentGain`."""

    checked: int
    lattice_size: str
    best_score: float | None
    lower_bound: float | None
    suppressed_share: float | None
    of_records: bool = False
    recent_gain: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job and its state; once it succeeded, `result` is the number of its result. Times are UTC without a zone.

    While it runs, `step` is the number of its statements so far, and the percentage that is done of the last one.
    """

    request: Request
    state: JobState
    phase: JobPhase | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    progress: JobProgress | None = None
    result: int | None = None
    failure: Failure | None = None
    warnings: tuple[Warned, ...] = ()
    queue_position: int = 0
    step: tuple[int, float] = (0, 0.0)

    def without_contents(self) -> Job:
        """The job for those who run the server: its state, without names of tables, and what was found out of them."""
        nothing = TableReference("", "", "")
        failure = self.failure and Failure(self.failure.kind, self.failure.code, "")
        request = replace(
            self.request, request_id="", policy="", options="", source=nothing, target_schema="", target_name=""
        )
        return replace(self, request=request, progress=None, failure=failure, result=None, warnings=())

    @property
    def number(self) -> int:
        """The number that names the job."""
        return self.request.number


class Observer(Protocol):
    """Is told of jobs and publications as they start and end, by the threads that run them."""

    def job_started(self, waited_seconds: float) -> None:
        """A job left the queue."""

    def job_ended(self, kind: JobKind, state: JobState, phases: Mapping[str, float], released_rows: int) -> None:
        """A job ended; `phases` are the seconds that it took in each."""

    def publication_ended(self, target: str, outcome: PublicationState) -> None:
        """An attempt to publish a release to a target, or to remove it from there, ended."""


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """How busy the server is; `oldest_seconds` is how long some job waits, and memory is in bytes."""

    queued: int
    running: int
    oldest_seconds: float
    granted: int
    memory: int


class Nobody:
    """An observer who does not look."""

    def job_started(self, waited_seconds: float) -> None:
        """Nothing."""

    def job_ended(self, kind: JobKind, state: JobState, phases: Mapping[str, float], released_rows: int) -> None:
        """Nothing."""

    def publication_ended(self, target: str, outcome: PublicationState) -> None:
        """Nothing."""
