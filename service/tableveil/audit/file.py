"""The file of the audit: entries are durable once `append` returns, and each names the one before by its hash."""

import errno
import fcntl
import hashlib
import logging
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tableveil.audit.entry import FIRST, GENESIS, Head, hash_of, line_of, read_line
from tableveil.errors import BusyError, InvalidError, shortened
from tableveil.operate.disk import sync
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now

logger = logging.getLogger("tableveil.audit")

_LARGEST_TAIL = 2**20
"""Bytes at the end of the file in which the last whole entry is looked for: a group of entries is smaller."""


def audit_file(database: Path) -> Path:
    """The file of a database's audit, unless another is named."""
    return database.with_name(f"{database.name}.audit.jsonl")


@dataclass(slots=True)
class _Group:
    """Entries that are written and made durable together."""

    entries: list[AuditEntry] = field(default_factory=list)
    done: bool = False
    error: Exception | None = None


class AuditFile:
    """The open file; used from any thread.

    It may be renamed at any time: the next entry begins a new file at the path, which continues the chain.
    """

    def __init__(self, path: Path, known: Head | None = None) -> None:
        """Opens or creates the file; `known` is the end of the chain if there is no file.

        If the file ends before it, entries were cut off: their numbers are not given again.

        Raises:
            BusyError: another process writes it.
            InvalidError: it cannot be opened, or does not end with entries of an audit.
        """
        self.path = path
        self._gathering = threading.Lock()
        self._writing = threading.Lock()
        self._group = _Group()
        self._descriptor = -1
        self._head = known or GENESIS
        self._size, self._torn = 0, False
        self._owed: list[AuditEntry] = []
        self._unrecorded = 0
        self._failing = False
        try:
            self._open(self._head)
        except OSError as error:
            actual = f"{shortened(str(path))}: {error.strerror}"
            raise InvalidError.of("AUDIT_UNUSABLE", "audit_file", actual, "a file that can be written") from None

    @property
    def head(self) -> Head:
        """The end of the chain."""
        return self._head

    def append(self, entry: AuditEntry) -> None:
        """Returns once the entry is on the disk.

        Raises:
            BusyError: it cannot be written; the file is as if it had never been asked for.
        """
        if (error := self._written(entry)) is not None:
            with self._gathering:
                self._unrecorded += 1
            raise _unavailable(error, "Nothing was done.")

    def append_owed(self, entry: AuditEntry) -> None:
        """Like `append`, for the end of something whose begin is on the disk: it is written later if not now."""
        if (error := self._written(entry)) is not None:
            with self._gathering:
                self._owed.append(entry)
            raise _unavailable(error, "It was begun, and may be done: look before you ask again.")

    def settle(self) -> bool:
        """Writes what earlier attempts failed to write, and returns whether nothing is left."""
        with self._writing:
            if self._owed or self._unrecorded:
                self._write()
        return not (self._owed or self._unrecorded)

    def close(self) -> None:
        """Closes the file; calls that still run are refused from now on."""
        with self._writing:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            # Another file may get the number.
            self._descriptor = -1

    def _written(self, entry: AuditEntry) -> Exception | None:
        """Writes the entry, and returns the reason if that fails.

        The first caller that comes to the lock writes the entries of all who wait for it: the disk is asked once.
        """
        with self._gathering:
            group = self._group
            group.entries.append(entry)
        with self._writing:
            if not group.done:
                self._write()
        return group.error

    def _write(self) -> None:
        with self._gathering:
            group, self._group = self._group, _Group()
            entries, unrecorded = [*self._owed, *group.entries], self._unrecorded
        owed = len(entries) - len(group.entries)
        if unrecorded:
            entries.insert(owed, AuditEntry(now(), AuditEvent.UNRECORDED, count=unrecorded))
        try:
            self._follow_path()
            head, lines = self._head, []
            for entry in entries:
                lines.append(line_of(entry, head))
                head = head.after(lines[-1])
            self._store(b"".join(lines))
        except Exception as error:
            # Also a defect here must not let a call pass unrecorded.
            if not self._failing:
                logger.error("calls are refused, because the audit cannot be written: %s", _reason(error))
            group.error, self._failing = error, True
        else:
            if self._failing:
                logger.info("the audit is written again")
            self._failing = False
            self._head = head
            with self._gathering:
                del self._owed[:owed]
                self._unrecorded -= unrecorded
        group.done = True

    def _store(self, data: bytes) -> None:
        if self._torn:
            os.ftruncate(self._descriptor, self._size)
        # If this fails, a part of the data may stay there until the next attempt.
        self._torn = True
        left = memoryview(data)
        while left:
            left = left[os.pwrite(self._descriptor, left, self._size + len(data) - len(left)) :]
        os.fsync(self._descriptor)
        self._torn = False
        self._size += len(data)

    def _follow_path(self) -> None:
        """Begins a new file if this one was renamed."""
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self.path), os.fstat(self._descriptor)):
                return
        renamed = self._descriptor
        self._open(self._head, begun=False)
        os.close(renamed)
        logger.info("the audit goes on in a new file after entry %d, %s", self._head.number, self._head.hash)

    def _open(self, known: Head, begun: bool = True) -> None:
        """Opens or creates the file at the path, and cuts off an entry that a killed process left unfinished.

        A file that has entries is refused unless it may be `begun` already.
        """
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor, self.path)
            size = os.fstat(descriptor).st_size
            if size and not begun:
                raise OSError(errno.EEXIST, "another file took its place")
            last, torn = _end_of(os.pread(descriptor, _LARGEST_TAIL, max(0, size - _LARGEST_TAIL)), self.path)
            sync(self.path.parent)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor, self._size, self._torn = descriptor, size - len(torn), bool(torn)
        self._head = known if last is None else Head(read_line(last).number, hash_of(last))
        if torn:
            digest = hashlib.sha256(torn).hexdigest()
            note = f"{len(torn)} bytes after entry {self._head.number} were cut off; their SHA-256 is {digest}"
            logger.warning("the audit was repaired: %s", note)
            self._owed.append(AuditEntry(now(), AuditEvent.REPAIRED, note=note))
        self._head = Head(max(known.number, self._head.number), self._head.hash)


def _end_of(tail: bytes, path: Path) -> tuple[bytes | None, bytes]:
    """The last whole entry, and the bytes after it; `InvalidError` if a file with this end is no audit."""
    end = tail.rfind(b"\n") + 1
    last, torn = tail[tail.rfind(b"\n", 0, max(end - 1, 0)) + 1 : end], tail[end:]
    try:
        if last:
            read_line(last)
        elif not FIRST.startswith(torn[: len(FIRST)]):
            raise ValueError
    except ValueError:
        raise InvalidError.of(
            "AUDIT_DAMAGED",
            "audit_file",
            f"{shortened(str(path))}, which does not end with an entry",
            "a file that the server wrote, or none",
            "Keep the file for an examination, and move it away: the server begins another.",
        ) from None
    return last or None, torn


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        actual = f"{shortened(str(path))}, which another process writes"
        raise BusyError.of("AUDIT_LOCKED", "audit_file", actual, "a file of this server alone") from None


def _unavailable(error: Exception, outcome: str) -> BusyError:
    actual = f"no way to record the call: {_reason(error)}"
    return BusyError.of("AUDIT_UNAVAILABLE", "audit", actual, "an audit that can be written", outcome)


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
