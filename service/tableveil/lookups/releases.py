"""Releases and the results of jobs, as the service offers them, and public objects as a stream of rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Generic, TypeVar

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import (
    WITHOUT_ARROW,
    Database,
    Ledger,
    Session,
    alias,
    cast,
    column,
    folded,
    present_visibility,
    table,
)
from tableveil.errors import NotFoundError, nearest, shortened
from tableveil.lifecycle import JointFigures, joint_figures, require_public
from tableveil.policy import TableReference
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state import jobs
from tableveil.state.jobs import KINDS, JobKind, StoredKind
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
from tableveil.state.risk_analyses import RiskAnalysis
from tableveil.state.seen import UNHIDDEN, Audience, Condition, releases, reviewed

ROWS_PER_BATCH = 8192


def readable(session: Session, schema: str, name: str) -> exp.Select:
    """The query for all columns of a table or view, in types that Arrow has."""
    # By its full name: the schema may have the database's name.
    full = table(name, schema, session.catalog)
    read = [
        alias(cast(column(source_column), WITHOUT_ARROW[type_]), source_column)
        if type_ in WITHOUT_ARROW
        else column(source_column)
        for source_column, type_ in session.described(exp.select("*").from_(full))
    ]
    return exp.select(*read).from_(full)


Result = TypeVar("Result")


class Results(Generic[Result]):
    """Reads the stored results of jobs of one kind. May be used from any thread."""

    def __init__(self, database: Database, kind: JobKind) -> None:
        self._database = database
        self._kind = kind
        self._stored: StoredKind[Result] = KINDS[kind]

    def get(self, number: int) -> Result:
        """The result with that number; `NotFoundError` if there is none."""
        with self._database.ledger() as ledger:
            return self.found(ledger, number)

    def found(self, ledger: Ledger, number: int) -> Result:
        """As `get`, in the state that a transaction of the ledger shows."""
        result = self._stored.results.find(ledger, number)
        if result is None:
            name = f"{self._stored.collection}/{number}"
            raise NotFoundError.of(f"{self._kind}_NOT_FOUND", "name", name, f"an existing {self._stored.noun}")
        return result

    def page(self, before: int | None, size: int, only: Condition = UNHIDDEN) -> list[Result]:
        """The next `size` results with numbers below `before` that meet a condition, newest first."""
        with self._database.ledger() as ledger:
            return self._stored.results.page(ledger, before, size, only)


class RiskAnalyses(Results[RiskAnalysis]):
    """Risk analyses, and the risks of each record."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.RISK_ANALYSIS)

    @contextmanager
    def read_records(self, number: int) -> Iterator[pa.RecordBatchReader]:
        """The risks of each combination of values, with the values.

        Raises:
            NotFoundError: there is no such analysis, or its request did not include them.
        """
        with self._database.session() as session, session.reading():
            analysis = self.found(session.ledger, number)
            if not analysis.has_record_risks:
                raise NotFoundError.of(
                    "RECORD_RISKS_NOT_KEPT",
                    "name",
                    f"riskAnalyses/{number}, which did not keep the risks of each record",
                    "an analysis that was asked for records",
                    "Ask for one with records: true.",
                )
            yield session.batches(readable(session, STATE_SCHEMA, analysis.record_risks), ROWS_PER_BATCH)


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
