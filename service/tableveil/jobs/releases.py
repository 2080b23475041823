"""Releases, as the service offers them: the owner's evidence, and the public objects as a stream of rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Database, table
from tableveil.errors import ConflictError, NotFoundError, nearest, shortened
from tableveil.state import releases
from tableveil.state.releases import Release

ROWS_PER_BATCH = 8192


class Releases:
    """Reads the ledger and what it lists. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, number: int) -> Release:
        """The release of that number; `NotFoundError` if there is none."""
        with self._database.session() as session:
            release = releases.find(session, number)
        if release is None:
            raise NotFoundError.of("RELEASE_NOT_FOUND", "name", f"releases/{number}", "an existing release")
        return release

    def page(self, before: int | None, size: int) -> list[Release]:
        """The next `size` releases with numbers below `before`, newest first."""
        with self._database.session() as session:
            return releases.page(session, before, size)

    @contextmanager
    def read(self, number: int, name: str) -> Iterator[pa.RecordBatchReader]:
        """The rows of a public object, in its order.

        Raises:
            NotFoundError: there is no such release, or it has no such object.
            ConflictError: the release was replaced; its objects are another one's now.
        """
        release = self.get(number)
        names = [item.name for item in release.objects]
        if name not in names:
            expected = f"an object of releases/{number}"
            hint = nearest(name, names) or f"It has {', '.join(map(shortened, names))}."
            raise NotFoundError.of("OBJECT_NOT_FOUND", "object", shortened(name), expected, hint)
        if not release.current:
            raise ConflictError.of(
                "RELEASE_REPLACED",
                "release",
                f"releases/{number}, which a later release has replaced",
                "a release whose objects are still its own",
            )
        with self._database.session() as session:
            # By its full name: the schema may be called as the database is.
            public = table(name, release.target_schema, session.value("SELECT current_database()"))
            yield session.batches(exp.select("*").from_(public), ROWS_PER_BATCH)
