"""Restoring: a new file that is the backup's equal, or no file."""

import os
import random
import shutil
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Settings, read_only
from tableveil.control import Control
from tableveil.errors import ConflictError, InvalidError, NotFoundError, TableveilError
from tableveil.operate import Backups, Level, restore
from tableveil.state.migrate import fingerprint_key, migrate
from tests.sql.operate.conftest import EVERYTHING


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup, with the original's key beside it."""
    directory = tmp_path_factory.mktemp("backups")
    database = Database(Settings(directory / "clinic.duckdb", threads=2, directories=(directory,)))
    with database.session() as session:
        migrate(session.ledger)
        for statement in EVERYTHING:
            session.execute(statement)
        session.execute("CREATE TABLE long AS SELECT md5(i::VARCHAR) AS m FROM range(50000) t(i)")
        (directory / "key").write_bytes(fingerprint_key(session.ledger))
    made = Backups(database, directory).make("copy", Control())
    database.close()
    return made.path


def test_a_new_file(backup: Path, tmp_path: Path) -> None:
    before = backup.read_bytes()
    target = tmp_path / "clinic.duckdb"
    findings = restore(backup, target)
    assert {finding.level for finding in findings if finding.subject != "ledger"} == {Level.OK}
    [ledger] = [finding for finding in findings if finding.subject == "ledger"]
    assert ledger.level is Level.WARNING
    assert "went back in time: what was released after" in ledger.found
    assert list(tmp_path.iterdir()) == [target]
    assert (target.read_bytes(), backup.read_bytes()) == (before, before)
    assert target.stat().st_mode & 0o777 == 0o600
    with read_only(target) as session:
        assert fingerprint_key(session.ledger) == (backup.parent / "key").read_bytes()


@pytest.mark.parametrize("taken", ["clinic.duckdb", "clinic.duckdb.wal"])
def test_nothing_is_overwritten(backup: Path, tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(ConflictError) as raised:
        restore(backup, tmp_path / "clinic.duckdb")
    assert raised.value.code == "DATABASE_EXISTS"
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(taken, "mine")]


def damaged(path: Path, position: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 0xFF]))


def test_damaged_backups(backup: Path, tmp_path: Path) -> None:
    """Wherever a byte of a block in use has changed, or the end is missing."""
    draw, size = random.Random(7), backup.stat().st_size
    codes = []
    for case in range(12):
        copy = tmp_path / "copy.duckdb"
        shutil.copyfile(backup, copy)
        if case < 2:
            os.truncate(copy, size // (case + 2))
        else:
            damaged(copy, draw.randrange(12288, size))
        try:
            restore(copy, tmp_path / "clinic.duckdb")
        except InvalidError as error:
            codes.append(error.code)
        else:
            # Blocks are not full: what lies behind their contents is nobody's.
            with read_only(tmp_path / "clinic.duckdb") as session, duckdb.connect(backup, read_only=True) as original:
                query = "SELECT bit_xor(hash(row)) FROM long AS row"
                assert session.rows(query) == original.execute(query).fetchall()
            (tmp_path / "clinic.duckdb").unlink()
        copy.unlink()
        assert list(tmp_path.iterdir()) == []
    assert len(codes) >= 2
    assert set(codes) == {"BACKUP_DAMAGED"}


def test_what_is_no_backup(backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "clinic.duckdb"
    text = tmp_path / "text"
    text.write_text("no database " * 10_000)
    opened = tmp_path / "opened.duckdb"
    shutil.copyfile(backup, opened)
    (tmp_path / "opened.duckdb.wal").touch()
    cases: tuple[tuple[Path, Path, type[TableveilError], str], ...] = (
        (tmp_path / "none", target, NotFoundError, "BACKUP_NOT_FOUND"),
        (tmp_path, target, NotFoundError, "BACKUP_NOT_FOUND"),
        (text, target, InvalidError, "BACKUP_DAMAGED"),
        (opened, target, InvalidError, "BACKUP_IN_USE"),
        (backup, tmp_path / "none" / "x.duckdb", InvalidError, "DATABASE_UNWRITABLE"),
    )
    for source, wanted, kind, code in cases:
        with pytest.raises(kind) as raised:
            restore(source, wanted)
        assert raised.value.code == code
    assert not target.exists()
