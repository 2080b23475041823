"""The sessions of visitors: their tokens stay here, and a browser knows no more than a random name."""

from __future__ import annotations

import fcntl
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tableveil.client import Client
from tableveil.console.rights import Rights
from tableveil.errors import BusyError, ConflictError, DeniedError, TableveilError
from tableveil.v1 import table_service_pb2 as v1

if TYPE_CHECKING:
    from tableveil.client.loads import GuessedFormat

LONGEST_SECONDS = 12 * 3600.0
IDLE_SECONDS = 3600.0
RIGHTS_SECONDS = 30.0
"""So long a session takes its rights for those that it was told: grants change while somebody is signed in."""

MOST = 1000
MOST_OF_PRINCIPAL = 20
"""Sessions of one principal: the next one ends that which nobody used for longest, and keeps no other out."""

MOST_UPLOADS = 10
"""Files of a principal, in all sessions, that were uploaded and are not loaded yet."""

_PREFIX, _HELD = "tableveil-console-", "held"


@dataclass(frozen=True)
class FilePreview:
    """The titles and cells of a file's first rows as they would be stored, or why it cannot be loaded."""

    titles: list[str]
    rows: list[list[str]]
    failure: TableveilError | None = None


@dataclass
class Upload:
    """A file on its way from a browser into a table; it lies in the console's private directory until it is loaded.

    `stated` is the format by which it was to be loaded last. A guess, and a preview in a format, are made once.
    """

    number: int
    path: Path
    name: str
    table: str
    mode: str
    rows: int = 0
    stated: v1.CsvFormat | v1.ParquetFormat | None = None
    guess: GuessedFormat | TableveilError | None = None
    previews: dict[bytes, FilePreview] = field(default_factory=dict)
    left_out: int = 0
    failure: Exception | None = None
    load: str = ""
    running: bool = False


@dataclass
class VisitorSession:
    """A visitor who is signed in; `csrf` proves that a form came from this console."""

    client: Client
    connect: Callable[[], Client]
    principal: str
    rights: Rights
    ends: float
    files: Path
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    last_seen: float = field(default_factory=time.monotonic)
    asked_at: float = field(default_factory=time.monotonic)
    uploads: dict[int, Upload] = field(default_factory=dict)
    sending: int = 0

    @property
    def waiting(self) -> int:
        """The files that are being sent, or were and are not loaded."""
        return self.sending + sum(not upload.load for upload in [*self.uploads.values()])

    @property
    def loading(self) -> bool:
        """Whether one of its files is on the way into a table."""
        return any(upload.running for upload in [*self.uploads.values()])

    def is_over(self, now: float) -> bool:
        """Whether its token has ended, or nobody has used it for long."""
        return now > self.ends or now > self.last_seen + IDLE_SECONDS

    def refresh_rights(self) -> None:
        """Asks for the rights anew, unless they were told just now."""
        if (now := time.monotonic()) > self.asked_at + RIGHTS_SECONDS:
            self.asked_at = now
            with suppress(TableveilError):
                self.rights = Rights.of(self.client.get_server_info())

    def drop(self, upload: Upload) -> None:
        """Removes a file that was uploaded."""
        self.uploads.pop(upload.number, None)
        upload.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Ends its connection, and removes its files."""
        self.client.close()
        shutil.rmtree(self.files, ignore_errors=True)


class Sessions:
    """All sessions of a console. May be used from any thread."""

    def __init__(self) -> None:
        # Only this user reads it: files hold raw values.
        _remove_left_behind()
        self.directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._held = (self.directory / _HELD).open("w")
        fcntl.flock(self._held, fcntl.LOCK_EX)
        self._sessions: dict[str, VisitorSession] = {}
        self._changing = threading.Lock()

    def begin(self, connect: Callable[[], Client], seconds: float) -> tuple[str, VisitorSession]:
        """A new session of the principal whom the service takes the client for, and its name.

        Raises:
            TableveilError: the service does not accept the client.
            BusyError: too many visitors are signed in.
        """
        client = connect()
        try:
            info = client.get_server_info()
            name, now = secrets.token_urlsafe(32), time.monotonic()
            with self._changing:
                self._sweep(now)
                self._make_room(info.principal)
                if len(self._sessions) >= MOST:
                    raise BusyError("SESSIONS_TOO_MANY", f"{MOST} visitors are signed in: try again later")
                files = Path(tempfile.mkdtemp(dir=self.directory))
                ends = now + min(seconds, LONGEST_SECONDS)
                session = VisitorSession(client, connect, info.principal, Rights.of(info), ends, files)
                self._sessions[name] = session
        except BaseException:
            client.close()
            raise
        return name, session

    def begin_upload(self, session: VisitorSession) -> None:
        """Counts a file that the visitor begins to send, before any of it is read; the caller ends that.

        Raises:
            DeniedError: no role of the visitor loads tables.
            ConflictError: too many files of the same principal wait to be loaded.
        """
        session.refresh_rights()
        if not session.rights.allow("LoadTable"):
            raise DeniedError("PERMISSION_DENIED", "no role of yours loads tables: ask for that of a steward")
        with self._changing:
            own = [one for one in self._sessions.values() if one.principal == session.principal]
            if (waiting := sum(one.waiting for one in own)) >= MOST_UPLOADS:
                actual, hint = f"{waiting} files that wait", "Load or discard one of them."
                raise ConflictError.of("UPLOADS_TOO_MANY", "file", actual, f"at most {MOST_UPLOADS}", hint)
            session.sending += 1

    def find(self, name: str | None) -> VisitorSession | None:
        """The session of that name, if it is not over."""
        now = time.monotonic()
        with self._changing:
            self._sweep(now)
            session = self._sessions.get(name or "")
            if session is not None:
                session.last_seen = now
        return session

    def end(self, name: str | None) -> None:
        """Ends a session."""
        with self._changing:
            session = self._sessions.pop(name or "", None)
        if session is not None:
            session.close()

    def close(self) -> None:
        """Ends all of them."""
        for name in list(self._sessions):
            self.end(name)
        shutil.rmtree(self.directory, ignore_errors=True)
        self._held.close()

    def _make_room(self, principal: str) -> None:
        """Ends a session of a principal who has as many as one may have, best one that loads nothing."""
        own = [name for name, session in self._sessions.items() if session.principal == principal]
        if len(own) >= MOST_OF_PRINCIPAL:
            oldest = min(own, key=lambda name: (self._sessions[name].loading, self._sessions[name].last_seen))
            self._sessions.pop(oldest).close()

    def _sweep(self, now: float) -> None:
        for name, session in [*self._sessions.items()]:
            if session.is_over(now):
                del self._sessions[name]
                session.close()


def _remove_left_behind() -> None:
    """Removes the files of consoles that were killed: nobody holds their directories."""
    for held in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_HELD}"):
        with suppress(OSError), held.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(held.parent, ignore_errors=True)
