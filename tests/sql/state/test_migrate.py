"""Migrations: fresh databases, those of other versions, and those that a newer Tableveil wrote."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.errors import InvalidError, TableveilError
from tableveil.state import migrate as migrate_module
from tableveil.state.migrate import BRINGS_TO_FIRST, SCRIPTS, fingerprint_key, migrate, migrations
from tableveil.state.releases import RELEASES
from tests.sql.state.release_samples import RELEASE, SIZES


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Session]:
    database = Database(Settings(tmp_path / "fresh.duckdb"))
    with database.session() as session:
        yield session
    database.close()


def tables(session: Session) -> list[tuple[str, str]]:
    return session.rows("SELECT table_name, sql FROM duckdb_tables() WHERE schema_name = 'tableveil' ORDER BY 1")


def test_numbers_count_without_gaps() -> None:
    assert [migration.number for migration in migrations()] == list(range(FIRST, FIRST + len(migrations())))


def test_fresh_database_is_brought_up_to_date(fresh: Session) -> None:
    migrate(fresh.ledger)
    applied = fresh.rows("SELECT number, name FROM tableveil.migrations ORDER BY number")
    assert applied == [(migration.number, migration.name) for migration in migrations()]
    assert {"jobs", "job_events", "job_outcomes", "releases", "hierarchies"} <= {name for name, _ in tables(fresh)}


def test_migrating_twice_changes_nothing(fresh: Session) -> None:
    migrate(fresh.ledger)
    before, key = tables(fresh), fingerprint_key(fresh.ledger)
    migrate(fresh.ledger)
    assert (tables(fresh), fingerprint_key(fresh.ledger)) == (before, key)
    assert fresh.value("SELECT count(*) FROM tableveil.migrations") == len(migrations())


def test_each_database_has_a_key_of_its_own(fresh: Session, session: Session) -> None:
    migrate(fresh.ledger)
    assert len(fingerprint_key(fresh.ledger)) == 32
    assert fingerprint_key(fresh.ledger) != fingerprint_key(session.ledger)


FIRST, NOW = migrations()[0].number, migrations()[-1].number


def test_a_script_that_databases_have_seen_does_not_change() -> None:
    """A change of the state is a script of its own: nothing applies a script twice."""
    digest = sha256(migrations()[0].text.encode()).hexdigest()
    assert digest == "908363a6013a22cda37afcc6c7ff8468d1f23fceb9e501e67da3cf3ddaee23fb"


def test_databases_of_before_the_first_script_are_its_build_s_matter(fresh: Session) -> None:
    migrate(fresh.ledger)
    fresh.execute("UPDATE tableveil.migrations SET number = number - 1")
    before = tables(fresh)
    with pytest.raises(InvalidError) as raised:
        migrate(fresh.ledger)
    assert raised.value.code == "DATABASE_TOO_OLD"
    assert f"state version {FIRST - 1}" in str(raised.value)
    assert BRINGS_TO_FIRST in str(raised.value)
    assert tables(fresh) == before


def test_a_database_that_came_to_the_first_script_by_steps_is_taken_as_it_is(fresh: Session) -> None:
    migrate(fresh.ledger)
    fresh.execute(
        f"UPDATE tableveil.migrations SET name = 'documents_of_reports' WHERE number = {FIRST};"
        "INSERT INTO tableveil.migrations SELECT i, 'a step', now()::TIMESTAMP FROM range(1, ?) steps(i)",
        [FIRST],
    )
    before = tables(fresh)
    migrate(fresh.ledger)
    assert tables(fresh) == before
    assert fresh.value("SELECT count(*) FROM tableveil.migrations") == NOW


@pytest.fixture
def following(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A version of Tableveil that has one script more: the path is the script's."""
    scripts = tmp_path / "migrations"
    scripts.mkdir()
    for one in migrations():
        (scripts / f"{one.number:04}_{one.name}.sql").write_text(one.text, encoding="utf-8")
    script = scripts / f"{NOW + 1:04}_following.sql"
    script.write_text(
        "ALTER TABLE tableveil.releases ADD COLUMN approved_by VARCHAR DEFAULT 'nobody';\n"
        "ALTER TABLE tableveil.releases ALTER COLUMN approved_by SET NOT NULL;\n"
        "CREATE TABLE tableveil.approvals AS SELECT number AS release, created_at FROM tableveil.releases;\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(migrate_module, "SCRIPTS", scripts)
    return script


def test_the_next_version_brings_a_database_of_this_one_up_to_date(
    fresh: Session, following: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert following.exists()
    with monkeypatch.context() as before:
        before.setattr(migrate_module, "SCRIPTS", SCRIPTS)
        migrate(fresh.ledger)
    RELEASES.write(fresh.ledger, RELEASE, SIZES, SIZES)
    key = fingerprint_key(fresh.ledger)
    migrate(fresh.ledger)
    applied = fresh.rows("SELECT number, name FROM tableveil.migrations ORDER BY number")
    assert applied == [(migration.number, migration.name) for migration in migrate_module.migrations()]
    assert applied[-1] == (NOW + 1, "following")
    assert fingerprint_key(fresh.ledger) == key
    assert RELEASES.find(fresh.ledger, RELEASE.number) == RELEASE
    assert fresh.rows("SELECT number, approved_by FROM tableveil.releases") == [(RELEASE.number, "nobody")]
    assert fresh.rows("FROM tableveil.approvals") == [(RELEASE.number, RELEASE.created_at)]
    migrate(fresh.ledger)
    assert fresh.value("SELECT max(number) FROM tableveil.migrations") == NOW + 1


def test_a_migration_that_fails_leaves_the_version_before(fresh: Session, following: Path) -> None:
    following.write_text(following.read_text(encoding="utf-8") + "SELECT nothing;", encoding="utf-8")
    with pytest.raises(TableveilError):
        migrate(fresh.ledger)
    assert fresh.value("SELECT max(number) FROM tableveil.migrations") == NOW
    assert "approvals" not in {name for name, _ in tables(fresh)}


def test_newer_database_is_refused_and_left_alone(fresh: Session) -> None:
    migrate(fresh.ledger)
    newer = NOW + 1
    fresh.execute("INSERT INTO tableveil.migrations VALUES (?, 'of_the_future', now()::TIMESTAMP)", [newer])
    before = tables(fresh)
    with pytest.raises(InvalidError) as raised:
        migrate(fresh.ledger)
    assert raised.value.code == "DATABASE_TOO_NEW"
    assert "upgrade this one" in str(raised.value)
    assert tables(fresh) == before


def test_users_tables_are_left_alone(fresh: Session) -> None:
    fresh.execute("CREATE TABLE jobs AS SELECT 1 AS mine")
    migrate(fresh.ledger)
    assert fresh.rows("SELECT * FROM main.jobs") == [(1,)]
