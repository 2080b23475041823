"""Copies of the file: rows of the database to query, and messages to syslog. No call waits for them."""

import logging
import os
import re
import socket
import threading
from collections.abc import Sequence

from tableveil.audit.entry import hash_of, number_of
from tableveil.audit.file import AuditFile
from tableveil.backend import Database
from tableveil.errors import InternalError, InvalidError, shortened
from tableveil.state import audit_entries as store

_PRIORITY = 10 * 8 + 6
"""Facility authpriv, severity informational."""

_SECONDS = 1.0


class Syslog:
    """A syslog daemon: the path of its socket, such as /dev/log, or host:port for UDP."""

    def __init__(self, address: str) -> None:
        """Raises `InvalidError` if the address is neither."""
        place = re.fullmatch(r"(?P<host>[^:/\s]+):(?P<port>[0-9]{1,5})", address)
        if place is None and not address.startswith("/"):
            expected = "the path of a socket, such as /dev/log, or host:port"
            raise InvalidError.of("SYSLOG_INVALID", "audit_syslog", shortened(address), expected)
        self._address = address if place is None else (place["host"], int(place["port"]))

    def send(self, lines: Sequence[bytes]) -> None:
        """Sends each line; `OSError` if nobody takes them in time."""
        family = socket.AF_UNIX if isinstance(self._address, str) else socket.AF_INET
        # A socket for each batch finds a daemon that was started again.
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            sender.settimeout(_SECONDS)
            sender.connect(self._address)
            for line in lines:
                sender.send(b"<%d>tableveil: %s" % (_PRIORITY, line.rstrip()))


logger = logging.getLogger("tableveil.audit")

_BATCH = 2**19
"""Bytes that are copied at once; a line is shorter."""


class Copies:
    """Follows the file from the last entry in the database on, and into the next file when it is renamed."""

    def __init__(self, file: AuditFile, database: Database, syslog: Syslog | None) -> None:
        self._source = file
        self._database = database
        self._syslog = syslog
        self._copying = threading.Lock()
        self._descriptor: int | None = None
        self._position = 0
        # The last entry that was read, and the last that is in the database.
        self._read = 0
        with database.ledger() as ledger:
            self._copied, _ = store.newest(ledger) or (0, "")

    @property
    def lag(self) -> int:
        """Entries that are durable and not in the database yet."""
        return self._source.head.number - self._copied

    def catch_up(self) -> None:
        """Copies the entries that are not copied yet.

        Raises:
            TableveilError: the database takes none, or the file is not the one that was copied so far.
            OSError: the file cannot be read.
        """
        with self._copying:
            # An entry that is not durable yet may still be taken back.
            while self._read < (durable := self._source.head.number):
                lines = self._next_lines(durable)
                new = [line for line in lines if number_of(line) > self._copied]
                if new:
                    self._copy(new)
                self._position += sum(map(len, lines))
                self._read = number_of(lines[-1])

    def close(self) -> None:
        """Ends it."""
        with self._copying:
            self._close_file()

    def _next_lines(self, durable: int) -> list[bytes]:
        """The next durable lines, at least one."""
        if self._descriptor is None:
            self._descriptor = os.open(self._source.path, os.O_RDONLY)
        lines = os.pread(self._descriptor, _BATCH, self._position).splitlines(keepends=True)
        while lines and (not lines[-1].endswith(b"\n") or number_of(lines[-1]) > durable):
            lines.pop()
        if lines:
            return lines
        if os.path.samestat(os.fstat(self._descriptor), os.stat(self._source.path)):
            raise InternalError("AUDIT_DAMAGED", f"entries after {self._read} are gone from the audit's file")
        self._close_file()
        return self._next_lines(durable)

    def _copy(self, lines: Sequence[bytes]) -> None:
        first, hashes = number_of(lines[0]), [hash_of(line) for line in lines]
        if first > self._copied + 1 and self._copied:
            logger.warning("entries %d to %d are missing in the copy of the audit", self._copied + 1, first - 1)
        with self._database.ledger() as ledger:
            store.insert(ledger, [line.decode() for line in lines], hashes)
        self._copied = number_of(lines[-1])
        if self._syslog is not None:
            try:
                self._syslog.send(lines)
            except OSError as error:
                logger.warning("syslog did not take entries %d to %d: %s", first, self._copied, error.strerror)

    def _close_file(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._position = None, 0
