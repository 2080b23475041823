"""The audit of a server: the file, its copy in the database, syslog, and counted refusals."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tableveil.audit import Audit, recorder, verify
from tableveil.audit import audit as audits
from tableveil.audit import refusals as refusals_module
from tableveil.audit.refusals import MOST_COUNTED, Refusals, Refused, without_port
from tableveil.backend import Database, Settings
from tableveil.errors import BusyError, InvalidError
from tableveil.operate import LEAST_FREE_BYTES, Level
from tableveil.state.audit_entries import AuditEntry, AuditEvent, AuditFilter, note_offline, pending
from tableveil.state.jobs import now
from tableveil.state.migrate import migrate

ALL = AuditFilter()

Open = Callable[..., Audit]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(Settings(tmp_path / "db.duckdb", threads=1))) as database:
        with database.ledger() as ledger:
            migrate(ledger)
        yield database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def open_audit(path: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    # Only the tests and the closing copy.
    monkeypatch.setattr(recorder, "SECONDS_BETWEEN_TURNS", 3600.0)
    with ExitStack() as stack:
        yield lambda *options: stack.enter_context(closing(Audit(path, database, *options)))


def call(principal: str = "anna", method: str = "GetJob", code: str = "OK") -> AuditEntry:
    return AuditEntry(
        now(),
        AuditEvent.CALL,
        principal,
        "TOKEN",
        "ipv4:127.0.0.1:1",
        f"/tableveil.v1.JobService/{method}",
        ("jobs/1", "main.people"),
        "ALLOWED",
        code,
        correlation="0123",
        seconds=0.25,
    )


def test_the_copy_has_what_the_file_has(open_audit: Open) -> None:
    audit = open_audit()
    entry = call()
    audit.record(entry)
    assert audit.lag == 2
    newest, started = audit.page(ALL, None, 10)
    assert newest == replace(entry, number=2)
    assert started.event is AuditEvent.STARTED
    assert audit.lag == 0
    assert audit.page(ALL, 2, 10) == [started]
    assert audit.page(ALL, None, 1) == [newest]


def test_the_doctor_sees_whether_there_is_room_for_it(open_audit: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = open_audit()
    assert audit.examine().level is Level.OK
    monkeypatch.setattr(audits, "free_bytes", lambda _: LEAST_FREE_BYTES - 1)
    assert audit.examine().level is Level.PROBLEM


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (AuditFilter(principal="bert"), [3]),
        (AuditFilter(method="CancelJob"), [4]),
        (AuditFilter(method="Job"), []),
        (AuditFilter(code="NOT_FOUND"), [3]),
        (AuditFilter(principal="anna", code="OK"), [4, 2]),
        (AuditFilter(since=now() + timedelta(days=1)), []),
    ],
)
def test_filters_choose_entries(open_audit: Open, wanted: AuditFilter, numbers: list[int]) -> None:
    audit = open_audit()
    entries = [call(), call("bert", code="NOT_FOUND"), call(method="CancelJob")]
    for entry in entries:
        audit.record(entry)
    assert [entry.number for entry in audit.page(wanted, None, 10)] == numbers
    found = [entry for entry in audit.page(ALL, None, 10) if wanted.wants(entry)]
    assert [entry.number for entry in found] == numbers


def test_entries_that_a_kill_kept_from_the_copy_are_copied_at_the_next_start(
    open_audit: Open, database: Database, path: Path
) -> None:
    with closing(Audit(path, database)) as audit:
        audit.record(call("copied"))
    with database.ledger() as ledger:
        ledger.execute("DELETE FROM tableveil.audit_entries WHERE number > 1")
    audit = open_audit()
    assert [entry.number for entry in audit.page(ALL, None, 10)] == [4, 3, 2, 1]


def test_the_copy_follows_a_renamed_file(open_audit: Open, path: Path) -> None:
    audit = open_audit()
    audit.record(call("before"))
    audit.page(ALL, None, 1)
    audit.record(call("between"))
    path.rename(path.with_name("old"))
    audit.record(call("after"))
    assert [entry.principal for entry in audit.page(ALL, None, 3)] == ["after", "between", "before"]


def test_a_file_that_was_moved_between_two_starts_is_continued(
    open_audit: Open, database: Database, path: Path
) -> None:
    with closing(Audit(path, database)) as audit:
        audit.record(call())
    path.rename(old := path.with_name("old"))
    audit = open_audit()
    assert not verify([old, path], head=audit.head.hash).faults
    assert [entry.number for entry in audit.page(ALL, None, 10)] == [4, 3, 2, 1]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_start_tells_of_entries_that_were_cut_off_meanwhile(
    open_audit: Open, database: Database, path: Path, cut: int
) -> None:
    with closing(Audit(path, database)) as audit:
        audit.record(call())
        audit.record(call("thief"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: 4 - cut]))
    audit = open_audit()
    audit.record(call("bert"))
    entries = audit.page(ALL, None, 10)
    started = [entry for entry in entries if entry.event is AuditEvent.STARTED]
    assert any("the database has entry 4 with the hash" in entry.note for entry in started)
    assert {"thief", "bert"} <= {entry.principal for entry in entries}
    assert [entry.number for entry in entries] == [6, 5, 4, 3, 2, 1], "those that were cut off keep their numbers"
    assert verify([path]).faults == (f"{path.name}: {cut} entries are missing between entries {4 - cut} and 5",)


def test_commands_on_the_file_are_recorded_at_the_next_start(open_audit: Open, database: Database) -> None:
    at = now()
    with database.ledger() as ledger:
        note_offline(ledger, at, "tokens create: anna")
    audit = open_audit()
    offline, _ = audit.page(ALL, None, 10)
    assert (offline.event, offline.at, offline.note) == (AuditEvent.OFFLINE, at, "tokens create: anna")
    with database.ledger() as ledger:
        assert not pending(ledger)


def test_the_copy_keeps_the_newest_entries(open_audit: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableveil.state.audit_entries.MOST_COPIED", 2)
    audit = open_audit()
    for _ in range(5):
        audit.record(call())
    assert [entry.number for entry in audit.page(ALL, None, 10)] == [6, 5]


def test_syslog_gets_each_entry(open_audit: Open, tmp_path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as daemon:
        daemon.bind(str(tmp_path / "log"))
        daemon.settimeout(10)
        audit = open_audit(str(tmp_path / "log"))
        audit.record(call("bert"))
        audit.page(ALL, None, 1)
        first, second = daemon.recv(10_000), daemon.recv(10_000)
    assert first.startswith(b'<86>tableveil: {"previous":"0000')
    assert b'"bert"' in second
    # Nobody listens any more: entries are recorded and copied without it.
    audit.record(call("cora"))
    assert audit.page(ALL, None, 1)[0].principal == "cora"


@pytest.mark.parametrize("address", ["dev/log", "host", "host:port", "host:1:2", ""])
def test_an_address_that_syslog_cannot_have(open_audit: Open, address: str) -> None:
    with pytest.raises(InvalidError, match="audit_syslog"):
        open_audit(address)


def test_refusals_are_entries_once_their_minute_is_over(open_audit: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = open_audit()
    at = now().replace(second=0, microsecond=0)
    monkeypatch.setattr(refusals_module, "now", lambda: at)
    for _ in range(10_000):
        audit.count(Refused(without_port("ipv4:10.0.0.1:4711"), "", "UNAUTHENTICATED", "TOKEN_UNKNOWN"))
    audit.count(Refused("unix:", "anna", "RESOURCE_EXHAUSTED", "TOO_MANY_CALLS"))
    audit._write_refusals()
    assert audit.head.number == 1
    monkeypatch.setattr(refusals_module, "now", lambda: at + timedelta(minutes=1))
    audit._write_refusals()
    second, first = audit.page(ALL, None, 2)
    assert (first.event, first.peer, first.count, first.at) == (AuditEvent.REFUSALS, "ipv4:10.0.0.1", 10_000, at)
    assert (second.principal, second.count) == ("anna", 1)


def test_counting_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = Refusals()
    minute = now()
    for minutes in range(20):
        monkeypatch.setattr(refusals_module, "now", lambda minutes=minutes: minute + timedelta(minutes=minutes))
        for peer in range(2 * MOST_COUNTED):
            refusals.count(Refused(f"ipv4:{peer}", "", "UNAUTHENTICATED", ""))
    entries = refusals.take(all_minutes=True)
    assert len(entries) <= 10 * (MOST_COUNTED + 1)
    assert sum(entry.count or 0 for entry in entries) == 20 * 2 * MOST_COUNTED
    assert not refusals.take(all_minutes=True)


def test_refusals_are_kept_while_nothing_can_be_written(open_audit: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    audit = open_audit()
    audit.count(Refused("ipv4:1", "", "UNAUTHENTICATED", ""))
    with monkeypatch.context() as full:
        full.setattr("os.pwrite", fail)
        with pytest.raises(BusyError):
            audit.record(call())
        audit._write_refusals(all_minutes=True)
    audit._write_refusals(all_minutes=True)
    refusals, unrecorded = audit.page(ALL, None, 2)
    assert (refusals.count, unrecorded.count) == (1, 1)
