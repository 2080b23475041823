"""Backups: everything is in the copy, as of one moment, or there is no copy."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Session, Settings, catalog, read_only
from tableveil.control import Control, Stopped
from tableveil.errors import BusyError, ConflictError, InternalError, InvalidError
from tableveil.operate import Backups, backup, disk
from tableveil.operate.backup import row_counts
from tableveil.state import backups as state


def everything(session: Session) -> dict[str, list[tuple[object, ...]]]:
    name: str = session.value("SELECT current_database()")
    tables = {
        f"{schema}.{table}": session.rows(f"""SELECT * FROM "{schema.replace('"', '""')}"."{table}" ORDER BY ALL""")
        for schema, table in row_counts(session, name)
    }
    return {**catalog.definitions(session, name), **tables}


def test_everything_is_in_the_copy(database: Database, session: Session, backups: Path) -> None:
    session.value("SELECT nextval('s.round')")
    before = everything(session)
    made = Backups(database, backups).make("first", Control())
    assert (made.path, made.size) == (backups / "first.duckdb", made.path.stat().st_size)
    assert made.tables == len(row_counts(session, "clinic"))
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert list(backups.iterdir()) == [made.path]
    with read_only(made.path) as copy:
        copied = everything(copy)
        # All but the one row by which a copy knows that it is one.
        assert [gap[:2] for gap in copied["tableveil.ledger_gaps"]] == [(0, None)]
        assert {**copied, "tableveil.ledger_gaps": []} == before
    # Numbers go on where they were: an earlier one given again would be another job or release.
    with duckdb.connect(made.path) as copy:
        for sequence, following in (("numbers", 11), ("unused", 7), ("round", 2)):
            assert copy.execute(f"SELECT nextval('s.{sequence}')").fetchone() == (following,)
        with pytest.raises(duckdb.ConstraintException):
            copy.execute("INSERT INTO t (i, n) VALUES (5, 1)")
        assert copy.execute("SELECT plus_one(p) FROM by_macro ORDER BY 1").fetchall() == [(3,), (4,)]
    # A copy of the copy has them too, though its sequences have given none since.
    second = Database(Settings(made.path, directories=(backups,)))
    Backups(second, backups).make("second", Control())
    second.close()
    with duckdb.connect(backups / "second.duckdb") as copy:
        assert copy.execute("SELECT nextval('s.numbers')").fetchone() == (14,)


def test_rows_that_others_write_meanwhile(database: Database, session: Session, backups: Path) -> None:
    """Two tables that are always written together are equally long in the copy; and writing goes on."""
    session.execute("CREATE TABLE one AS SELECT 0 AS i FROM range(200000)")
    session.execute("CREATE TABLE two AS FROM one")
    over, written = threading.Event(), []

    def write() -> None:
        with database.session() as own:
            while not over.is_set():
                with own.transaction():
                    own.execute("INSERT INTO one VALUES (1)")
                    own.execute("INSERT INTO two VALUES (1)")
                    own.value("SELECT nextval('s.numbers')")
                written.append(time.monotonic())

    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = Backups(database, backups).make("busy", Control())
    finally:
        over.set()
        writer.join()
    assert len(written) > 1
    with read_only(made.path) as copy:
        ones, twos = (copy.value(f"SELECT count(*) FROM {name}") for name in ("one", "two"))
    assert ones == twos


def test_names_that_are_none(database: Database, backups: Path) -> None:
    made = Backups(database, backups)
    for name in ("", ".hidden", "-x", "a/b", "..", "a\0", "ü", "x" * 201, "a b", "../x"):
        with pytest.raises(InvalidError) as raised:
            made.make(name, Control())
        assert raised.value.code == "BACKUP_NAME_INVALID"
    assert list(backups.iterdir()) == []


def test_without_a_directory(database: Database, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="--backup-directory"):
        Backups(database, None).make("x", Control())
    with pytest.raises(InvalidError, match="no directory that the server may write"):
        Backups(database, tmp_path / "none")


def test_nothing_is_overwritten(database: Database, backups: Path) -> None:
    (backups / "taken.duckdb").write_text("mine")
    for name in ("taken", "taken.duckdb"):
        with pytest.raises(ConflictError) as raised:
            Backups(database, backups).make(name, Control())
        assert raised.value.code == "BACKUP_EXISTS"
    assert (backups / "taken.duckdb").read_text() == "mine"


