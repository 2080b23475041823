"""The manager of jobs: takes requests, has them run, reports their state, and withdraws or deletes their results."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from tableveil.backend import EVERYTHING, Database, Ledger, Session, Visibility, present_visibility, seeing
from tableveil.control import Control
from tableveil.control.current_job import at_hand
from tableveil.counting.memory import memory_limit
from tableveil.errors import (
    BusyError,
    CancelledError,
    Checked,
    ConflictError,
    Fault,
    InternalError,
    InvalidError,
    NotFoundError,
    TableveilError,
    by_rank,
    shortened,
)
from tableveil.lifecycle import (
    Promotion,
    check_pending,
    check_trial,
    decide,
    promote,
    require_current,
    withdraw,
)
from tableveil.lookups.releases import Releases
from tableveil.pipelines.foresight import check_rows
from tableveil.pipelines.job import JobContext, waits_in
from tableveil.pipelines.read import check_request
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.pipelines.work import Work
from tableveil.policy import Policy, TableReference, early_warnings
from tableveil.policy.reason import says_something
from tableveil.runtime.active import (
    Active,
    check_permitted,
    check_release_free,
    check_table_free,
    check_target_free,
    tables_owned,
    tables_read,
)
from tableveil.runtime.checksums import Checksums
from tableveil.runtime.expiry import Expiry
from tableveil.runtime.history import EndedJobs
from tableveil.runtime.memory import MemoryBudget, estimated_need
from tableveil.runtime.model import Failure, Job
from tableveil.runtime.observer import Nobody, Observer, ServerLoad
from tableveil.runtime.outcomes import from_store, told_jobs
from tableveil.runtime.publishing import Publishing
from tableveil.runtime.queue import JobQueue, QueueLimits
from tableveil.runtime.request_id import check_request_id
from tableveil.runtime.room import check_room
from tableveil.runtime.workers import Workers
from tableveil.source import resolve_source
from tableveil.state import jobs as store
from tableveil.state import removal, schema_rules
from tableveil.state.decisions import Decision
from tableveil.state.jobs import JobState, Request
from tableveil.state.kinds import JobKind
from tableveil.state.releases import RELEASES, Release

logger = logging.getLogger("tableveil.jobs")

SECONDS_BETWEEN_LOOKS = 0.25
"""How often a watcher checks the search's progress, and whether its client is still there.

