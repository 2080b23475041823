"""A release as a published file, beside the source that it was made of."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.discharges import discharges
from benchmarks.problems import UnusableError
from benchmarks.service import TARGET, LocalService
from tableveil.backend import Database, Settings
from tableveil.policy import Policy, ReleaseTarget
from tableveil.publishing import DirectoryTarget, read_edition

RELEASED = f"{TARGET.schema}.{TARGET.name}"
"""The name of the released table."""


@dataclass(frozen=True, slots=True)
class Both:
    """The directory of the endpoint, and a connection that reads `source` and, as `given`, the published file."""

    directory: Path
    connection: duckdb.DuckDBPyConnection

    def rows(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """The rows of a statement on both."""
        return self.connection.execute(statement, list(values)).fetchall()


@contextmanager
def released(policy: Policy, rows: int) -> Iterator[Both]:
    """Releases so many discharges, publishes them, and removes both in the end.

    Raises:
        UnusableError: the job failed.
    """
    with tempfile.TemporaryDirectory() as name:
        database = Path(name) / "copy.duckdb"
        shutil.copyfile(discharges(rows), database)
        with published(policy, database) as both:
            yield both


@contextmanager
def published(policy: Policy, database: Path, target: ReleaseTarget = TARGET) -> Iterator[Both]:
    """Releases the table that a policy names, and publishes it beside the database."""
    directory = database.parent
    with LocalService(database, threads=2) as service:
        run = service.run(policy, target=target)
    if run.release is None:
        raise UnusableError(f"no release: {run.failure}")
    number = run.release.number
    (directory / "published").mkdir()
    place = DirectoryTarget(directory / "published")
    settings = Settings(database, directories=(place.directory,))
    with closing(Database(settings)) as opened, opened.session() as session:
        place.publish(session, lambda: read_edition(session, number, lambda _: policy), lambda: None)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{database}' AS kept (READ_ONLY)")
        connection.execute(f"ATTACH '{directory / 'published' / f'releases-{number}.duckdb'}' AS given (READ_ONLY)")
        connection.execute(f"CREATE VIEW source AS FROM kept.main.{policy.source.table}; USE given")
        yield Both(directory, connection)
