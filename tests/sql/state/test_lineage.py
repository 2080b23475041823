"""An older file in the place of a newer one is known by the mark beside it; then a reason is asked for."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.control import Control
from tableveil.errors import InvalidError
from tableveil.lifecycle import check_ledger
from tableveil.lifecycle.recurrence import Resemblance
from tableveil.operate import Backups, Finding, Level, examine_state
from tableveil.policy import TableReference
from tableveil.source import find_source
from tableveil.source.fingerprint import Fingerprint
from tableveil.source.sketch import Sketch
from tableveil.state import ledger_gaps
from tableveil.state.lineage import notice_older_ledger, remember
from tableveil.state.migrate import migrate
from tableveil.state.releases import RELEASES
from tests.sql.lifecycle.test_ledger import POLICY
from tests.sql.state.release_samples import RELEASE, SIZES


@contextmanager
def served(path: Path, *directories: Path) -> Iterator[Session]:
    """A session on a database as the server opens it."""
    database = Database(Settings(path, threads=2, directories=directories))
    try:
        with database.session() as session:
            migrate(session.ledger)
            notice_older_ledger(path, session.ledger)
            yield session
    finally:
        database.close()


def release(path: Path, session: Session, source: str = "t", *, killed: bool = False) -> int:
    """Commits the entry of a release; the process may be killed before it is marked."""
    number = RELEASES.next_number(session.ledger)
    made = replace(RELEASE, number=number, job=number, source=TableReference("db", "main", source))
    with session.transaction():
        RELEASES.write(session.ledger, made, SIZES, SIZES)
    if not killed:
        remember(path, session.ledger)
    return number


def asked(session: Session, name: str) -> str:
    session.execute(f"CREATE TABLE IF NOT EXISTS {name} AS SELECT 1 AS a")
    source, _, _ = find_source(session, TableReference("", "main", name), "", "source")
    assert source is not None
    try:
        check_ledger(session, POLICY, source, None)
    except InvalidError as error:
        check_ledger(session, replace(POLICY, repeat_reason="asked for"), source, None)
        return error.faults[0].found
    return ""


def ledger(session: Session) -> Finding:
    return next(finding for finding in examine_state(session) if finding.subject == "ledger")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.duckdb"


def test_an_older_file_in_the_place_of_a_newer_one(path: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.duckdb"
    with served(path) as session:
        release(path, session)
    shutil.copyfile(path, old)
    with served(path) as session:
        assert [release(path, session) for _ in range(3)] == [2, 3, 4]
        assert (asked(session, "other"), ledger(session).level) == ("", Level.OK)
    shutil.copyfile(old, path)
    with served(path) as session:
        assert asked(session, "other") == (
            "none, although the ledger went back in time: releases/2 to releases/4 were made and are not in it"
        )
        assert "releases/1 came from this source; the ledger went back in time" in asked(session, "t")
        assert (ledger(session).level, "releases/2 to releases/4" in ledger(session).found) == (Level.WARNING, True)
        # One reason per source; numbers are not given twice.
        assert release(path, session, "other") == 5
        assert asked(session, "other") == "none, although releases/5 came from this source"
        assert "went back in time" in asked(session, "t")
    with served(path) as session:
        assert "releases/2 to releases/4" in ledger(session).found
        assert session.value("SELECT count(*) FROM tableveil.ledger_gaps") == 1
        assert release(path, session) == 6


def test_people_who_are_known_again_under_another_name_need_no_second_reason(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gap asked for one when their source was released after it."""
    with served(path) as session:
        release(path, session)
        ledger_gaps.insert(session.ledger, 3)
        asked(session, "copied")
        source, _, _ = find_source(session, TableReference("", "main", "copied"), "", "source")
        assert source is not None
        known = Fingerprint("another", Mock(spec=Sketch))
        for number, asks in ((1, True), (release(path, session, "renamed"), False)):
            alike = [(number, Resemblance("the rows are as in"))]
            monkeypatch.setattr("tableveil.lifecycle.ledger.recurring", lambda *_, alike=alike: alike)
            with pytest.raises(InvalidError) as raised:
                check_ledger(session, POLICY, source, known)
            assert ("went back in time" in str(raised.value)) is asks


def test_killed_between_commit_and_mark(path: Path) -> None:
    with served(path) as session:
        release(path, session)
        release(path, session, killed=True)
    with served(path) as session:
        assert (asked(session, "other"), ledger(session).level) == ("", Level.OK)
    # The start made up for it.
    copy = path.with_name("copy.duckdb")
    shutil.copyfile(path, copy)
    with served(path) as session:
        release(path, session)
        session.execute("DELETE FROM tableveil.releases WHERE number > 1")
    with served(path) as session:
        assert "releases/2 to releases/3 were made" in asked(session, "other")


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", '{"a": 1}', '{"LINEAGE": {"release": 99, "rights": 0, "mac": "\u00e9"}}']
)
def test_marks_that_nobody_with_the_key_wrote(path: Path, text: str) -> None:
    with served(path) as session:
        release(path, session)
    marker = path.with_name(".clinic.duckdb.ledger")
    assert marker.stat().st_mode & 0o777 == 0o600
    [lineage] = json.loads(marker.read_text())
    marker.write_text(text.replace("LINEAGE", lineage))
    with served(path) as session:
        assert asked(session, "other") == ""
        assert ledger(session).level is Level.OK


def test_databases_that_take_turns_under_one_name(path: Path, tmp_path: Path) -> None:
    with served(path) as session:
        release(path, session)
        release(path, session)
    path.rename(tmp_path / "first.duckdb")
    with served(path) as session:
        assert asked(session, "other") == ""
        assert release(path, session) == 1
    path.rename(tmp_path / "second.duckdb")
    (tmp_path / "first.duckdb").rename(path)
    with served(path) as session:
        assert (asked(session, "other"), ledger(session).level) == ("", Level.OK)
        session.execute("DELETE FROM tableveil.releases WHERE number = 2")
    with served(path) as session:
        assert "releases/2 was made and is not in it" in asked(session, "other")


def test_a_mark_that_cannot_be_written(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.with_name(".clinic.duckdb.ledger").mkdir()
    with served(path) as session:
        assert release(path, session) == 1
    assert "the mark of the ledger was not written" in caplog.text


def test_a_backup_says_so_of_itself(path: Path, tmp_path: Path) -> None:
    """Wherever it is opened, also where no mark lies beside it; the original goes on as before."""
    directory = tmp_path / "backups"
    directory.mkdir()
    database = Database(Settings(path, threads=2, directories=(directory,)))
    with database.session() as session:
        migrate(session.ledger)
        release(path, session)
        made = Backups(database, directory).make("copy", Control())
        assert (asked(session, "other"), ledger(session).level) == ("", Level.OK)
    database.close()
    with served(made.path) as session:
        assert "what was released after" in asked(session, "other")
        assert "when this copy was made, is not in it" in asked(session, "t")
        assert ledger(session).level is Level.WARNING
