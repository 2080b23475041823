"""Submissions: the checks of a request before it is queued, and those that it must not overtake."""

import hashlib
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tableveil.backend import Database, Ledger, Session, present_visibility
from tableveil.control import Control
from tableveil.control.current_job import at_hand
from tableveil.errors import (
    BusyError,
    Checked,
    ConflictError,
    Fault,
    InternalError,
    InvalidError,
    TableveilError,
    by_rank,
    shortened,
)
from tableveil.lifecycle import require_current
from tableveil.lookups.releases import Releases
from tableveil.pipelines.foresight import check_rows
from tableveil.pipelines.read import check_request
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.pipelines.work import JobContext, Work
from tableveil.policy import JobPart, Policy, TableReference, early_warnings
from tableveil.runtime.active import (
    Active,
    check_permitted,
    check_release_free,
    check_table_free,
    check_target_free,
    tables_owned,
    tables_read,
)
from tableveil.runtime.answered import check_request_id
from tableveil.runtime.memory import check_room, estimated_need
from tableveil.runtime.model import Job
from tableveil.runtime.publishing import Publishing
from tableveil.runtime.queue import JobQueue
from tableveil.runtime.views import JobViews
from tableveil.source import resolve_source
from tableveil.state import jobs as store
from tableveil.state.jobs import JobState, Request
from tableveil.state.releases import RELEASES, Release

logger = logging.getLogger("tableveil.jobs")


class Submissions(JobViews):
    """Takes requests into the queue. May be used from any thread."""

    def __init__(
        self, database: Database, queue: JobQueue, publishing: Publishing, policy_of: PolicyOf | None = None
    ) -> None:
        """`policy_of` reads the policies of the ledger."""
        super().__init__(database, queue)
        self._publishing, self._policy_of = publishing, policy_of
        # Submissions check against each other's targets and request ids, one at a time.
        self._submitting = threading.Lock()

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
            with session.reading():
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
        if JobPart.PUBLICATION not in policy.parts:
            return []
        if unknown := self._publishing.faults(policy.release.publish):
            return unknown
        source, resolved, _ = resolve_source(session, policy)
        return [] if source is None else self._publishing.unfit(resolved, source)

    def check_unread(self, table: TableReference) -> None:
        """Raises `ConflictError` if a queued or running job reads the table."""
        check_table_free(self._queue.active(), table)

    @contextmanager
    def unread(self, table: TableReference) -> Iterator[None]:
        """While the block runs, no job is submitted; raises `ConflictError` if an unfinished one reads the table."""
        with self._submitting:
            self.check_unread(table)
            yield

    @contextmanager
    def unused(self, number: int) -> Iterator[None]:
        """While the block runs, no job is submitted that would use a release."""
        with self._submitting:
            self.check_unused(Releases(self._database).get(number))
            yield

    def check_unused(self, release: Release) -> None:
        """Raises `ConflictError` if a job uses the release, or if its objects are gone."""
        require_current(release)
        check_release_free(self._queue.active(), release)

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


def _digest(document: str) -> str:
    """Identifies the request in a document."""
    return hashlib.sha256(json.dumps(json.loads(document), sort_keys=True).encode()).hexdigest()
