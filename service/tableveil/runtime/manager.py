"""The manager of jobs: takes requests, has jobs run, shows them, and ends, deletes and follows them."""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from tableveil import errors
from tableveil.backend import Database, Ledger, Session, Visibility, present_visibility
from tableveil.control import Control
from tableveil.control.current_job import at_hand
from tableveil.counting.cost import memory_limit
from tableveil.lifecycle import recover
from tableveil.pipelines.foresight import check_rows
from tableveil.pipelines.read import check_request
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.pipelines.work import JobContext, Work
from tableveil.policy import JobPart, Policy, early_warnings
from tableveil.runtime.active import Active
from tableveil.runtime.answered import check_request_id
from tableveil.runtime.ended import EndedJobs
from tableveil.runtime.follow_up import Checksums, Expiry
from tableveil.runtime.memory import MemoryBudget, check_room, estimated_need
from tableveil.runtime.model import Failure, Job, Nobody, Observer, ServerLoad
from tableveil.runtime.publishing import Publishing
from tableveil.runtime.queue import DEFAULT_SETTINGS, JobQueue, JobSettings
from tableveil.runtime.recorder import from_store, interrupted, told_jobs
from tableveil.runtime.release_lifecycle import ReleaseLifecycle
from tableveil.runtime.uses import Uses, check_permitted, check_target_free, tables_owned, tables_read
from tableveil.runtime.workers import Workers
from tableveil.source import resolve_source
from tableveil.state import jobs as store
from tableveil.state import removal
from tableveil.state.jobs import JobKind, JobState, Request
from tableveil.state.lineage import notice_older_ledger
from tableveil.state.migrate import migrate
from tableveil.state.releases import RELEASES

logger = logging.getLogger("tableveil.jobs")

SECONDS_BETWEEN_LOOKS = 0.25
"""How often a watcher checks the search's progress, and whether its client is still there.

A search reports more often than that: waking every watcher each time would slow down all other calls.
"""


