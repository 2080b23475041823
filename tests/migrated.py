"""Database files with Tableveil's state in them, copied from one: making it takes several times as long."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tableveil.backend import Database, Settings
from tableveil.state.migrate import migrate


def opened(path: Path) -> Iterator[Database]:
    """A new database at `path`, closed in the end."""
    shutil.copyfile(_template(), path)
    database = Database(Settings(path, threads=2))
    yield database
    database.close()


@cache
def _template() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="tableveil-tests-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    database = Database(Settings(directory / "template.duckdb", threads=2))
    with database.session() as session:
        migrate(session)
    database.close()
    return directory / "template.duckdb"
