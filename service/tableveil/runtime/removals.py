"""Removals, as the service offers them: rows taken out of a table, or the table with them, and their ledger."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from tableveil.backend import Database, Session
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError, InternalError
from tableveil.lifecycle import Erased, erase
from tableveil.loading import check_place, drop_table, empty, found_place
from tableveil.policy import TableReference
from tableveil.runtime.loads import check_permitted, found_target
from tableveil.runtime.manager import JobManager
from tableveil.state import dry_runs, worksheets
from tableveil.state.jobs import now
from tableveil.state.lineage import changing_rights
from tableveil.state.loads import REMOVALS, Removal, RemovalKind
from tableveil.state.releases import RELEASES, Release, seen_among

_WAYS: dict[RemovalKind, Callable[[Session, TableReference], int]] = {
    RemovalKind.TRUNCATE: empty,
    RemovalKind.DROP: drop_table,
}


@dataclass(frozen=True, slots=True)
class Erasure:
    """The result of an erasure: `absent` persons had no rows in the table.

    Releases that were made of the table are `holding` some of the persons, or `untold` if they have no digests. They
    are those that its principal sees. Whether others are `hidden` does not depend on who is in them. `worksheets`
    of the table are gone, and `places` hold values that only these persons had; see `Erased`.
    """

    removal: Removal
    person_column: str
    absent: int
    holding: tuple[Release, ...]
    untold: tuple[Release, ...]
    hidden: bool
    worksheets: int
    places: tuple[str, ...]


class Removals:
    """Takes rows out of tables, one transaction each. May be used from any thread.

    Every method raises:
        NotFoundError: there is no such table.
        ConflictError: an unfinished job or a view reads it, or a release wrote it.
        CancelledError: `control` says to stop; nothing was removed.
    """

    def __init__(self, database: Database, jobs: JobManager) -> None:
        self._database = database
        self._uses = jobs.uses

    def remove(self, kind: RemovalKind, wanted: TableReference, control: Control) -> Removal:
        """Removes all rows, or the table with them."""
        with self._changing(wanted, control) as (session, target):
            rows = _WAYS[kind](session, target)
            dry_runs.forget_rows(session.ledger, target)
            if kind is RemovalKind.DROP:
                worksheets.forget(session.ledger, target)
            removal = _recorded(session, kind, target, rows)
        return self._look(removal)

    def erase(self, wanted: TableReference, person_column: str, persons: Sequence[str], control: Control) -> Erasure:
        """Removes the rows of people, and their values from what the ledger recognizes people by.

        Raises:
            InvalidError: the column or the persons are not the table's.
        """
        with self._changing(wanted, control) as (session, target):
            erased = erase(session, target, person_column, persons)
            dry_runs.forget_rows(session.ledger, target)
            removal = _recorded(session, RemovalKind.ERASE, target, erased.rows, erased)
        self._look(removal)
        with self._database.ledger() as ledger:
            seen = {number: RELEASES.find(ledger, number) for number in seen_among(ledger, erased.releases)}
        holding, untold = (
            tuple(release for number in those if (release := seen.get(number)) is not None)
            for those in (erased.holding, erased.untold)
        )
        hidden = len(seen) < len(erased.releases)
        return Erasure(
            removal, erased.person_column, erased.absent, holding, untold, hidden, erased.worksheets, erased.places
        )

    @contextmanager
    def _changing(self, wanted: TableReference, control: Control) -> Iterator[tuple[Session, TableReference]]:
        """A transaction that takes rows out of the table, which it names as the database does."""
        with self._database.session() as session:
            session.control = control
            try:
                target = found_target(session, wanted, existing=True)
                check_place(session, target, existing=True)
                target = found_place(session, target) or target
                self._uses.check_unread(target)
                # An older database file would bring the rows back.
                rights = changing_rights(self._database.path, session.ledger)
                with ExitStack() as until_committed, rights:
                    yield session, target
                    until_committed.enter_context(self._uses.unread(target))
                    check_permitted(target)
            except Stopped:
                raise CancelledError("CANCELLED", "the removal was cancelled, and nothing was removed") from None

    def _look(self, removal: Removal) -> Removal:
        """Checks that the removal was recorded: a commit's success is no proof that anything was written."""
        with self._database.ledger() as ledger:
            if REMOVALS.find(ledger, removal.number) is None:
                raise InternalError("NOT_REMOVED", "the commit left nothing behind")
        return removal


def _recorded(
    session: Session, kind: RemovalKind, target: TableReference, rows: int, erased: Erased | None = None
) -> Removal:
    number, owner = REMOVALS.next_number(session.ledger), session.visibility.principal
    removal = Removal(number, kind, target.schema, target.table, now(), rows, owner)
    if erased is not None:
        removal = replace(removal, persons=erased.persons, holding=erased.holding, untold=erased.untold)
    REMOVALS.insert(session.ledger, [removal])
    return removal
