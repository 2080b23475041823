"""Releases, as the service offers them: the owner's evidence, and the public objects as a stream of rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from tableveil.backend import Database, Ledger, folded, present_visibility
from tableveil.errors import NotFoundError, nearest, shortened
from tableveil.lifecycle import JointFigures, joint_figures, require_public
from tableveil.lookups.results import ROWS_PER_BATCH, Results, readable
from tableveil.policy import TableReference
from tableveil.state import jobs
from tableveil.state.kinds import JobKind
from tableveil.state.release_objects import public_releases
from tableveil.state.releases import (
    LISTED,
    RELEASES,
    STANDING,
    SUMMARIES,
    Release,
    ReleaseAction,
    ReleaseState,
    ReleaseSummary,
    StandingRelease,
    seen_among,
)
from tableveil.state.seen import UNHIDDEN, Audience, Condition, releases, reviewed


class Releases(Results[Release]):
    """The ledger and its lists."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.RELEASE)

    def page(self, before: int | None, size: int, only: Condition = UNHIDDEN) -> list[Release]:
        """See `Results.page`; the releases lack their policies."""
        with self._database.ledger() as ledger:
            return LISTED.page(ledger, before, size, only)

    def summaries(self, before: int | None, size: int, only: Condition = UNHIDDEN) -> list[ReleaseSummary]:
        """See `Results.page`."""
        with self._database.ledger() as ledger:
            return SUMMARIES.page(ledger, before, size, only)

    def standing(self, target: TableReference) -> list[Release]:
        """The release whose objects stand in a table or view, if there is one."""
        with self._database.ledger() as ledger:
            numbers = [
                release.number
                for release in public_releases(ledger)
                if release.withdrawn_at is None
                and (folded(release.schema), folded(release.name)) == (folded(target.schema), folded(target.table))
            ]
            return [release for number in numbers if (release := RELEASES.find(ledger, number))]

    def together(self, numbers: Sequence[int]) -> JointFigures:
        """How many people some releases tell apart together.

        Raises:
            NotFoundError: there is no such release.
            InvalidError: they are fewer than two, or one keeps no classes of its people.
        """
        with self._database.session() as session:
            return joint_figures(session, numbers)

    def allowed(self, release: Release) -> Iterator[ReleaseAction]:
        """The actions that its owner may do, and those that a caller's rights as an approver allow."""
        yield from release.actions
        if release.audience is Audience.PUBLIC:
            return
        # Auditors see a release, and neither decide about it nor read its rows.
        visibility = present_visibility()()
        unaudited = replace(visibility, reviewed=visibility.judged)
        with self._database.ledger() as ledger:
            is_reviewed = release.audience is Audience.REVIEWER
            if is_reviewed and seen_among(ledger, [release.number], releases(unaudited)):
                yield ReleaseAction.READ
            # Nobody decides about an own release.
            is_theirs = (
                release.state is ReleaseState.PENDING and jobs.owner_of(ledger, release.job) != visibility.principal
            )
            if is_theirs and seen_among(ledger, [release.number], reviewed(unaudited)):
                yield ReleaseAction.DECIDE

    @contextmanager
    def read(self, number: int, name: str) -> Iterator[pa.RecordBatchReader]:
        """The rows of a public object, in its order.

        Raises:
            NotFoundError: there is no such release, or it has no such object.
            ConflictError: it waits for approval, or was rejected, withdrawn or replaced.
        """
        with self._database.session() as session, session.reading():
            schema = self._schema_of(session.ledger, number, name)
            yield session.batches(readable(session, schema, name), ROWS_PER_BATCH)

    def _schema_of(self, ledger: Ledger, number: int, name: str) -> str:
        """The schema in which a public object of a release stands; the errors are those of `read`."""
        standing = STANDING.find(ledger, number)
        if standing is not None and _is_read(standing, name):
            return standing.target_schema
        # The whole release tells what is wrong.
        release = self.found(ledger, number)
        names = [item.name for item in release.objects]
        if name not in names:
            expected = f"an object of releases/{number}"
            hint = nearest(name, names) or f"It has {', '.join(map(shortened, names))}."
            raise NotFoundError.of("OBJECT_NOT_FOUND", "object", shortened(name), expected, hint)
        require_public(release)
        return release.target_schema


def _is_read(release: StandingRelease, name: str) -> bool:
    """Whether an object of that name is public, and stands in the server's own database."""
    is_public = release.state is ReleaseState.APPROVED and release.current and not release.warehouse
    return is_public and any(item.name == name for item in release.objects)
