"""Migrations: a fresh database, one that is up to date, and one that a newer Tableveil wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.errors import InvalidError
from tableveil.state.migrate import fingerprint_key, migrate, migrations


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Session]:
    database = Database(Settings(tmp_path / "fresh.duckdb"))
    with database.session() as session:
        yield session
    database.close()


def tables(session: Session) -> list[tuple[str, str]]:
    return session.rows("SELECT table_name, sql FROM duckdb_tables() WHERE schema_name = 'tableveil' ORDER BY 1")


def test_numbers_count_from_1_without_gaps() -> None:
    assert [migration.number for migration in migrations()] == list(range(1, len(migrations()) + 1))


def test_fresh_database_is_brought_up_to_date(fresh: Session) -> None:
    migrate(fresh)
    applied = fresh.rows("SELECT number, name FROM tableveil.migrations ORDER BY number")
    assert applied == [(migration.number, migration.name) for migration in migrations()]
    assert {"jobs", "job_events", "job_outcomes", "releases", "hierarchies"} <= {name for name, _ in tables(fresh)}


def test_migrating_twice_changes_nothing(fresh: Session) -> None:
    migrate(fresh)
    before, key = tables(fresh), fingerprint_key(fresh)
    migrate(fresh)
    assert (tables(fresh), fingerprint_key(fresh)) == (before, key)
    assert fresh.value("SELECT count(*) FROM tableveil.migrations") == len(migrations())


def test_each_database_has_a_key_of_its_own(fresh: Session, session: Session) -> None:
    migrate(fresh)
    assert len(fingerprint_key(fresh)) == 32
    assert fingerprint_key(fresh) != fingerprint_key(session)


def test_newer_database_is_refused_and_left_alone(fresh: Session) -> None:
    migrate(fresh)
    newer = len(migrations()) + 1
    fresh.execute("INSERT INTO tableveil.migrations VALUES (?, 'of_the_future', now()::TIMESTAMP)", [newer])
    before = tables(fresh)
    with pytest.raises(InvalidError) as raised:
        migrate(fresh)
    assert raised.value.code == "DATABASE_TOO_NEW"
    assert "upgrade this one" in str(raised.value)
    assert tables(fresh) == before


def test_users_tables_are_left_alone(fresh: Session) -> None:
    fresh.execute("CREATE TABLE jobs AS SELECT 1 AS mine")
    migrate(fresh)
    assert fresh.rows("SELECT * FROM main.jobs") == [(1,)]
