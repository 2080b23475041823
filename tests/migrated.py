"""Database files with Tableveil's state in them, copied from one: making it takes several times as long."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tableveil.backend import Database, Settings
from tableveil.state.migrate import migrate

THREADS = 1
"""Tables of tests are small: threads that wait for work would take more time than the work."""


def opened(path: Path, original: Path | None = None) -> Iterator[Database]:
    """A new database at `path`, a copy of the original if there is one, closed in the end."""
    shutil.copyfile(original or _template(), path)
    database = Database(Settings(path, threads=THREADS))
    yield database
    database.close()


def passing(path: Path, original: Path | None = None) -> Iterator[Database]:
    """As `opened`, for tests alone: nobody opens the file again, and folding its log into it takes a while."""
    for database in opened(path, original):
        yield database
        path.unlink(missing_ok=True)


@cache
def _template() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="tableveil-tests-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    database = Database(Settings(directory / "template.duckdb", threads=THREADS))
    with database.ledger() as ledger:
        migrate(ledger)
    database.close()
    return directory / "template.duckdb"
