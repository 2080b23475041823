"""A newer file of the database restores the knowledge that a restored backup lacks; no other file does."""

import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Scopes, Session, Settings, read_only
from tableveil.control import Control
from tableveil.errors import InvalidError
from tableveil.lifecycle import check_ledger
from tableveil.operate import Backups, Level, restore
from tableveil.operate.taken_over import FORGOTTEN, OF_JOBS, OF_RELEASES, REBUILT, WHOLE
from tableveil.policy import TableReference
from tableveil.state import joint_texts, rights, schema_rules, sketches, table_privacy
from tableveil.state.jobs import now
from tableveil.state.joint_texts import JointText
from tableveil.state.migrate import SCHEMA, migrate
from tableveil.state.releases import RELEASES
from tests.sql.lifecycle.test_ledger import POLICY, read
from tests.sql.state.release_samples import RELEASE, SIZES
from tests.sql.state.test_lineage import release, served

LAB = Scopes(schemas=frozenset({"lab"}), tables=frozenset({("hospital", "people")}), releases=frozenset({1}))
TABLE = TableReference("", "main", "People")

PEOPLE = "CREATE TABLE IF NOT EXISTS {} AS SELECT hash(i) AS id FROM range(200) r(i)"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with three releases, a backup after the first, and one after the second."""
    directory = tmp_path_factory.mktemp("newer")
    path = directory / "clinic.duckdb"
    database = Database(Settings(path, threads=2, directories=(directory,)))
    with database.session() as session:
        migrate(session.ledger)
        release(path, session)
        declare(session, "the first privacy")
        Backups(database, directory).make("first", Control())
        declare(session, "a stricter one")
        # The table of these people is not in the first backup.
        session.execute(PEOPLE.format("people"))
        found = read(session, "people", _key(session))[1].sketch
        assert found is not None
        for _ in range(7):
            jobs_taken = session.value("SELECT nextval('tableveil.job_numbers')")
        number = release(path, session, "people")
        sketches.insert(session.ledger, number, found)
        with session.transaction():
            for job in (1, number):
                rights.insert(session.ledger, job, LAB)
                joint_texts.insert(session.ledger, job, [JointText("careful", (job + 1,))])
        Backups(database, directory).make("second", Control())
        assert (release(path, session), jobs_taken) == (3, 7)
    database.close()
    return directory


def declare(session: Session, privacy: str) -> None:
    with session.transaction():
        table_privacy.declare(session.ledger, TABLE, privacy, "ann", now())
        schema_rules.put(session.ledger, "ward", joint_k="stricter" in privacy, set_by="ann", at=now())


def _key(session: Session) -> bytes:
    return bytes(session.value("SELECT value FROM tableveil.secrets"))


def asked(session: Session, name: str) -> str:
    session.execute(PEOPLE.format(name))
    try:
        check_ledger(session, POLICY, *read(session, name, _key(session)))
    except InvalidError as error:
        return error.faults[0].found
    return ""


@pytest.mark.parametrize(("newer", "until"), [("second", 2), pytest.param("clinic", 3, marks=pytest.mark.long)])
def test_releases_that_a_backup_lacks(files: Path, tmp_path: Path, newer: str, until: int) -> None:
    target = tmp_path / "clinic.duckdb"
    findings = restore(files / "first.duckdb", target, files / f"{newer}.duckdb")
    is_whole = newer == "clinic"
    [found] = [finding for finding in findings if finding.subject == "ledger"]
    assert found.level is (Level.OK if is_whole else Level.WARNING)
    assert [path.name for path in tmp_path.iterdir()] == ["clinic.duckdb"]
    with served(target) as session:
        numbers = range(until, 1, -1)
        taken = RELEASES.page(session.ledger, None, 10)
        assert [each.number for each in taken] == [*numbers, 1]
        # As they were but for what is not here; the release of the same target that is here stays the current one.
        for each in taken[:-1]:
            assert each.withdrawal is not None
            assert "newer ledger" in each.withdrawal.reason
            assert (each.records, each.objects, each.attributes) == (RELEASE.records, (), RELEASE.attributes)
        assert (taken[-1].current, taken[-1].withdrawal) == (True, None)
        assert "all 200 values of 'id' in releases/2 recur here" in asked(session, "renamed")
        session.execute("CREATE TABLE others AS SELECT hash(i, 1) AS id FROM range(200) r(i)")
        assert ("went back in time" in asked(session, "others")) == (not is_whole)
        declared = [table_privacy.find(session.ledger, TABLE, version) for version in (0, 1, 2)]
        assert [found and found.privacy for found in declared] == [
            *("a stricter one", "the first privacy", "a stricter one")
        ]
        assert [rule.joint_k for rule in schema_rules.every(session.ledger)] == [True]
        # The release of jobs/2 alone came over: it is compared by these rights yet, and a text of it is not for all.
        assert [rights.of_job(session.ledger, job) for job in (1, 2)] == [Scopes(), LAB]
        assert session.rows("FROM tableveil.joint_texts") == [(2, "careful", [3])]
        assert session.value("SELECT nextval('tableveil.job_numbers')") == 8
        assert release(target, session, "later") == until + 1


def test_newer_files_are_named(files: Path, tmp_path: Path) -> None:
    target = tmp_path / "clinic.duckdb"
    shutil.copyfile(files / ".clinic.duckdb.ledger", tmp_path / ".clinic.duckdb.ledger")
    (tmp_path / "elsewhere.duckdb").write_text("no database")
    found = [finding.found for finding in restore(files / "first.duckdb", target) if finding.subject == "newer ledger"]
    assert len(found) == 3
    assert any("second.duckdb' ends with releases/2" in each for each in found)
    assert any("clinic.duckdb' ends with releases/3" in each for each in found)
    assert "had made releases up to releases/3" in found[-1]
    with served(target) as session:
        assert "releases/2 to releases/3 were made" in asked(session, "others")
    restored = restore(files / "clinic.duckdb", tmp_path / "again.duckdb")
    assert not [finding for finding in restored if finding.subject == "newer ledger"]


def test_a_file_that_was_copied_by_other_means_knows_it_then(files: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.duckdb"
    findings = restore(files / "clinic.duckdb", target)
    assert any(finding.subject == "ledger" and finding.level is Level.WARNING for finding in findings)
    with served(target) as session:
        assert "when this copy was made" in asked(session, "others")


def test_files_that_do_not_fit(files: Path, tmp_path: Path) -> None:
    other, forked, old = (tmp_path / name for name in ("other.duckdb", "forked.duckdb", "old.duckdb"))
    with served(other) as session:
        release(other, session)
    restore(files / "first.duckdb", forked)
    with served(forked) as session:
        made = replace(RELEASE, number=2, job=99)
        with session.transaction():
            RELEASES.write(session.ledger, made, SIZES, SIZES)
    shutil.copyfile(files / "clinic.duckdb", old)
    with duckdb.connect(old) as connection:
        connection.execute("UPDATE tableveil.migrations SET number = number + 1")
    for newer, words in (
        (other, "of another database"),
        (files / "first.duckdb", "lacks releases"),
        (forked, "lacks releases"),
        (old, "of another version"),
    ):
        target = tmp_path / "target.duckdb"
        with pytest.raises(InvalidError) as raised:
            restore(files / "second.duckdb", target, newer)
        assert raised.value.code == "LEDGER_UNFIT"
        assert words in raised.value.faults[0].found
        assert not target.exists()


def test_every_table_of_the_state_has_an_answer(files: Path) -> None:
    """A new table is taken over, has statements of its own, or is forgotten with a reason."""
    with read_only(files / "clinic.duckdb") as session:
        tables = [
            name for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = ?", [SCHEMA])
        ]
        columns = session.rows("SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = ?", [SCHEMA])
    assert sorted(tables) == sorted([*OF_RELEASES, *OF_JOBS, *WHOLE, *REBUILT, *FORGOTTEN])
    assert all([*REBUILT.values(), *FORGOTTEN.values()])
    for names, column in ((OF_RELEASES, "release"), (OF_JOBS, "job")):
        assert {(name, column) for name in names} <= set(columns)


def test_a_backup_keeps_the_rights_of_jobs_and_their_joint_texts(files: Path, tmp_path: Path) -> None:
    restore(files / "clinic.duckdb", tmp_path / "clinic.duckdb")
    with served(tmp_path / "clinic.duckdb") as session:
        assert [rights.of_job(session.ledger, job) for job in (1, 2, 3)] == [LAB, LAB, Scopes()]
        assert session.rows("FROM tableveil.joint_texts ORDER BY job") == [(1, "careful", [2]), (2, "careful", [3])]
