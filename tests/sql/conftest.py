"""A database file per test with Tableveil's state in it, and a session on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.search import Control
from tableveil.state.migrate import migrate


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(Settings(tmp_path / "test.duckdb", threads=2))
    with opened.session() as session:
        migrate(session)
    yield opened
    opened.close()


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    """A session as jobs have it: with a control that may stop it."""
    with database.session() as opened:
        opened.control = Control()
        yield opened
