"""The work of a request, from its checks to what it reads and writes, and the context of a running job."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Database, Session, WarehouseSession, scoped
from tableveil.control import Control, Progress
from tableveil.errors import Fault, InvalidError, Warned, by_rank
from tableveil.hierarchy import SafeHarborZip, TableLevels
from tableveil.loading import check_bound
from tableveil.pipelines.known_classes import check_known_classes
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.policy import Policy, Population, ReleaseTarget, TableReference
from tableveil.source import Source, resolve_source
from tableveil.state import jobs
from tableveil.state.jobs import JobKind, JobPhase, JobState, Outcome
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One request.

    `kind` is the kind of result. `document` is the policy, or its replacement, as JSON; `options` are the request's
    other parts, as JSON or empty: equal requests agree in both.

    `admit` makes all checks that do not read the source's rows, and returns the source's full name. It raises
    `InvalidError` if the request does not fit the database, `ConflictError` if something exists at the target. `run`
    does the work, inserts the job's outcome, and returns the number of the result; if it raises, nothing was written.

    `released` is the policy whose release is written, but nowhere that lasts if it is `rehearsed`; a `trial` of it
    stays in private. `release` is the number of a release that is read, `classes_of` that of one whose classes are used
    again: their objects have to stay until the job has ended. A `partial` result is valid whenever its search stops.
    The tables of the population, of the query and of the hierarchies may be read beside the source. The owner is warned
    before the job has ended. Work that can be done in a warehouse has the `catalog` of its source; its `warehouse` is
    empty if it is done in the database.
    """

    kind: JobKind
    document: str
    admit: Callable[[WarehouseSession], TableReference] = field(compare=False)
    run: Callable[[JobContext], int] = field(compare=False)
    options: str = ""
    released: Policy | None = None
    rehearsed: bool = False
    trial: bool = False
    release: int | None = None
    classes_of: int | None = None
    partial: bool = False
    population: Population | None = None
    source_query: str = ""
    other_tables: tuple[TableReference, ...] = ()
    warnings: tuple[Warned, ...] = ()
    catalog: str = ""
    warehouse: str = ""

    @property
    def written(self) -> ReleaseTarget | None:
        """The place of objects that no other job may write at the same time."""
        return None if self.trial else self.target

    @property
    def target(self) -> ReleaseTarget | None:
        """The place of the release, now or once it is promoted; see `scoped`."""
        if self.released is None or self.rehearsed:
            return None
        target = self.released.release
        return replace(target, schema=scoped(self.warehouse, target.schema))

    def within(self, warehouse: str) -> Work:
        """The work in the warehouse that its catalog names, or in the database."""
        return replace(self, warehouse=warehouse)


def policy_work(
    kind: JobKind, policy: Policy, document: str, run: Callable[[JobContext], int], options: str = ""
) -> Work:
    """The work of a request that has a policy, and whose source is admitted for any target.

    Raises:
        InvalidError: it would look at rows that only a release with differential privacy may draw.
    """
    if policy.method.budgeted and kind is not JobKind.RELEASE:
        asked, hint = kind.value.replace("_", " ").lower(), "A look at the table is not covered by its budget."
        raise InvalidError.of("POLICY_INVALID", f"policy.{policy.method.field}", f"a {asked}", "a release", hint)

    def admit(session: WarehouseSession) -> TableReference:
        resolved, _, faults = resolve_source(session, policy)
        source = fitting(resolved, [*faults, *check_known_classes(session.embedded, policy)])
        check_bound(session, policy, source)
        return session.recorded(source.reference)

    events = () if policy.related is None else policy.related.events
    attributes = (*policy.attributes, *(attribute for event in events for attribute in event.attributes))
    definitions = [attribute.hierarchy for attribute in attributes]
    return Work(
        kind=kind,
        document=document,
        admit=admit,
        run=run,
        options=options,
        classes_of=policy.classes_of,
        population=policy.population,
        source_query=policy.source_query,
        other_tables=(
            *(event.table for event in events),
            *(
                TableReference(definition.catalog, definition.schema, definition.table)
                for definition in definitions
                if isinstance(definition, (TableLevels, SafeHarborZip))
            ),
        ),
        catalog=policy.source.catalog,
    )


def fitting(source: Source | None, faults: list[Fault]) -> Source:
    """The source, if there is one and it has no faults; raises `InvalidError` otherwise."""
    if source is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the database", faults)
    return source
