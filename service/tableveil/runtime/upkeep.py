"""Upkeep of the database of a running server: its state, backups, and schemas."""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from tableveil.backend import Database, folded
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError, InternalError, NotFoundError, nearest, shortened
from tableveil.operate import Backup, Backups, Finding, create_schema, examine_file, examine_state
from tableveil.state.migrate import SCHEMA as STATE_SCHEMA


class Upkeep:
    """Examines the database and copies it. May be used from any thread."""

    def __init__(
        self,
        database: Database,
        backup_directory: Path | None,
        at_work: Callable[[], Collection[int]],
        others: Callable[[], Iterable[Finding]] = tuple,
    ) -> None:
        """`at_work` names the jobs that have not ended, `others` examines the rest of the server.

        See `Backups` for the errors of a directory.
        """
        self.database = database.path.resolve()
        self._database = database
        self._at_work = at_work
        self._others = others
        self._backups = Backups(database, backup_directory)

    @property
    def warehouses(self) -> list[str]:
        """Names of the places beside the database that tables may be in."""
        return sorted(self._database.warehouses)

    def examine(self, control: Control) -> list[Finding]:
        """All findings of an examination; `Stopped` if `control` says so."""
        with self._database.session() as session:
            session.control = control
            file = examine_file(self.database, served=True, replaced=self._database.replaced)
            return [*file, *self._others(), *examine_state(session, self._at_work)]

    def find_schema(self, name: str, administered: Callable[[str], bool]) -> str:
        """The name of a schema, given in any case, which the session owns a part of, or its caller administers.

        Raises:
            NotFoundError: there is no such schema.
        """
        with self._database.session() as session:
            users = [schema for schema in session.schemas() if schema != STATE_SCHEMA]
            seen = [one for one in users if session.visibility.owned.reaches(one) or administered(one)]
        for schema in seen:
            if folded(schema) == folded(name):
                return schema
        expected = "a schema that you own a part of, or administer"
        raise NotFoundError.of("SCHEMA_NOT_FOUND", "name", f"schemas/{shortened(name)}", expected, nearest(name, seen))

    def create_schema(self, name: str, control: Control) -> None:
        """Creates a schema; see `operate.create_schema`."""
        with self._database.session() as session:
            session.control = control
            create_schema(session, name)
            # A commit's success is no proof that anything was written.
            if name not in session.schemas():
                raise InternalError("NOT_CREATED", "the commit left nothing behind")

    def back_up(self, name: str, keep: int | None, control: Control) -> Backup:
        """Writes a backup, and leaves the `keep` latest ones; see `Backups.make`.

        Raises:
            CancelledError: `control` said so; nothing is left of it.
        """
        try:
            return self._backups.make(name, control, keep)
        except Stopped:
            raise CancelledError("CANCELLED", "the backup was given up") from None
