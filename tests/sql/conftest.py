"""A database file with Tableveil's state in it, and a session on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tableveil.backend import Database, Ledger, Session
from tableveil.control import Control
from tests.migrated import opened


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    yield from opened(tmp_path / "test.duckdb")


@pytest.fixture(scope="module")
def shared_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all tests of a file that override `database` with it: opening one takes longer than most tests."""
    yield from opened(tmp_path_factory.mktemp("shared") / "test.duckdb")


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    """A session as jobs have it: with a control that may stop it."""
    with database.session() as opened_session:
        opened_session.control = Control()
        yield opened_session


@pytest.fixture
def ledger(session: Session) -> Ledger:
    return session.ledger
