"""Ends the queries of callers who are not accepted any more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tableveil.control import Control
from tableveil.endpoint.readers import Readers
from tableveil.errors import TableveilError
from tableveil.identity import Credentials

_SECONDS_BETWEEN_LOOKS = 1.0


class Watched:
    """A query: its caller's credentials, and why it must end, once it must."""

    def __init__(self, credentials: Credentials, control: Control) -> None:
        self.credentials = credentials
        self.control = control
        self.refusal: TableveilError | None = None

    def require_accepted(self) -> None:
        """Raises the `TableveilError` by which it must end, if it must."""
        if self.refusal is not None:
            raise self.refusal


class Standing:
    """Asks about the callers of running queries, no more often than for new calls; close it when done."""

    def __init__(self, readers: Readers, seconds: float = _SECONDS_BETWEEN_LOOKS) -> None:
        self._readers = readers
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: set[Watched] = set()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tableveil-standing", daemon=True)
        self._thread.start()

    @contextmanager
    def watched(self, credentials: Credentials, control: Control) -> Iterator[Watched]:
        """A query that is cancelled by its control while the block runs, once its caller is not accepted any more."""
        query = Watched(credentials, control)
        with self._lock:
            self._running.add(query)
        try:
            yield query
        finally:
            with self._lock:
                self._running.discard(query)

    def close(self) -> None:
        """Asks no more."""
        self._closed.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._closed.wait(self._seconds):
            with self._lock:
                running = list(self._running)
            for query in running:
                try:
                    self._readers.reader(query.credentials)
                except TableveilError as error:
                    query.refusal = error
                    query.control.cancel()
