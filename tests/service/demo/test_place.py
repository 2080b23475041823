"""The demo clears what an earlier demo left, and nothing that anybody uses or added."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Settings
from tableveil.demo.place import DATABASE, MARK, clear
from tableveil.errors import BusyError, ConflictError
from tableveil.state.lineage import notice_older_ledger
from tableveil.state.migrate import migrate
from tableveil.state.releases import RELEASES
from tests.file_modes import open_to_others, usual_umask
from tests.sql.state.release_samples import RELEASE, SIZES

HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("CREATE TABLE discharges_released_risk (a INTEGER)")
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A directory as an earlier demo left it."""
    directory = tmp_path / "demo"
    clear(directory)
    with duckdb.connect(str(directory / DATABASE)) as connection:
        connection.execute("CREATE TABLE discharges (a INTEGER); CREATE SCHEMA tableveil")
        connection.execute("CREATE TABLE tableveil.jobs (number BIGINT)")
        connection.execute("CREATE VIEW discharges_released AS FROM discharges")
    return directory


def test_what_a_demo_left_is_cleared(left: Path) -> None:
    database = Database(Settings(left / DATABASE, threads=1))
    with database.session() as session:
        session.execute("DROP SCHEMA tableveil CASCADE")
        migrate(session.ledger)
        RELEASES.write(session.ledger, RELEASE, SIZES, SIZES)
        notice_older_ledger(database.path, session.ledger)
    database.close()
    assert {path.name for path in left.iterdir()} > {MARK, DATABASE}
    with usual_umask():
        clear(left)
    assert [path.name for path in left.iterdir()] == [MARK]
    assert left.stat().st_mode & 0o077 == 0


def test_a_database_that_is_served_stays(left: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(left / DATABASE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        before = (left / DATABASE).stat().st_ino
        with pytest.raises(BusyError) as raised:
            clear(left)
        assert (left / DATABASE).stat().st_ino == before
        # Killed, so that the log stays.
        holder.kill()
    assert raised.value.code == "DATABASE_LOCKED"
    assert (left / f"{DATABASE}.wal").exists()
    clear(left)
    assert [path.name for path in left.iterdir()] == [MARK]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE nurses (a INTEGER)",
        "CREATE SCHEMA mine; CREATE VIEW mine.nurses AS SELECT 1 AS a",
        "CREATE TABLE discharges_planning (a INTEGER)",
    ],
)
def test_tables_that_somebody_added_stay(left: Path, statement: str) -> None:
    with duckdb.connect(str(left / DATABASE)) as connection:
        connection.execute(statement)
    with pytest.raises(ConflictError) as raised:
        clear(left)
    assert raised.value.code == "DIRECTORY_IN_USE"
    assert "nurses" in raised.value.faults[0].found or "discharges_planning" in raised.value.faults[0].found
    assert (left / DATABASE).exists()


@pytest.mark.parametrize("name", ["results.csv", "clinic.duckdb.bak"])
def test_files_that_somebody_added_stay(left: Path, name: str) -> None:
    (left / name).write_text("mine")
    with pytest.raises(ConflictError) as raised:
        clear(left)
    assert name in raised.value.faults[0].found
    assert (left / name).read_text() == "mine"
    assert (left / DATABASE).exists()


def test_a_directory_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_text("mine")
    with pytest.raises(ConflictError):
        clear(tmp_path)
    assert (tmp_path / DATABASE).read_text() == "mine"


def test_a_new_directory_is_private(tmp_path: Path) -> None:
    with usual_umask():
        clear(tmp_path / "demo")
    assert str(tmp_path / "demo") not in open_to_others(tmp_path)
