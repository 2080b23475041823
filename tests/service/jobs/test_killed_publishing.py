"""A server killed at any step of publishing: its readers have the earlier release or the later one, never a part."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.publishing import read_edition
from tableveil.publishing.declared import declared_targets, directories_of
from tableveil.publishing.postgresql import PostgresqlTarget
from tests.service.jobs.managed import LABELLED
from tests.service.jobs.published import OBJECTS, Lake, Place, Rows, Shelf, Warehouse

pytestmark = pytest.mark.long

RELEASE = 1


def publish(database: Path, declaration: str) -> None:
    """One attempt, as the server makes it."""
    targets = declared_targets([f"shelf={declaration}"])
    opened = Database(Settings(database, threads=1, directories=directories_of(targets.values())))
    with opened.session() as session:
        targets["shelf"].publish(session, partial(read_edition, session, RELEASE, lambda _: LABELLED), lambda: None)
    opened.close()


def killed_everywhere(database: Path, place: Place, expected: list[Rows]) -> int:
    """Publishes again and again, each time killed one step later, until it is done; returns the number of kills.

    Not for a process that has threads: each attempt is a process of its own, forked while nothing is open. Between them
    nothing is put right.
    """
    # Importing it takes longer than an attempt.
    pytest.importorskip("adbc_driver_postgresql.dbapi")
    for position in range(1000):
        if not (process := os.fork()):
            _kill_at(position)
            publish(database, place.declaration)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0:
            return position
        if not (process := os.fork()):
            seen = {name for name in place.names() if not name.startswith(".")}
            found = [place.read(RELEASE, f"released{suffix}") for suffix in OBJECTS] if seen else expected
            os._exit(0 if found == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, f"half there after {position} steps"
    raise AssertionError("it never ended")


def _kill_at(position: int) -> None:
    """Ends this process, without any clearing up, right before one of the steps that write or show something."""
    from adbc_driver_postgresql import dbapi

    left = position

    def counting(function: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **options: object) -> object:
            nonlocal left
            if left == 0:
                os._exit(9)
            left -= 1
            return function(*arguments, **options)

        return called

    steps = [(Session, "_unguarded"), (Session, "close"), (os, "fsync"), (Path, "chmod"), (Path, "replace")]
    steps += [(PostgresqlTarget, "_check_free"), (dbapi.Cursor, "adbc_ingest"), (dbapi.Connection, "commit")]
    for of, name in steps:
        setattr(of, name, counting(getattr(of, name)))


PLACES = {"directory": Shelf, "parquet": Lake, "postgresql": Warehouse}


@pytest.mark.parametrize("kind", PLACES)
def test_killed_at_every_step(path: Path, tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("adbc_driver_postgresql")
    where = tmp_path / "shelf"
    where.mkdir()
    if kind == "postgresql":
        where = request.getfixturevalue("postgresql").new_database()
    with duckdb.connect(str(path)) as connection:
        expected = [connection.execute(f"FROM released{suffix}").fetchall() for suffix in OBJECTS]
    call = (
        "import datetime; from decimal import Decimal; from pathlib import Path, PosixPath\n"
        "from tests.service.jobs.test_killed_publishing import *\n"
        f"print(killed_everywhere({path!r}, PLACES[{kind!r}]({where!r}), {expected!r}))"
    )
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5
    place = PLACES[kind](where)
    assert [place.read(RELEASE, f"released{suffix}") for suffix in OBJECTS] == expected
    assert len(place.names()) == {"directory": 1, "parquet": 2, "postgresql": len(OBJECTS)}[kind]
