"""The things that queued and running jobs use, and the actions that they forbid."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tableveil.backend import Database, Session, VisibilityNow, present_visibility, scoped
from tableveil.errors import ConflictError, DeniedError, shortened
from tableveil.lifecycle import require_current
from tableveil.lookups.releases import Releases
from tableveil.pipelines.work import Work
from tableveil.policy import ReleaseTarget, TableReference
from tableveil.runtime.active import Active
from tableveil.runtime.queue import JobQueue
from tableveil.source.query import resolve_query
from tableveil.state import jobs as store
from tableveil.state.releases import Release


def tables_read(session: Session, work: Work, source: TableReference) -> tuple[TableReference, ...]:
    """The tables or views that a job reads, given its resolved source."""
    query, _ = resolve_query(session, work.source_query) if work.source_query else (None, [])
    population = work.population.table if work.population is not None else None
    others = (*((population,) if population is not None else ()), *work.other_tables)
    return (
        *((source,) if query is None else query.tables),
        *(replace(read, schema=scoped(work.warehouse, read.schema)) for read in others),
    )


def tables_owned(session: Session, work: Work, reads: Iterable[TableReference]) -> tuple[TableReference, ...]:
    """The tables that a job's principal has to own: those that it reads, and those that were read for its releases."""
    if work.release is not None:
        population = work.population.table if work.population is not None else None
        reads = [*store.reads_of(session.ledger, work.release), *([population] if population is not None else [])]
    if work.classes_of is not None:
        reads = [*reads, *store.reads_of(session.ledger, work.classes_of)]
    return tuple(replace(read, schema=read.schema or "main") for read in reads)


def check_permitted(visibility: VisibilityNow, owned: Sequence[TableReference], target: ReleaseTarget | None) -> None:
    """Raises `DeniedError` if the principal may not read these tables, or not write the target, as of now."""
    scopes = visibility().owned
    reads = scopes.everything or (owned and all(scopes.has_table(read.schema, read.table) for read in owned))
    if not reads or (target is not None and not scopes.has_schema(target.schema)):
        message = "the job's principal is not a steward of all that the job reads and writes"
        raise DeniedError("PERMISSION_DENIED", message)


def check_target_free(jobs: Iterable[Active], target: ReleaseTarget) -> None:
    """Raises `ConflictError` if one of the jobs is about to write an object of the target."""
    wanted = {name.casefold() for name in target.object_names}
    for active in jobs:
        other = active.work.written
        if active.job.state.ended or other is None:
            continue
        same_schema = other.schema.casefold() == target.schema.casefold()
        if same_schema and wanted & {name.casefold() for name in other.object_names}:
            raise ConflictError.of(
                "TARGET_IN_USE",
                "release.name",
                f"{shortened(target.name)}, which {_shown(active)} is about to write",
                "a target that no other job writes",
                "Wait until that job has ended, or choose another name.",
            )


def check_table_free(jobs: Iterable[Active], target: TableReference) -> None:
    """Raises `ConflictError` if one of the jobs reads the table."""
    for active in jobs:
        is_read = _name(target) in map(_name, active.reads)
        if is_read and not active.job.state.ended:
            raise ConflictError.of(
                "TABLE_IN_USE",
                "table.table",
                f"{shortened(target.table)}, which {_shown(active)} reads",
                "a table that no unfinished job reads",
                "Wait until that job has ended, or cancel it.",
            )


def check_release_free(jobs: Iterable[Active], release: Release) -> None:
    """Raises `ConflictError` if one of the jobs reads an object of the release, or is about to replace it."""
    objects = {(release.target_schema.casefold(), item.name.casefold()) for item in release.objects}
    for active in jobs:
        target = active.work.written
        used = {_name(read) for read in active.reads}
        used |= {(target.schema.casefold(), name.casefold()) for name in target.object_names} if target else set()
        is_used = not objects.isdisjoint(used)
        if not active.job.state.ended and (is_used or release.number in (active.work.release, active.work.classes_of)):
            raise ConflictError.of(
                "RELEASE_IN_USE",
                "name",
                f"releases/{release.number}, which {_shown(active)} reads or is about to replace",
                "a release that no job uses",
                "Wait until that job has ended, or cancel it.",
            )


class Uses:
    """The tables and releases that jobs use: nobody else may change them meanwhile. May be used from any thread."""

    def __init__(self, database: Database, queue: JobQueue) -> None:
        self._database, self._queue = database, queue
        # Submissions check against each other's targets and request ids, one at a time.
        self.submitting = threading.Lock()

    def check_unread(self, table: TableReference) -> None:
        """Raises `ConflictError` if a queued or running job reads the table."""
        check_table_free(self._queue.active(), table)

    @contextmanager
    def unread(self, table: TableReference) -> Iterator[None]:
        """While the block runs, no job is submitted; raises `ConflictError` if an unfinished one reads the table."""
        with self.submitting:
            self.check_unread(table)
            yield

    @contextmanager
    def unused(self, number: int) -> Iterator[None]:
        """While the block runs, no job is submitted that would use a release."""
        with self.submitting:
            self.check_unused(Releases(self._database).get(number))
            yield

    def check_unused(self, release: Release) -> None:
        """Raises `ConflictError` if a job uses the release, or if its objects are gone."""
        require_current(release)
        check_release_free(self._queue.active(), release)


def _shown(active: Active) -> str:
    """The name of a job for a principal who may not see it."""
    visibility = present_visibility()()
    is_seen = visibility.every_job or visibility.principal == active.job.request.owner
    return f"jobs/{active.job.number}" if is_seen else "a job of another principal"


def _name(table: TableReference) -> tuple[str, str]:
    """The database does not distinguish names that differ only in case."""
    return (table.schema or "main").casefold(), table.table.casefold()
