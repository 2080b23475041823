"""Queued and running jobs, and the actions that they forbid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tableveil.backend import Session
from tableveil.control import Control
from tableveil.errors import ConflictError, shortened
from tableveil.pipelines.work import Work
from tableveil.policy import ReleaseTarget, TableReference
from tableveil.runtime.model import Job
from tableveil.source.query import resolve_query
from tableveil.state.releases import Release


@dataclass(slots=True)
class Active:
    """A queued or running job: the tables that it reads, and the bytes of memory estimated and granted."""

    job: Job
    work: Work
    reads: tuple[TableReference, ...]
    need: int
    owner: str = ""
    granted: int = 0
    control: Control = field(default_factory=Control)


def tables_read(session: Session, work: Work, source: TableReference) -> tuple[TableReference, ...]:
    """The tables or views that a job reads, given its resolved source."""
    query, _ = resolve_query(session, work.source_query) if work.source_query else (None, [])
    population = work.population.table if work.population is not None else None
    return (
        *((source,) if query is None else query.tables),
        *((population,) if population is not None else ()),
        *work.hierarchy_tables,
    )


def check_target_free(jobs: Iterable[Active], target: ReleaseTarget) -> None:
    """Raises `ConflictError` if one of the jobs is about to write an object of the target."""
    wanted = {name.casefold() for name in target.object_names}
    for active in jobs:
        other = active.work.target
        if active.job.state.ended or other is None:
            continue
        same_schema = other.schema.casefold() == target.schema.casefold()
        if same_schema and wanted & {name.casefold() for name in other.object_names}:
            raise ConflictError.of(
                "TARGET_IN_USE",
                "release.name",
                f"{shortened(target.name)}, which jobs/{active.job.number} is about to write",
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
                f"{shortened(target.table)}, which jobs/{active.job.number} reads",
                "a table that no unfinished job reads",
                "Wait until that job has ended, or cancel it.",
            )


def check_release_free(jobs: Iterable[Active], release: Release) -> None:
    """Raises `ConflictError` if one of the jobs reads an object of the release, or is about to replace it."""
    objects = {(release.target_schema.casefold(), item.name.casefold()) for item in release.objects}
    for active in jobs:
        target = active.work.target
        used = {_name(read) for read in active.reads}
        used |= {(target.schema.casefold(), name.casefold()) for name in target.object_names} if target else set()
        is_used = not objects.isdisjoint(used)
        if not active.job.state.ended and (is_used or active.work.release == release.number):
            raise ConflictError.of(
                "RELEASE_IN_USE",
                "name",
                f"releases/{release.number}, which jobs/{active.job.number} reads or is about to replace",
                "a release that no job uses",
                "Wait until that job has ended, or cancel it.",
            )


def _name(table: TableReference) -> tuple[str, str]:
    """The database does not distinguish names that differ only in case."""
    return (table.schema or "main").casefold(), table.table.casefold()