A search reports more often than that: waking every watcher each time would slow down all other calls.
"""


@dataclass(frozen=True, slots=True)
class JobSettings:
    """How many jobs run and wait, on which memory, and what waits for approval.

    Running jobs share `memory` bytes, None for the database's memory limit. Releases into the schemas `approval` wait
    until another person approves them.
    """

    concurrent_jobs: int = 2
    limits: QueueLimits = field(default_factory=QueueLimits)
    memory: int | None = None
    approval: Collection[str] = ()


DEFAULT_SETTINGS = JobSettings()


class JobManager:
    """Runs jobs, their owners in turn, up to a number at once and as many as fit into memory.

    May be used from any thread.
    """

    def __init__(
        self,
        database: Database,
        settings: JobSettings = DEFAULT_SETTINGS,
        observer: Observer | None = None,
        publishing: Publishing | None = None,
        policy_of: PolicyOf | None = None,
    ) -> None:
        """Starts the workers; the state is settled. See `open_jobs`.

        The `observer` counts jobs. `publishing` is started. `policy_of` reads the policies of the ledger.
        """
        self._database, self._policy_of = database, policy_of
        self._publishing, self._approval = publishing or Publishing(database), frozenset(settings.approval)
        # Submissions check against each other's targets and request ids, one at a time.
        self._submitting = threading.Lock()
        with database.ledger() as ledger:
            budget = MemoryBudget(settings.memory or memory_limit(ledger), settings.concurrent_jobs)
        self._queue = JobQueue(settings.limits, budget)
        self._ended = EndedJobs()
        self._publishing.start()
        self._checksums = Checksums(database)
        self._checksums.start()
        self._expiry = Expiry(database, self._unused)
        self._expiry.start()
        self._followers = [self._publishing.look, self._checksums.look]
        self._workers = Workers(
            database,
            self._queue,
            settings.concurrent_jobs,
            observer or Nobody(),
            self._approval,
            self._after_release,
            policy_of,
        )

    def check(self, policy: Policy, control: Control | None = None, *, rows: bool = True) -> Checked:
        """All faults that would keep a job with this policy from searching, and warnings for its owner.

        Without `rows`, only faults that show without reading the source's rows; the policy may then have faults by
        itself.

        Raises:
            Stopped: `control` says so.
            BusyError: a resource is exhausted at the moment.
        """
        warehouse = self._database.warehouse_of(policy.source.catalog)
        with self._database.session() as session, self._database.rows_session(session, warehouse) as elsewhere:
            session.control = elsewhere.control = control or Control()
            refused = self._refused(session, policy)
            if refused or not rows:
                _, policy, faults = check_request(elsewhere, policy)
                return Checked((*faults, *refused), by_rank(early_warnings(policy)))
            try:
                given = (0, "", self._database, session, session.control)
                job = JobContext(*given, elsewhere=elsewhere, policy_of=self._policy_of)
                return Checked(warnings=by_rank(check_rows(job, policy)))
            except TableveilError as error:
                if isinstance(error, (BusyError, InternalError)):
                    raise
                return Checked(error.faults, by_rank(early_warnings(policy)))

    def submit(self, work: Work, request_id: str = "", control: Control | None = None, *, again: bool = False) -> Job:
        """Queues a job; with a known request id, returns the job it named, unless repeating it may help.

        Checks that do not read the source's rows run now. With `again` there is a new job in any case, and the request
        id, if there is one, names it from now on.

        Raises:
            InvalidError: the policy does not fit the database, or repeats a release without a reason.
            ConflictError: the target exists or another job writes it, or the request id named another request.
            DeniedError: the principal does not own all that the job would read and write.
            BusyError: the queue or the disk is full, or the server is stopping.
            Stopped: `control` said so before the job was queued.
        """
        check_request_id(request_id)
        digest, visibility = _digest(work.document), present_visibility()
        with self._database.session() as session:
            if not again and (earlier_job := self._known(session.ledger, work, request_id, digest)) is not None:
                return earlier_job
            self._queue.check_room(session.visibility.principal)
            # Not while others wait: it may take seconds. The job itself notices later changes.
            session.control = control
            if work.released is not None and (refused := self._refused(session, work.released)):
                raise InvalidError.about("POLICY_INVALID", "the policy's targets cannot take its releases", refused)
            work = work.within(self._warehouse_of(session, work))
            with self._database.rows_session(session, work.warehouse) as elsewhere:
                elsewhere.control = control
                source, target = work.admit(elsewhere), work.target
            reads = tables_read(session, work, source)
            owned = tables_owned(session, work, reads)
            check_permitted(visibility, owned, target)
            session.control = None
        with self._submitting, self._database.session() as session:
            if not again and (earlier_job := self._known(session.ledger, work, request_id, digest)) is not None:
                return earlier_job
            self._queue.check_room(session.visibility.principal)
            check_room(self._database, session, work, source)
            if work.written is not None:
                check_target_free(self._queue.active(), work.written)
            request = Request(
                store.next_number(session.ledger),
                request_id,
                work.document,
                digest,
                source,
                target.schema if target else "",
                target.name if target else "",
                store.now(),
                work.kind,
                work.options,
                session.visibility.principal,
            )
            need = estimated_need(session, () if work.warehouse else reads)
            rights = store.insert_request(session.ledger, request, owned)
            # Before it can start, which is also logged.
            with at_hand(request.number):
                logger.info("jobs/%d queued", request.number)
            job = Job(request, JobState.QUEUED, warnings=by_rank(work.warnings))
            self._queue.add(Active(job, work, reads, owned, need, lambda: replace(visibility(), admitted=rights)))
        return self.get(request.number)

    def _warehouse_of(self, session: Session, work: Work) -> str:
        """The warehouse of the rows that are read; empty for the database."""
        if work.release is None:
            return self._database.warehouse_of(work.catalog)
        release = RELEASES.find(session.ledger, work.release)
        return "" if release is None else release.warehouse

    def _refused(self, session: Session, policy: Policy) -> list[Fault]:
        """Faults of the targets that the policy publishes to: one is not there, or cannot take its releases."""
        unknown = self._publishing.faults(policy.release.publish)
        if unknown or not policy.release.publish:
            return unknown
        source, resolved, _ = resolve_source(session, policy)
        return [] if source is None else self._publishing.unfit(resolved, source)

    def get(self, number: int) -> Job:
        """The job as it stands; `NotFoundError` if there is none that its caller may see."""
        visibility = present_visibility()()
        active = self._queue.views([number]).get(number)
        is_seen = active is not None and (visibility.every_job or visibility.principal == active.request.owner)
        if active is not None and is_seen and not active.state.ended:
            return _seen(visibility, active)
        with self._database.ledger() as ledger:
            jobs = self._find(ledger, [number] if store.exists(ledger, number) else [])
        if number not in jobs:
            raise NotFoundError.of("JOB_NOT_FOUND", "name", f"jobs/{number}", "an existing job")
        return jobs[number]

    def page(self, before: int | None, size: int, states: Collection[JobState] = ()) -> list[Job]:
        """The next `size` jobs with numbers below `before` in one of these states, or in any; newest first."""
        with self._database.ledger() as ledger:
            numbers = store.page(ledger, before, size, states)
            jobs = self._find(ledger, numbers)
        # A job that is not found was deleted meanwhile.
        return [jobs[number] for number in numbers if number in jobs]

    def cancel(self, number: int) -> Job:
        """Asks a job to stop. A job that has ended, or whose release is being committed, stays as it is."""
        self.get(number)
        if (queued := self._queue.cancel(number)) is not None:
            cancelled = CancelledError("CANCELLED", "the job was cancelled before it started")
            self._workers.end(queued, Failure.of(cancelled))
        return self.get(number)

    def keep_best(self, number: int) -> Job:
        """Asks the search of a job to end with the best that it has. If it has ended already, the job goes on as it is.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: it waits, or its search has nothing yet that could be kept, or never has.
        """
        self.get(number)
        if not self._queue.keep_best(number):
            raise ConflictError.of(
                "NOTHING_TO_KEEP",
                "keep_best",
                f"jobs/{number}, which has nothing yet that meets the policy",
                "a job whose search has a best score",
                "Watch it until it shows one, or cancel it.",
            )
        return self.get(number)

    def delete(self, number: int) -> None:
        """Deletes an ended job with its result; its request id is free again.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: it has not ended, or it made a release, whose ledger entry names it.
        """
        with self._submitting:
            job = self.get(number)
            if not job.state.ended:
                actual = f"jobs/{number}, which is {job.state.lower()}"
                raise ConflictError.of("JOB_ACTIVE", "name", actual, "a job that has ended", "Cancel it first.")
            if job.request.kind is JobKind.RELEASE and job.result is not None:
                raise ConflictError.of(
                    "JOB_OF_RELEASE",
                    "name",
                    f"jobs/{number}, which made releases/{job.result}",
                    "a job that made no release",
                    "The ledger of releases keeps it. To take the release back, withdraw it.",
                )
            with self._workers.recording:
                with self._database.ledger() as ledger:
                    removal.delete_job(ledger, number, job.request.kind)
                self._queue.forget(number)
        with at_hand(number):
            logger.info("jobs/%d deleted", number)

    def withdraw(self, number: int, reason: str, control: Control | None = None) -> None:
        """Drops the objects of a current release, and notes the reason in the ledger; once withdrawn, does nothing.

        Raises:
            InvalidError: there is no reason.
            NotFoundError: there is no such release.
            ConflictError: it was replaced, a job or a view reads it, or a job is about to replace it.
            Stopped: `control` said so before it was committed.
        """
        if not says_something(reason):
            raise InvalidError.of("REASON_MISSING", "reason", "none", "why the release is withdrawn, for the ledger")
        release = Releases(self._database).get(number)
        if release.withdrawal is not None:
            return
        self._check_unused(release)
        withdraw(self._database, release, reason, control, partial(self._unused, number))
        self._publishing.look()
        logger.info("releases/%d withdrawn", number)

    def decide(self, number: int, decision: Decision, policy_of: PolicyOf, control: Control | None = None) -> None:
        """Approves or rejects a release that waits for it.

        Raises:
            InvalidError: it gives no reason.
            NotFoundError: there is no such release.
            ConflictError: it does not wait, the decision is by its own steward, or it cannot take its target.
            Stopped: `control` said so before it was committed.
        """
        if not says_something(decision.note):
            decided = "approved" if decision.approved else "rejected"
            raise InvalidError.of("REASON_MISSING", "note", "none", f"why the release is {decided}, for the ledger")
        release = Releases(self._database).get(number)
        check_pending(release)
        visibility = present_visibility()()
        # An approver need not see the tables among which the objects are moved, nor the steward's job.
        with seeing(lambda: EVERYTHING):
            if self.get(release.job).request.owner == decision.by:
                raise ConflictError.of(
                    "OWN_RELEASE",
                    "name",
                    f"releases/{number}, which you made",
                    "a release that somebody else made",
                    "Another person decides about it. You can withdraw it.",
                )
            self._check_unused(release)
            target = policy_of(release.policy).release
            decide(self._database, number, target, decision, control, partial(self._unused, number), visibility)
        self._publishing.look()
        logger.info("releases/%d %s", number, "approved" if decision.approved else "rejected")

    def promote(self, number: int, policy: Policy, document: str, control: Control | None = None) -> None:
        """Makes a release of a trial, by its policy with the reason that is given now.

        Raises:
            NotFoundError: there is no such trial of the caller.
            TableveilError: see `lifecycle.promote`.
            DeniedError: the caller does not own all that the trial read, and that it would write, any more.
        """
        release = Releases(self._database).get(number)
        check_trial(release)
        with self._database.session() as session:
            reads = tuple(store.reads_of(session.ledger, number))
            unless_safe = schema_rules.asks_for_joint_k(session.ledger, release.target_schema)
        check_permitted(present_visibility(), reads, replace(policy.release, schema=release.target_schema))
        self._check_unused(release)
        assert self._policy_of is not None, "a server reads the policies of the ledger"
        waits = waits_in(release.target_schema, self._approval)
        asked = Promotion(policy, document, waits, unless_safe, self._policy_of)
        promote(self._database, number, asked, control, partial(self._unused, number))
        self._after_release()
        logger.info("releases/%d promoted", number)

    def watch(self, number: int, stopped: Callable[[], bool]) -> Iterator[Job]:
        """The job as it is and after each change, until it has ended or `stopped` says so."""
        last: Job | None = None
        while not stopped():
            job = self.get(number)
            if job != last:
                last = job
                yield job
            if job.state.ended:
                return
            self._queue.wait(job, SECONDS_BETWEEN_LOOKS)

    def load(self) -> ServerLoad:
        """How busy the server is."""
        return self._queue.load()

    def at_work(self) -> set[int]:
        """Numbers of the queued and running jobs."""
        return {active.job.number for active in self._queue.active()}

    def check_unread(self, table: TableReference) -> None:
        """Raises `ConflictError` if a queued or running job reads the table."""
        check_table_free(self._queue.active(), table)

    @contextmanager
    def unread(self, table: TableReference) -> Iterator[None]:
        """While the block runs, no job is submitted; raises `ConflictError` if an unfinished one reads the table."""
        with self._submitting:
            self.check_unread(table)
            yield

    def close(self, grace_seconds: float) -> bool:
        """Takes no more jobs, ends queued and running ones as interrupted, and returns whether the workers ended."""
        deadline = time.monotonic() + grace_seconds
        # A running submission may finish first: otherwise it would queue a job that the next start has to end.
        let_through = self._submitting.acquire(timeout=grace_seconds)
        queued = self._queue.close()
        if let_through:
            self._submitting.release()
        for active in queued:
            self._workers.end(active, None)
        published = self._publishing.close(deadline - time.monotonic())
        checked = self._checksums.close(deadline - time.monotonic())
        expired = self._expiry.close(deadline - time.monotonic())
        return self._workers.join(deadline - time.monotonic()) and let_through and published and checked and expired

    def follow(self, look: Callable[[], None]) -> None:
        """Calls `look` after each release from now on."""
        self._followers.append(look)

    def _after_release(self) -> None:
        for follower in self._followers:
            follower()

    @contextmanager
    def _unused(self, number: int) -> Iterator[None]:
        """While the block runs, no job is submitted that would use a release."""
        with self._submitting:
            self._check_unused(Releases(self._database).get(number))
            yield

    def _check_unused(self, release: Release) -> None:
        """Raises `ConflictError` if a job uses the release, or if its objects are gone."""
        require_current(release)
        check_release_free(self._queue.active(), release)

    def _find(self, ledger: Ledger, numbers: Sequence[int]) -> dict[int, Job]:
        """The present state of stored jobs: from the queue, from memory, or else from the store."""
        jobs = self._ended.known(numbers) | self._queue.views(numbers)
        others = [number for number in numbers if number not in jobs]
        if others:
            stored = {job.request.number: from_store(job) for job in store.find_all(ledger, others)}
            self._ended.keep(stored.values())
            jobs |= stored
        return {job.number: _seen(ledger.visibility, job) for job in told_jobs(ledger, jobs.values())}

    def _known(self, ledger: Ledger, work: Work, request_id: str, digest: str) -> Job | None:
        """The job that the request id names, unless the repeated request is a reason to do it again."""
        if not request_id or not (request := store.find_request(ledger, request_id, work.kind)):
            return None
        if (request.digest, request.options) != (digest, work.options):
            raise ConflictError.of(
                "REQUEST_ID_REUSED",
                "request_id",
                f"{shortened(request_id)}, which named another request as jobs/{request.number}",
                "a request id of its own for every request",
            )
        job = self.get(request.number)
        return None if job.failure is not None and job.failure.may_pass else job


def _seen(visibility: Visibility, job: Job) -> Job:
    """The job as a principal sees it: only its state if it is another's, and its tables may be."""
    return job if visibility.owned.everything or job.request.owner == visibility.principal else job.without_contents()


def _digest(document: str) -> str:
    """Identifies the request in a document."""
    return hashlib.sha256(json.dumps(json.loads(document), sort_keys=True).encode()).hexdigest()
