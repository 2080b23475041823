"""The database file: one process owns it, its spill directory is private and swept, and SQL reaches no other file."""

import gc
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Session, Settings, read_only
from tableveil.control import Control
from tableveil.errors import BusyError, InternalError, InvalidError


@contextmanager
def opened(settings: Settings) -> Iterator[Database]:
    database = Database(settings)
    try:
        yield database
    finally:
        database.close()


def test_creates_and_reopens_a_file(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with opened(Settings(path)) as database, database.session() as session:
        session.execute("CREATE TABLE t AS SELECT 42 AS a")
    with opened(Settings(path)) as database, database.session() as session:
        assert session.value("SELECT a FROM t") == 42


def test_a_closed_database_holds_no_connection(tmp_path: Path) -> None:
    """A handler that gRPC keeps may hold the object to the end: DuckDB would report its connection as leaked.

    So may the frames of an exception hold a session that was closed.
    """
    gc.collect()
    # No later look goes through what earlier tests keep.
    gc.freeze()
    before = connections()
    database = Database(Settings(tmp_path / "clinic.duckdb"))
    with database.session() as session:
        session.control = Control()
        session.execute("CREATE TABLE t AS SELECT 42 AS a")
    assert connections() == before + 1
    database.close()
    assert connections() == before
    with pytest.raises(BusyError, match="closed its database") as raised:
        database.session()
    assert raised.value.code == "STOPPING"
    database.close()


def connections() -> int:
    gc.collect()
    return sum(isinstance(found, duckdb.DuckDBPyConnection) for found in gc.get_objects())


# --- spilling -------------------------------------------------------------------------------------------------------


def test_spill_directory_is_private_and_swept(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    left_over = tmp_path / ".clinic.duckdb.spill" / "duckdb_temp_storage-0.tmp"
    left_over.parent.mkdir(mode=0o755)
    left_over.write_text("Smith, 1970-01-01, flu")
    with opened(Settings(path)) as database:
        assert database.spill_directory == left_over.parent
        assert stat.S_IMODE(database.spill_directory.stat().st_mode) == 0o700
        assert list(database.spill_directory.iterdir()) == []
    assert not database.spill_directory.exists()


def test_spills_into_its_directory_and_nowhere_else(tmp_path: Path) -> None:
    with opened(Settings(tmp_path / "clinic.duckdb", memory_limit="50MB", threads=1)) as database:
        before = set(tmp_path.iterdir())
        with database.session() as session:
            session.execute("CREATE TEMP TABLE t AS SELECT i, hash(i)::VARCHAR AS h FROM range(1_500_000) r(i)")
            assert session.value("SELECT count(DISTINCT h) FROM t") == 1_500_000
            assert any(database.spill_directory.iterdir())
            assert set(tmp_path.iterdir()) <= before | {tmp_path / "clinic.duckdb.wal"}


def test_too_little_memory_says_so(tmp_path: Path) -> None:
    with opened(Settings(tmp_path / "clinic.duckdb", memory_limit="5MB", threads=1)) as database:
        with database.session() as session, pytest.raises(BusyError) as raised:
            session.value("SELECT list(i) FROM range(20_000_000) r(i)")
        assert raised.value.code == "OUT_OF_MEMORY"
        assert "--memory-limit" in str(raised.value)
        with database.session() as session:
            assert session.value("SELECT 1") == 1


# --- one owner ------------------------------------------------------------------------------------------------------

HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def test_file_open_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(BusyError) as raised:
            Database(Settings(path))
        holder.stdin.close()
    assert raised.value.code == "DATABASE_LOCKED"
    assert raised.value.faults[0].found == f"'{path}', open in another process"
    assert "Stop the other process" in str(raised.value)
    with opened(Settings(path)) as database, database.session() as session:
        assert session.value("SELECT 1") == 1


def test_what_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Smith, 1970-01-01, flu\n" * 1000)
    with pytest.raises(InvalidError) as raised:
        Database(Settings(path))
    assert raised.value.code == "DATABASE_UNREADABLE"
    assert path.read_text().startswith("Smith")


@pytest.mark.parametrize("name", ["clin?c.duckdb", "here?/clinic.duckdb"])
def test_a_question_mark(tmp_path: Path, name: str) -> None:
    """The database would take it for the begin of options, and have its log elsewhere."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    with pytest.raises(InvalidError, match="question mark"):
        Database(Settings(path))
    with pytest.raises(InvalidError, match="question mark"), read_only(path):
        pass
    assert not path.exists()


def test_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as raised:
        Database(Settings(tmp_path / "nowhere" / "clinic.duckdb"))
    assert raised.value.code == "DATABASE_UNREADABLE"


@pytest.mark.parametrize("settings", [{"memory_limit": "plenty"}, {"threads": -1}, {"threads": 0}])
def test_settings_that_are_none(tmp_path: Path, settings: dict[str, str]) -> None:
    with pytest.raises(InvalidError) as raised:
        Database(Settings(tmp_path / "clinic.duckdb", **settings))  # type: ignore[arg-type]
    assert raised.value.code == "SETTING_INVALID"


# --- locked down ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM '{file}'",
        "COPY (SELECT 1) TO '{file}.out'",
        "ATTACH '{file}.duckdb'",
        "EXPORT DATABASE '{file}.folder'",
        "SET enable_external_access = true",
        "SET GLOBAL temp_directory = '/tmp'",
        "SET lock_configuration = false",
        "INSTALL httpfs",
    ],
)
def test_sql_reaches_no_other_file_and_changes_no_setting(tmp_path: Path, statement: str) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    with opened(Settings(tmp_path / "clinic.duckdb")) as database, database.session() as session:
        with pytest.raises(InternalError):
            session.execute(statement.format(file=file))
        assert session.value("SELECT 1") == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"secret.csv", "clinic.duckdb"}


def test_steps_are_measured_and_no_bar_is_printed(tmp_path: Path) -> None:
    with opened(Settings(tmp_path / "data.duckdb")) as database:
        with database.session() as session:
            session.measure_steps()
            begun, _ = session.step
            settings = "SELECT current_setting('enable_progress_bar'), current_setting('enable_progress_bar_print')"
            assert session.row(settings) == (True, False)
            assert session.step == (begun + 1, 0.0)
        assert session.step == (begun + 1, 0.0)


def test_times_are_in_utc_in_every_session(tmp_path: Path) -> None:
    with opened(Settings(tmp_path / "clinic.duckdb")) as database:
        for _ in range(2):
            with database.session() as session:
                text = "SELECT CAST(TIMESTAMPTZ '2024-07-01 12:00:00+02' AS VARCHAR)"
                assert session.value(text) == "2024-07-01 10:00:00+00"


def test_sessions_in_many_threads(tmp_path: Path) -> None:
    found: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            with database.session() as session:
                session.execute("CREATE TEMP TABLE mine AS SELECT ? AS n", [number])
                found.append(session.value("SELECT sum(n) FROM mine, range(1000)"))

    with opened(Settings(tmp_path / "clinic.duckdb")) as database:
        threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == sorted(number * 1000 for number in range(8) for _ in range(20))


UNCLOSED = """
import sys
from pathlib import Path
from tableveil.backend import Database, Session, Settings
from tableveil.control import Control
database = Database(Settings(Path(sys.argv[1])))
session = database.session()
session.control = Control()
# Long enough for the thread that interrupts to look at the cursor.
session.value("SELECT count(*) FROM range(3) r(i), range(100_000_000) s(j) WHERE hash(j) = i")
"""


@pytest.mark.long
def test_a_process_that_ends_without_closing_says_nothing(tmp_path: Path) -> None:
    """DuckDB would report what the interrupter's thread still refers to as leaked, in some forty lines."""
    command = [sys.executable, "-c", UNCLOSED, str(tmp_path / "clinic.duckdb")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stderr == ""


# --- another file in the place of this one ---------------------------------------------------------------------------


def replace(path: Path) -> None:
    """Puts another database where this one is, as somebody does who does not know that it is served."""
    for file in (path, path.with_name(f"{path.name}.wal")):
        file.unlink(missing_ok=True)
    path.write_text("another database")
    path.with_name(f"{path.name}.wal").write_text("another log")


def test_nothing_is_written_once_the_path_names_another_file(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with opened(Settings(path)) as database, database.session() as session:
        session.execute("CREATE TABLE t AS SELECT 42 AS a")
        replace(path)
        assert database.replaced
        with pytest.raises(InternalError) as raised, session.transaction():
            pytest.fail("begun")
        assert raised.value.code == "DATABASE_REPLACED"
        assert "tableveil backup" in str(raised.value)
        # It is still there to be read.
        assert session.value("SELECT a FROM t") == 42


def test_nothing_is_committed_if_the_file_is_replaced_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"

    def write(session: Session) -> None:
        with session.transaction():
            session.execute("CREATE TABLE t AS SELECT 42 AS a")
            path.rename(tmp_path / "moved.duckdb")

    with opened(Settings(path)) as database, database.session() as session:
        with pytest.raises(InternalError) as raised:
            write(session)
        assert raised.value.code == "DATABASE_REPLACED"
        assert session.rows("SELECT 1 FROM duckdb_tables()") == []


def test_closing_leaves_the_other_database_alone(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with opened(Settings(path)) as database:
        with database.session() as session:
            session.execute("CREATE TABLE t AS SELECT 42 AS a")
        replace(path)
        spilled = database.spill_directory / "another's"
        spilled.write_text("rows")
    assert path.read_text() == "another database"
    assert path.with_name("clinic.duckdb.wal").read_text() == "another log"
    assert spilled.read_text() == "rows"


def test_a_clean_stop_leaves_no_log(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with opened(Settings(path)) as database, database.session() as session:
        session.execute("CREATE TABLE t AS SELECT 42 AS a")
    assert [file.name for file in tmp_path.iterdir()] == ["clinic.duckdb"]
