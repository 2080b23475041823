"""The doctor's findings, each trouble made by hand; looking changes nothing."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Session, Settings, read_only
from tableveil.operate import Finding, Level, disk, examine, examine_file, examine_state
from tableveil.release.objects import mark
from tableveil.state.jobs import JobState, Outcome, Request, insert_outcome, insert_request
from tableveil.state.migrate import migrate
from tableveil.state.release_objects import ObjectKind, ReleaseObject
from tableveil.state.releases import RELEASES
from tests.sql.state.release_samples import RELEASE, SIZES


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "db.duckdb"
    with opened(path) as session:
        migrate(session.ledger)
        session.execute("CREATE TABLE released AS FROM range(95)")
        written = ReleaseObject("released", ObjectKind.ROWS, 95, mark(session, "main", "released"))
        stored = replace(RELEASE, objects=(written,), versions={"duckdb": duckdb.__version__})
        RELEASES.write(session.ledger, stored, SIZES, SIZES)
        request = Request(3, "", "{}", "", RELEASE.source, "main", "released", RELEASE.created_at)
        insert_request(session.ledger, request)
        insert_outcome(session.ledger, request.number, Outcome(JobState.SUCCEEDED, RELEASE.created_at, RELEASE.number))
    return path


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    """A database with a release, which nobody has open."""
    path = tmp_path / "db.duckdb"
    shutil.copyfile(template, path)
    path.chmod(0o600)
    return path


class opened:  # noqa: N801
    """A session on the file, for what somebody does beside the server."""

    def __init__(self, path: Path) -> None:
        self._database = Database(Settings(path, threads=2))
        self._session = self._database.session()

    def __enter__(self) -> Session:
        return self._session

    def __exit__(self, *_: object) -> None:
        self._session.close()
        self._database.close()


def troubles(path: Path, served: bool = False) -> list[Finding]:
    found = list(examine_file(path, served))
    with read_only(path) as session:
        found += examine_state(session)
    assert all(finding.advice for finding in found if finding.level is not Level.OK)
    return [finding for finding in found if finding.level is not Level.OK]


def files(directory: Path) -> Iterator[tuple[str, int, bytes]]:
    for path in sorted(directory.rglob("*")):
        yield path.name, path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b""


def test_all_is_well_and_nothing_is_changed(path: Path, tmp_path: Path) -> None:
    before = list(files(tmp_path))
    assert troubles(path) == []
    assert list(files(tmp_path)) == before


TROUBLES: list[tuple[str, str, Level, str, str]] = [
    ("a job without an end", JOB := "INSERT INTO tableveil.jobs SELECT * REPLACE (9 AS number) FROM tableveil.jobs",
     Level.WARNING, "jobs", "jobs/9"),
    ("an object that is gone", "DROP TABLE released", Level.PROBLEM, "releases/7", "'released' is gone"),
    ("an object with other rows", "DELETE FROM released WHERE range < 5", Level.PROBLEM, "releases/7", "has 90 rows"),
    ("an object with other values", "UPDATE released SET range = 100 WHERE range = 5", Level.PROBLEM, "releases/7",
     "does not hold what was written"),
    ("a view in its place", "DROP TABLE released; CREATE VIEW released AS SELECT 1", Level.PROBLEM, "releases/7",
     "is a view"),
    ("a publication that failed", "INSERT INTO tableveil.publications BY NAME SELECT 7 AS release, 'shelf' AS target, "
     "'' AS requested_by, now()::TIMESTAMP AS requested_at, '' AS repeat_reason, true AS wanted, 'FAILED' AS state, "
     "1 AS attempts, 'TARGET_UNFIT' AS code, '' AS problem", Level.WARNING, "publications",
     "releases/7 at shelf (TARGET_UNFIT)"),
    ("rows of a hierarchy that is none", "CREATE TABLE tableveil.hierarchy_5 (l0 VARCHAR)", Level.WARNING,
     "tables of the state", "tableveil.hierarchy_5"),
    ("a snapshot without a release", "CREATE TABLE tableveil.snapshot_8 (a INTEGER)", Level.WARNING,
     "tables of the state", "tableveil.snapshot_8"),
    ("no key", "DELETE FROM tableveil.secrets", Level.PROBLEM, "key", "gone"),
    ("a newer state", "INSERT INTO tableveil.migrations SELECT max(number) + 1, 'x', now()::TIMESTAMP FROM "
     "tableveil.migrations", Level.PROBLEM, "state", "newer than"),
    ("an old backup", "INSERT INTO tableveil.backups VALUES ('x.duckdb', now()::TIMESTAMP - INTERVAL 50 HOUR, 1)",
     Level.WARNING, "backup", "2 days old: 'x.duckdb'"),
    ("an older state", "DELETE FROM tableveil.migrations", Level.WARNING, "state", "version 0 of"),
    ("a state of before the first script", "UPDATE tableveil.migrations SET number = 24", Level.PROBLEM, "state",
     "version 24, older than 25"),
    ("no state", "DROP SCHEMA tableveil CASCADE", Level.WARNING, "state", "no server has had this file yet"),
]  # fmt: skip


@pytest.mark.parametrize(("statements", "level", "subject", "words"), [case[1:] for case in TROUBLES],
                         ids=[case[0] for case in TROUBLES])  # fmt: skip
def test_troubles(path: Path, statements: str, level: Level, subject: str, words: str) -> None:
    with opened(path) as session:
        for statement in statements.split(";"):
            session.execute(statement)
    (found,) = troubles(path)
    assert (found.level, found.subject) == (level, subject)
    assert words in found.found


def test_a_job_that_is_at_work_is_not_stale(path: Path) -> None:
    with opened(path) as session:
        session.execute(JOB)
        assert {finding.level for finding in examine_state(session, lambda: [9])} == {Level.OK}


def test_a_replaced_release_needs_no_objects(path: Path) -> None:
    with opened(path) as session:
        query = "SELECT * REPLACE (8 AS number, 4 AS job) FROM tableveil.releases"
        session.execute(f"INSERT INTO tableveil.releases {query}")
        query = "SELECT * REPLACE (8 AS release, 'later' AS name, '' AS mark) FROM tableveil.release_objects"
        session.execute(f"INSERT INTO tableveil.release_objects {query}")
        session.execute("ALTER TABLE released RENAME TO later")
    assert troubles(path) == []


def test_a_renamed_file(path: Path) -> None:
    other = path.rename(path.with_name("other.duckdb"))
    (found,) = troubles(other)
    assert (found.level, found.subject) == (Level.WARNING, "name")
    assert "'db', not as 'other'" in found.found


def test_files(path: Path) -> None:
    spill = path.with_name(".db.duckdb.spill")
    spill.mkdir(mode=0o700)
    (spill / "left").write_bytes(b"x" * 2048)
    (found,) = troubles(path)
    assert (found.level, found.subject) == (Level.WARNING, "spill directory")
    assert "1 files, 2.0 KiB" in found.found
    assert troubles(path, served=True) == [], "a server uses it"
    spill.chmod(0o755)
    (found,) = troubles(path)
    assert (found.level, found.subject) == (Level.PROBLEM, "spill directory")
    (spill / "left").unlink()
    spill.rmdir()
    (found,) = troubles(path, served=True)
    assert found.level is Level.PROBLEM
    path.chmod(0o644)
    (found,) = troubles(path)
    assert (found.level, found.subject, found.advice.split()[-3:]) == (
        Level.WARNING, "permissions", ["chmod", "600", "db.duckdb"],
    )  # fmt: skip


@pytest.mark.parametrize(("free", "level"), [(disk.LEAST_FREE_BYTES - 1, Level.PROBLEM), (2**40, None)])
def test_room(path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level | None) -> None:
    monkeypatch.setattr(examine, "free_bytes", lambda _: free)
    assert [finding.level for finding in troubles(path)] == ([level] if level else [])


def test_no_file(tmp_path: Path) -> None:
    (found,) = examine_file(tmp_path / "none", served=False)
    assert (found.level, found.subject) == (Level.PROBLEM, "file")


def test_sizes_for_people() -> None:
    wanted = {0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 64 * 2**20: "64.0 MiB", 3 * 2**40: "3072.0 GiB"}
    assert {size: disk.in_bytes(size) for size in wanted} == wanted


def test_no_release_is_named_before_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    with opened(path) as session:
        migrate(session.ledger)
    with read_only(path) as session:
        found = [finding for finding in examine_state(session) if finding.subject == "ledger"]
    assert [(one.level, one.found) for one in found] == [(Level.OK, "has no release yet")]
