"""Full disks, in small ones: what fails leaves nothing half-written, and goes on once there is room."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.control import Control
from tableveil.errors import BusyError, InternalError
from tableveil.operate import Backups, backup, disk, restore
from tests.once import once
from tests.small_disk import fill, small_disk

MEBIBYTE = 2**20


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path, 24) as place:
        yield place


@pytest.fixture
def session(small: Path) -> Iterator[Session]:
    """On a database there, with a table of ten rows."""
    database = Database(Settings(small / "db.duckdb", threads=2))
    with database.session() as session:
        session.execute("CREATE TABLE t AS SELECT i::UBIGINT AS i FROM range(10) rows(i)")
        yield session
    database.close()


def rows(session: Session) -> int:
    count: int = session.value("SELECT count(*) FROM t")
    return count


@pytest.mark.parametrize(
    ("statement", "leave"),
    [
        # Fails while it writes blocks.
        ("INSERT INTO t SELECT hash(i) FROM range(4000000) rows(i)", MEBIBYTE),
        # Fails at the commit, when the log is written.
        ("INSERT INTO t SELECT i FROM range(100000) rows(i)", 8192),
    ],
)
def test_a_transaction_that_finds_no_room(session: Session, small: Path, statement: str, leave: int) -> None:
    filler = fill(small, leave)
    with pytest.raises(BusyError) as raised, session.transaction():
        session.execute(statement)
    assert raised.value.code == "DISK_FULL"
    assert rows(session) == 10
    filler.unlink()
    with session.transaction():
        session.execute("INSERT INTO t SELECT hash(i) FROM range(1000) rows(i)")
    assert rows(session) == 1010


def test_spilling_that_finds_no_room(small: Path) -> None:
    database = Database(Settings(small / "db.duckdb", memory_limit="20MB", threads=2))
    query = "SELECT count(*) FROM (SELECT md5(i::VARCHAR) AS m FROM range(3000000) rows(i) ORDER BY m OFFSET 1)"
    with database.session() as session:
        with pytest.raises(BusyError) as raised:
            session.value(query)
        assert raised.value.code == "DISK_FULL"
        assert session.value("SELECT 1") == 1
        assert database.works()
    database.close()
    assert not database.spill_directory.exists()


def test_a_checkpoint_that_finds_no_room(small: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It ends the database, whatever room there is later; opened anew it has all that was committed."""
    caplog.set_level(logging.CRITICAL)
    database = Database(Settings(small / "db.duckdb", threads=2))
    with database.session() as session:
        session.execute("CREATE TABLE t AS SELECT hash(i) AS i FROM range(120000) rows(i)")
        session.execute("INSERT INTO t SELECT hash(i) FROM range(100000) rows(i)")
        assert database.works()
        filler = fill(small, 4096)
        with pytest.raises(InternalError) as raised:
            session.execute("FORCE CHECKPOINT")
        assert raised.value.code == "DATABASE_INVALIDATED"
        filler.unlink()
        assert not database.works()
    database.close()
    again = Database(Settings(small / "db.duckdb", threads=2))
    with again.session() as session:
        assert (again.works(), rows(session)) == (True, 220_000)
    again.close()


@pytest.mark.parametrize("room", once([3 * MEBIBYTE, MEBIBYTE // 64]))
def test_backups(tmp_path: Path, small: Path, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(Settings(tmp_path / "db.duckdb", threads=2, directories=(small,)))
    with database.session() as session:
        session.execute("CREATE TABLE t AS SELECT md5(i::VARCHAR) AS m FROM range(300000) rows(i)")
    backups = Backups(database, small)
    with pytest.raises(BusyError) as raised:
        backups.make("x", Control())
    assert raised.value.code == "DISK_FULL", "it is said before"
    monkeypatch.setattr(backup, "check_free_space", lambda *_: None)
    filler = fill(small, room)
    with pytest.raises(BusyError) as raised:
        backups.make("x", Control())
    assert raised.value.code == "DISK_FULL", "or while it is written"
    assert list(small.iterdir()) == [filler]
    assert database.works()
    filler.unlink()
    made = backups.make("x", Control())
    assert list(small.iterdir()) == [made.path]
    fill(small, room)
    with pytest.raises(BusyError) as raised:
        restore(made.path, small / "restored.duckdb")
    assert raised.value.code == "DISK_FULL"
    assert {file.name for file in small.iterdir()} == {"x.duckdb", "filler"}
    database.close()


def test_room_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda _: 100 * MEBIBYTE)
    disk.check_free_space(tmp_path, "here", 36 * MEBIBYTE)
    with pytest.raises(BusyError) as raised:
        disk.check_free_space(tmp_path, "here", 37 * MEBIBYTE)
    (fault,) = raised.value.faults
    assert (fault.field, fault.found, fault.expected) == ("here", "100.0 MiB free", "at least 101.0 MiB")
