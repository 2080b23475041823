"""The context of a running job: its database session, its control, its reports, and its end."""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Database, Session, WarehouseSession
from tableveil.control import Control, Progress
from tableveil.errors import Warned, by_rank
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.state import jobs
from tableveil.state.jobs import JobPhase, JobState, Outcome
from tableveil.state.mapper import NumberedTable


@dataclass(slots=True)
class JobReport:
    """Reports each phase as it begins, and the progress of the search; measures the phases."""

    on_phase: Callable[[JobPhase], None] = lambda phase: None
    on_progress: Callable[[Progress], None] = lambda progress: None
    started: float = field(default_factory=time.monotonic)
    _began: list[tuple[JobPhase, float]] = field(default_factory=list)

    def phase(self, phase: JobPhase) -> None:
        """Reports that a phase begins."""
        self._began.append((phase, time.monotonic()))
        self.on_phase(phase)

    def elapsed(self) -> float:
        """Seconds since the job started."""
        return time.monotonic() - self.started

    def seconds(self) -> dict[str, float]:
        """Seconds of each phase; the last one's up to now. A job that ends before the first has none."""
        ends = [*(began for _, began in self._began[1:]), time.monotonic()]
        return {phase.value.lower(): end - began for (phase, began), end in zip(self._began, ends, strict=False)}


EVERY_SCHEMA = "*"
"""Stands for every schema among those whose releases need approval."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundPartition:
    """The class of each combination of codes, in which local recoding put it under some policy."""

    codes: NDArray[np.integer[Any]]
    classes: NDArray[np.int64]

    def of(self, codes: NDArray[np.integer[Any]]) -> NDArray[np.int64] | None:
        """The classes of the same combinations in another order; None if they are others."""
        own, other = np.lexsort(self.codes.T), np.lexsort(codes.T)
        if not np.array_equal(self.codes[own], codes[other]):
            return None
        classes = np.empty(len(codes), np.int64)
        classes[other] = self.classes[own]
        return classes


@dataclass(frozen=True, slots=True)
class JobContext:
    """Everything that a running job works with.

    `session` belongs to the job alone and stops when `control` says so. If the rows are in a warehouse, `elsewhere` is
    the job's session there. `document` is the request as JSON. Releases into the schemas `approval` wait for it.
    `policy_of` reads the policies of earlier releases, where some are judged together with the job's. A job that
    `advises` searches for what other policies would give. Local recoding begins with the `partitions` that it found
    under other policies of the same rows, and adds its own; a job that compares policies so looks for no bounds.
    """

    number: int
    document: str
    database: Database
    session: Session
    control: Control
    report: JobReport = field(default_factory=JobReport)
    approval: frozenset[str] = frozenset()
    elsewhere: WarehouseSession | None = None
    policy_of: PolicyOf | None = None
    advises: bool = False
    partitions: list[FoundPartition] | None = None

    @property
    def rows(self) -> WarehouseSession:
        """The session of the rows."""
        return self.elsewhere or self.session

    def needs_approval(self, schema: str) -> bool:
        """Whether a release into a schema waits until another person approves it."""
        return waits_in(schema, self.approval)


def waits_in(schema: str, approval: Collection[str]) -> bool:
    """Whether a schema is among those whose releases wait for approval."""
    return EVERY_SCHEMA in approval or schema.casefold() in {name.casefold() for name in approval}


Result = TypeVar("Result")


def store_result(
    job: JobContext, results: NumberedTable[Any], make: Callable[[int], Result], warnings: Iterable[Warned] = ()
) -> int:
    """Stores the result that `make` makes for its number, in one transaction, and returns the number.

    Raises:
        TableveilError: nothing was stored.
    """
    job.report.phase(JobPhase.WRITING)
    ledger = job.session.ledger
    with job.session.transaction():
        number = results.next_number(ledger)
        results.insert(ledger, [make(number)])
        # The manager looks for the outcome: a commit that reports success may have written nothing.
        outcome = Outcome(JobState.SUCCEEDED, jobs.now(), number, warnings=by_rank(warnings))
        jobs.insert_outcome(ledger, job.number, outcome)
    return number
