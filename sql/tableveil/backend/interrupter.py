"""Interrupts running statements whose work has to stop."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from tableveil.control import Control

SECONDS_BETWEEN_LOOKS = 0.05


class Interrupter:
    """One thread that looks after all sessions of a database.

    It interrupts again and again until the statement has ended, because DuckDB loses an interrupt that comes before the
    statement starts.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[duckdb.DuckDBPyConnection, Control] = {}
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._look_after, name="tableveil-interrupter", daemon=True)
        self._thread.start()

    @contextmanager
    def guard(self, cursor: duckdb.DuckDBPyConnection, control: Control) -> Iterator[None]:
        """While it is open, the cursor's statement is interrupted once `control` says to stop."""
        with self._lock:
            self._running[cursor] = control
        self._wake.set()
        try:
            yield
        finally:
            # Taking the lock waits for an interrupt that is on its way, so that none hits a later, unguarded statement.
            with self._lock:
                del self._running[cursor]

    def close(self) -> None:
        """Ends the thread."""
        self._closed = True
        self._wake.set()
        self._thread.join()

    def _look_after(self) -> None:
        while not self._closed:
            if self._interrupt_stopped():
                self._wake.wait()
            else:
                threading.Event().wait(SECONDS_BETWEEN_LOOKS)

    def _interrupt_stopped(self) -> bool:
        """Interrupts statements that have to stop, and returns whether none runs.

        The loop itself must hold no cursor: a process may end without closing the database. Python never ends the
        frame of a daemon thread, and DuckDB would report the cursor in it as leaked, with all that it refers to.
        """
        with self._lock:
            for cursor, control in self._running.items():
                if control.must_stop:
                    cursor.interrupt()
            if not self._running:
                self._wake.clear()
            return not self._running