def test_a_name_that_is_taken_meanwhile(database: Database, backups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = backup._copy

    def taking(session: Session, name: str) -> backup._Original:
        (backups / "x.duckdb").write_text("mine")
        return copy(session, name)

    monkeypatch.setattr(backup, "_copy", taking)
    with pytest.raises(ConflictError):
        Backups(database, backups).make("x", Control())
    assert [(file.name, file.read_text()) for file in backups.iterdir()] == [("x.duckdb", "mine")]


def test_two_at_once(database: Database, backups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Backups(database, backups)
    copy, met = backup._copy, []

    def meeting(session: Session, name: str) -> backup._Original:
        with pytest.raises(BusyError) as raised:
            made.make("second", Control())
        met.append(raised.value.code)
        return copy(session, name)

    monkeypatch.setattr(backup, "_copy", meeting)
    made.make("first", Control())
    assert met == ["BACKUP_RUNNING"]
    assert [file.name for file in backups.iterdir()] == ["first.duckdb"]


def test_a_copy_that_differs_is_no_backup(database: Database, backups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "row_counts", lambda _, name, *tables: {("s", "t"): len(name)})
    with pytest.raises(InternalError, match="the rows of the copy"):
        Backups(database, backups).make("x", Control())
    assert list(backups.iterdir()) == []


def test_a_copy_that_lacks_a_view_is_no_backup(
    database: Database, session: Session, backups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = backup._copy

    def losing(session: Session, name: str) -> backup._Original:
        original = copy(session, name)
        session.execute(f"DROP VIEW {name}.s.v")
        return original

    session.execute("CREATE VIEW s.v AS SELECT 1 AS i")
    monkeypatch.setattr(backup, "_copy", losing)
    with pytest.raises(InternalError, match="the columns of the copy"):
        Backups(database, backups).make("x", Control())
    assert list(backups.iterdir()) == []


def test_a_transaction_that_lists_the_catalog_does_not_stop_the_copy(
    database: Database, backups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = backup._copy

    def listing(session: Session, name: str) -> backup._Original:
        other.execute("BEGIN TRANSACTION")
        catalog.listed(other)
        return copy(session, name)

    monkeypatch.setattr(backup, "_copy", listing)
    with database.session() as other:
        Backups(database, backups).make("x", Control())
    assert [path.name for path in backups.iterdir()] == ["x.duckdb"]


def test_given_up(database: Database, session: Session, backups: Path) -> None:
    session.execute("CREATE TABLE long AS SELECT md5(i::VARCHAR) AS m FROM range(1000000) t(i)")
    control = Control()
    timer = threading.Timer(0.1, control.cancel)
    timer.start()
    made = Backups(database, backups)
    with pytest.raises(Stopped):
        made.make("x", control)
    assert list(backups.iterdir()) == []
    opened = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.exists()]
    assert not [name for name in opened if name.startswith(str(backups))]
    session.execute("DROP TABLE long")
    made.make("x", Control())


def test_what_a_killed_process_left_is_removed(database: Database, backups: Path) -> None:
    for name in (".clinic.duckdb.0123.partial", ".clinic.duckdb.4567.partial", ".other.duckdb.0123.partial", "x"):
        (backups / name).mkdir()
    for name in ("x.duckdb", "x.duckdb.wal", "lock"):
        (backups / ".clinic.duckdb.0123.partial" / name).touch()
    Backups(database, backups)
    assert {file.name for file in backups.iterdir()} == {".other.duckdb.0123.partial", "x"}


@pytest.mark.long
def test_what_another_server_writes_stays(database: Database, backups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy of a database with an equal file name, started while a backup is being made."""
    copy = backup._copy
    start = f"Backups(SimpleNamespace(path=Path({str(database.path)!r})), Path({str(backups)!r}))"
    imports = "from pathlib import Path; from types import SimpleNamespace; from tableveil.operate import Backups"

    def starting(session: Session, name: str) -> backup._Original:
        copied = copy(session, name)
        subprocess.run([sys.executable, "-c", f"{imports}; {start}"], check=True)
        return copied

    monkeypatch.setattr(backup, "_copy", starting)
    made = Backups(database, backups).make("x", Control())
    assert list(backups.iterdir()) == [made.path]
    with read_only(made.path) as session:
        assert session.value("SELECT count(*) FROM t") == 2


def test_no_room_is_said_before(database: Database, backups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LEAST_FREE_BYTES", 2**62)
    with pytest.raises(BusyError) as raised:
        Backups(database, backups).make("x", Control())
    assert raised.value.code == "DISK_FULL"
    assert "free" in raised.value.faults[0].found
    assert list(backups.iterdir()) == []


def test_only_so_many_backups_are_kept(database: Database, session: Session, backups: Path) -> None:
    """They are those that this database made: files of others, also under the name of one of its own, stay."""
    made = Backups(database, backups)
    for name in ("first", "second", "third"):
        assert made.make(name, Control()).removed == ()
    (backups / "others.duckdb").write_bytes(b"another database's")
    (backups / "second.duckdb").unlink()
    (backups / "second.duckdb").write_bytes(b"somebody's copy under this name")
    fourth = made.make("fourth", Control(), keep=2)
    assert fourth.removed == ("first.duckdb",)
    assert {file.name for file in backups.iterdir()} == {
        *("second.duckdb", "third.duckdb", "fourth.duckdb", "others.duckdb")
    }
    assert [noted.file for noted in state.latest_first(session.ledger)] == ["fourth.duckdb", "third.duckdb"]
    # Somebody moved the last one to another machine: it was made all the same.
    (backups / "fourth.duckdb").unlink()
    assert made.make("fourth", Control(), keep=1).removed == ("third.duckdb",)
    with pytest.raises(InvalidError) as refused:
        made.make("fifth", Control(), keep=0)
    assert refused.value.code == "BACKUP_KEEP_INVALID"


def test_a_backup_that_is_not_noted_is_one_all_the_same(database: Database, session: Session, backups: Path) -> None:
    """The database's file was moved away: nothing more is written into it, and its backup matters the more."""
    database.path.rename(database.path.with_name("moved"))
    made = Backups(database, backups).make("last", Control(), keep=1)
    assert made.path.exists()
    assert made.removed == ()
