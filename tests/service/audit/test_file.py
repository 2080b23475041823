"""The audit's file: durable entries in a chain, which survives kills, full disks and renaming."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tableveil.audit import AuditFile, verify
from tableveil.audit.entry import read_line
from tableveil.errors import BusyError, InvalidError
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now
from tests.small_disk import fill, small_disk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def file(path: Path) -> Iterator[AuditFile]:
    with closing(AuditFile(path)) as file:
        yield file


def call(principal: str = "anna", event: AuditEvent = AuditEvent.CALL) -> AuditEntry:
    return AuditEntry(now(), event, principal, method="/tableveil.v1.JobService/GetJob", resources=("jobs/1",))


def entries(path: Path) -> list[AuditEntry]:
    return [read_line(line) for line in path.read_bytes().splitlines(keepends=True)]


def test_an_entry_is_a_line_with_the_hash_of_the_one_before(file: AuditFile, path: Path) -> None:
    file.append(call("anna"))
    file.append(call("bert"))
    first, second = path.read_bytes().splitlines(keepends=True)
    assert json.loads(first)["previous"] == "0" * 64
    assert json.loads(second)["previous"] == hashlib.sha256(first).hexdigest()
    assert [entry.principal for entry in entries(path)] == ["anna", "bert"]
    assert file.head.hash == hashlib.sha256(second).hexdigest() == verify([path], head=file.head.hash).head
    assert path.stat().st_mode & 0o777 == 0o600


def test_entries_that_come_while_others_are_written_share_one_sync(
    file: AuditFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    sync, writing = os.fsync, threading.Event()

    def slow(descriptor: int) -> None:
        synced.append(descriptor)
        writing.set()
        deadline = time.monotonic() + 60
        while len(synced) == 1 and len(file._group.entries) < 8 and time.monotonic() < deadline:
            time.sleep(0.001)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    threads = [threading.Thread(target=file.append, args=[call(f"p{number}")]) for number in range(9)]
    threads[0].start()
    assert writing.wait(60)
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(entry.principal for entry in entries(path)) == sorted(f"p{number}" for number in range(9))
    assert len(synced) == 2
    assert not verify([path]).faults


def test_secrets_and_long_texts_of_callers_do_not_get_in(file: AuditFile, path: Path) -> None:
    names = ("tvl_Zm9vYmFyYmF6cXV4eHl6", "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl", "x" * 10_000)
    file.append(AuditEntry(now(), AuditEvent.CALL, resources=(*names, *["r"] * 50)))
    text = path.read_text()
    assert not any(part in text for part in ("Zm9v", "eyJ", "x" * 201))
    assert len(entries(path)[0].resources) == 20
    assert entries(path)[0].note == "and 33 more names"


def test_a_line_feed_in_a_name_does_not_make_a_second_entry(file: AuditFile, path: Path) -> None:
    file.append(call('a\n{"previous":"\udcff\r'))
    assert len(entries(path)) == 1


@pytest.mark.parametrize("torn", [b"{", b'{"previous":"00', None])
def test_an_entry_that_a_kill_left_unfinished_is_cut_off_and_noted(path: Path, torn: bytes | None) -> None:
    with closing(AuditFile(path)) as file:
        file.append(call())
        file.append(call("bert"))
    whole = path.read_bytes()
    path.write_bytes(whole + (torn if torn is not None else whole.splitlines()[1]))
    assert verify([path]).faults
    with closing(AuditFile(path)) as file:
        file.append(call("cora"))
    assert [entry.event for entry in entries(path)][2:] == [AuditEvent.REPAIRED, AuditEvent.CALL]
    assert path.read_bytes().startswith(whole)
    assert not verify([path]).faults


def test_a_file_that_was_killed_in_its_first_entry_begins_anew(path: Path) -> None:
    path.write_bytes(b'{"previous":"000')
    with closing(AuditFile(path)) as file:
        file.append(call())
    assert [entry.event for entry in entries(path)] == [AuditEvent.REPAIRED, AuditEvent.CALL]
    assert not verify([path]).faults


@pytest.mark.parametrize("content", [b"Dear diary", b"Dear diary\n", b'{"previous":"0"}\n'])
def test_another_file_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(InvalidError, match="does not end with an entry"):
        AuditFile(path)
    assert path.read_bytes() == content


def test_two_servers_do_not_write_one_file(file: AuditFile, path: Path) -> None:
    with pytest.raises(BusyError, match="another process"):
        AuditFile(path)


def test_a_renamed_file_is_continued_by_a_new_one(file: AuditFile, path: Path) -> None:
    file.append(call())
    path.rename(old := path.with_name("old.jsonl"))
    between = file.head.hash
    file.append(call())
    path.rename(older := path.with_name("older.jsonl"))
    file.append(call())
    assert [entry.number for entry in entries(path)] == [3]
    assert not verify([old, older, path], head=file.head.hash).faults
    assert not verify([older, path], after=between).faults
    assert verify([older, path]).faults
    assert verify([old, path]).faults


def test_a_foreign_file_in_place_of_the_renamed_one_stops_the_audit(file: AuditFile, path: Path) -> None:
    file.append(call())
    path.rename(old := path.with_name("old.jsonl"))
    path.write_bytes(old.read_bytes())
    with pytest.raises(BusyError, match="another file"):
        file.append(call())
    path.unlink()
    file.append(call())
    assert not verify([old, path]).faults


def test_a_file_without_a_past_continues_the_known_chain(path: Path) -> None:
    with closing(AuditFile(path)) as file:
        file.append(call())
        head = file.head
    path.rename(old := path.with_name("old.jsonl"))
    with closing(AuditFile(path, head)) as file:
        file.append(call())
    assert not verify([old, path]).faults


def test_a_full_disk_refuses_and_recovers_by_itself(tmp_path: Path) -> None:
    with small_disk(tmp_path, 1) as place, closing(AuditFile(path := place / "audit.jsonl")) as file:
        file.append(call("before"))
        filler = fill(place)
        recorded = 1
        with suppress(BusyError):
            # Until the last block of the file is full.
            for _ in range(100):
                file.append(call("x" * 200))
                recorded += 1
        with pytest.raises(BusyError, match="No space left") as raised:
            file.append(call("refused"))
        assert raised.value.code == "AUDIT_UNAVAILABLE"
        with pytest.raises(BusyError, match="may be done"):
            file.append_owed(call("owed", AuditEvent.END))
        assert not file.settle()
        filler.unlink()
        assert file.settle()
        file.append(call("after"))
        owed, unrecorded, after = entries(path)[recorded:]
        assert (owed.principal, unrecorded.event, after.principal) == ("owed", AuditEvent.UNRECORDED, "after")
        assert unrecorded.count == 2
        assert not verify([path]).faults


@pytest.mark.parametrize("function", ["fsync", "pwrite"])
def test_an_entry_whose_write_failed_is_taken_back(
    file: AuditFile, path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    file.append(call())
    write = os.pwrite

    def fail(descriptor: int, *arguments: object) -> int:
        if arguments:
            # A part gets to the disk.
            write(descriptor, b'{"prev', os.fstat(descriptor).st_size)
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as failing:
        failing.setattr(os, function, fail)
        with pytest.raises(BusyError, match="Input/output error"):
            file.append(call("lost"))
    file.append(call("b"))
    assert [entry.principal for entry in entries(path)] == ["anna", "", "b"]
    assert not verify([path], head=file.head.hash).faults
