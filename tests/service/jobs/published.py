"""Places to publish to, each with a way to read what is there."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import duckdb

from tableveil.backend import Database, Settings
from tableveil.policy import IfExists, Policy
from tableveil.publishing import Target
from tableveil.publishing.declared import declared_targets, directories_of
from tableveil.runtime import JobManager, Publishing
from tableveil.state.publications import PUBLICATIONS, Publication
from tests.postgresql import rows
from tests.service.jobs.managed import LABELLED, SECONDS, ended, open_with, submit

OBJECTS = ("", "_classes", "_risk", "_risk_histogram", "_columns", "_labels", "_about")
"""The ends of the names of a release's objects."""

Rows = list[tuple[Any, ...]]


class Place(Protocol):
    """A target, as its readers see it."""

    declaration: str

    def read(self, number: int, name: str) -> Rows | None:
        """The rows of an object of a release in `main`, in any order; None if it is not there."""

    def names(self) -> set[str]:
        """All that there is, half-written things included."""


class Shelf:
    """A directory of DuckDB files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.declaration = f"directory:{directory}"

    def read(self, number: int, name: str) -> Rows | None:
        path = self.directory / f"releases-{number}.duckdb"
        if not path.exists():
            return None
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.execute(f"FROM main.{name}").fetchall()

    def names(self) -> set[str]:
        return {path.name for path in self.directory.iterdir()}


class Lake:
    """A directory of Parquet files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.declaration = f"parquet:{directory}"

    def read(self, number: int, name: str) -> Rows | None:
        for link in self.directory.glob("main.*"):
            if f"releases-{number}-" in link.readlink().name and (link / f"{name}.parquet").exists():
                with duckdb.connect() as connection:
                    return connection.execute("FROM read_parquet($1)", [f"{link}/{name}.parquet"]).fetchall()
        return None

    def names(self) -> set[str]:
        return {path.name for path in self.directory.iterdir()}


class Warehouse:
    """A schema of PostgreSQL."""

    def __init__(self, url: str) -> None:
        self.declaration = url

    def rows(self, statement: str) -> Rows:
        return rows(self.declaration, statement)

    def read(self, number: int, name: str) -> Rows | None:
        if not self.names():
            return None
        published = self.rows(f"SELECT 1 FROM tableveil_published WHERE table_name = '{name}' AND release = {number}")
        return self.rows(f'SELECT * FROM "{name}"') if published else None

    def names(self) -> set[str]:
        """The names of its tables and enums."""
        found = self.rows(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' "
            "UNION ALL SELECT typname::text FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype = 'e'"
        )
        return {name for (name,) in found} - {"tableveil_published"}


@dataclass
class Published:
    """A manager of jobs on a database that publishes to one target, `shelf`."""

    database: Database
    place: Place
    publishing: Publishing
    jobs: JobManager
    policy: Policy

    def release(self, name: str = "released", publish: bool = True, **changes: Any) -> int:
        """Makes a release for a reason, which replaces one of that name, and returns its number."""
        target = replace(
            self.policy.release,
            name=name,
            if_exists=IfExists.REPLACE,
            publish=("shelf",) if publish else (),
            **({"publish_repeat_reason": "a test"} | changes),
        )
        job = ended(self.jobs, submit(self.jobs, replace(self.policy, release=target), f"{time.monotonic_ns()}").number)
        assert job.result is not None, job.failure
        return job.result

    def publication(self, number: int) -> Publication:
        with self.database.ledger() as ledger:
            (found,) = PUBLICATIONS.of(ledger, [number])[number]
        return found

    def wait(self, number: int, state: str, done: Callable[[Publication], bool] = lambda _: True) -> Publication:
        """Waits until the publication has that state and is as asked."""
        deadline = time.monotonic() + SECONDS
        while not ((found := self.publication(number)).state == state and done(found)):
            assert time.monotonic() < deadline, found
            time.sleep(0.01)
        return found

    def rows(self, name: str) -> Rows:
        """The rows in the service's database."""
        with self.database.session() as session:
            return session.rows(f"FROM main.{name}")


@contextmanager
def publishing(path: Path, place: Place, policy: Policy = LABELLED, **options: Any) -> Iterator[Published]:
    """Opens an existing database file with a target."""
    targets: dict[str, Target] = declared_targets([f"shelf={place.declaration}"])
    database = Database(Settings(path, threads=1, directories=directories_of(targets.values())))
    made = Publishing(database, targets, lambda _: policy)
    jobs = open_with(database, concurrent_jobs=1, publishing=made, **options)
    try:
        yield Published(database, place, made, jobs, policy)
    finally:
        assert jobs.close(SECONDS)
        database.close()


def same(there: Published, number: int, name: str) -> bool:
    """Whether the readers have the objects that the service has."""
    return all(there.place.read(number, f"{name}{suffix}") == there.rows(f"{name}{suffix}") for suffix in OBJECTS)