class JobManager:
    """Runs jobs, their owners in turn, up to a number at once and as many as fit into memory.

    `releases` changes what they made. May be used from any thread.
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
        with database.ledger() as ledger:
            budget = MemoryBudget(settings.memory or memory_limit(ledger), settings.concurrent_jobs)
        publishing = publishing or Publishing(database)
        self._database, self._policy_of, self._publishing = database, policy_of, publishing
        self._queue, self._ended = JobQueue(settings.limits, budget), EndedJobs()
        self.uses = Uses(database, self._queue)
        if publishing.has_targets:
            publishing.start()
        self._checksums = Checksums(database)
        self._checksums.start()
        self._expiry = Expiry(database, self.uses.unused)
        self._expiry.start()
        self._followers = [*([publishing.look] if publishing.has_targets else []), self._checksums.look]
        self.releases = ReleaseLifecycle(
            database, self.uses, publishing, settings.approval, policy_of, made=self._after_release
        )
        self._workers = Workers(database, self._queue, settings, observer or Nobody(), self._after_release, policy_of)

    def check(self, policy: Policy, control: Control | None = None, *, rows: bool = True) -> errors.Checked:
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
            with session.reading():
                refused = self._refused(session, policy)
                if refused or not rows:
                    _, policy, faults = check_request(elsewhere, policy)
                    return errors.Checked((*faults, *refused), errors.by_rank(early_warnings(policy)))
            try:
                given = (0, "", self._database, session, session.control)
                job = JobContext(*given, elsewhere=elsewhere, policy_of=self._policy_of)
                return errors.Checked(warnings=errors.by_rank(check_rows(job, policy)))
            except errors.TableveilError as error:
                if isinstance(error, (errors.BusyError, errors.InternalError)):
                    raise
                return errors.Checked(error.faults, errors.by_rank(early_warnings(policy)))

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
        if request_id:
            check_request_id(request_id)
        digest, visibility = _digest(work.document), present_visibility()
        with self._database.session() as session, session.reading():
            if not again and (earlier_job := self._known(session.ledger, work, request_id, digest)) is not None:
                return earlier_job
            self._queue.check_room(session.visibility.principal)
            # Not while others wait: it may take seconds. The job itself notices later changes.
            session.control = control
            if work.released is not None and (refused := self._refused(session, work.released)):
                raise errors.InvalidError.about(
                    "POLICY_INVALID", "the policy's targets cannot take its releases", refused
                )
            work = work.within(self._warehouse_of(session, work))
            with self._database.rows_session(session, work.warehouse) as elsewhere:
                elsewhere.control = control
                source, target = work.admit(elsewhere), work.target
            reads = tables_read(session, work, source)
            owned = tables_owned(session, work, reads)
            check_permitted(visibility, owned, target)
            session.control = None
        with self.uses.submitting, self._database.session() as session:
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
            job = Job(request, JobState.QUEUED, warnings=errors.by_rank(work.warnings))
            self._queue.add(Active(job, work, reads, owned, need, lambda: replace(visibility(), admitted=rights)))
        return self.get(request.number)

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
            raise errors.NotFoundError.of("JOB_NOT_FOUND", "name", f"jobs/{number}", "an existing job")
        return jobs[number]

    def require_whole(self, number: int) -> None:
        """Raises `DeniedError` if the caller sees the job without its contents; see `get` for its errors."""
        if not _is_whole(present_visibility()(), self.get(number)):
            hint = "Cancel it, or ask the one who submitted it."
            actual = f"jobs/{number}, which another principal submitted"
            raise errors.DeniedError.of("PERMISSION_DENIED", "keep_best", actual, "a job of yours", hint)

    def page(self, before: int | None, size: int, states: Collection[JobState] = ()) -> list[Job]:
        """The next `size` jobs with numbers below `before` in one of these states, or in any; newest first."""
        with self._database.ledger() as ledger:
            numbers = store.page(ledger, before, size, states)
            jobs = self._find(ledger, numbers)
        # A job that is not found was deleted meanwhile.
        return [jobs[number] for number in numbers if number in jobs]

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

    def cancel(self, number: int) -> Job:
        """Asks a job to stop. A job that has ended, or whose release is being committed, stays as it is."""
        self.get(number)
        if (queued := self._queue.cancel(number)) is not None:
            cancelled = errors.CancelledError("CANCELLED", "the job was cancelled before it started")
            self._workers.end(queued, Failure.of(cancelled))
        return self.get(number)

    def keep_best(self, number: int) -> Job:
        """Asks the search of a job to end with the best that it has. If it has ended already, the job goes on as it is.

        Raises:
            NotFoundError: there is no such job.
            DeniedError: another principal submitted it: whether there is a best tells of its source, and it is written.
            ConflictError: it waits, or its search has nothing yet that could be kept, or never has.
        """
        self.require_whole(number)
        if not self._queue.keep_best(number):
            raise errors.ConflictError.of(
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
        with self.uses.submitting:
            job = self.get(number)
            if not job.state.ended:
                actual = f"jobs/{number}, which is {job.state.lower()}"
                raise errors.ConflictError.of("JOB_ACTIVE", "name", actual, "a job that has ended", "Cancel it first.")
            if job.request.kind is JobKind.RELEASE and job.result is not None:
                raise errors.ConflictError.of(
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

    def close(self, grace_seconds: float) -> bool:
        """Takes no more jobs, ends queued and running ones as interrupted, and returns whether the workers ended."""
        deadline = time.monotonic() + grace_seconds
        # A running submission may finish first: otherwise it would queue a job that the next start has to end.
        let_through = self.uses.submitting.acquire(timeout=grace_seconds)
        queued = self._queue.close()
        if let_through:
            self.uses.submitting.release()
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

    def _warehouse_of(self, session: Session, work: Work) -> str:
        """The warehouse of the rows that are read; empty for the database."""
        if work.release is None:
            return self._database.warehouse_of(work.catalog)
        release = RELEASES.find(session.ledger, work.release)
        return "" if release is None else release.warehouse

    def _refused(self, session: Session, policy: Policy) -> list[errors.Fault]:
        """Faults of the targets that the policy publishes to: one is not there, or cannot take its releases."""
        if JobPart.PUBLICATION not in policy.parts:
            return []
        if unknown := self._publishing.faults(policy.release.publish):
            return unknown
        source, resolved, _ = resolve_source(session, policy)
        return [] if source is None else self._publishing.unfit(resolved, source)

    def _known(self, ledger: Ledger, work: Work, request_id: str, digest: str) -> Job | None:
        """The job that the request id names, unless the repeated request is a reason to do it again."""
        if not request_id or not (request := store.find_request(ledger, request_id, work.kind)):
            return None
        if (request.digest, request.options) != (digest, work.options):
            raise errors.ConflictError.of(
                "REQUEST_ID_REUSED",
                "request_id",
                f"{errors.shortened(request_id)}, which named another request as jobs/{request.number}",
                "a request id of its own for every request",
            )
        job = self.get(request.number)
        return None if job.failure is not None and job.failure.may_pass else job

    def _find(self, ledger: Ledger, numbers: Sequence[int]) -> dict[int, Job]:
        """The present state of stored jobs: from the queue, from memory, or else from the store."""
        jobs = self._ended.known(numbers) | self._queue.views(numbers)
        others = [number for number in numbers if number not in jobs]
        if others:
            stored = {job.request.number: from_store(job) for job in store.find_all(ledger, others)}
            self._ended.keep(stored.values())
            jobs |= stored
        return {job.number: _seen(ledger.visibility, job) for job in told_jobs(ledger, jobs.values())}


def open_jobs(
    database: Database,
    settings: JobSettings = DEFAULT_SETTINGS,
    *,
    observer: Observer | None = None,
    publishing: Publishing | None = None,
    policy_of: PolicyOf | None = None,
) -> JobManager:
    """Settles what an earlier process left, and takes jobs; see `JobManager`."""
    settle(database)
    return JobManager(database, settings, observer, publishing, policy_of)


def settle(database: Database) -> None:
    """Migrates the state, completes or drops what is half-published, and ends the jobs of an earlier process.

    Raises:
        ConflictError: the state is of a newer version.
    """
    with database.ledger() as ledger:
        migrate(ledger)
        notice_older_ledger(database.path, ledger)
        for warehouse in database.warehouses:
            recover(database, warehouse)
        for number in store.unfinished(ledger):
            store.insert_outcome(ledger, number, interrupted())


def _digest(document: str) -> str:
    """Identifies the request in a document."""
    return hashlib.sha256(json.dumps(json.loads(document), sort_keys=True).encode()).hexdigest()


def _seen(visibility: Visibility, job: Job) -> Job:
    """The job as a principal sees it: only its state if it is another's, and its tables may be."""
    return job if _is_whole(visibility, job) else job.without_contents()


def _is_whole(visibility: Visibility, job: Job) -> bool:
    return visibility.owned.everything or job.request.owner == visibility.principal
