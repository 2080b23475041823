"""Running queries: what may end them, the callers who are asked about again, and the places that they take in turn."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tableveil.control import Control
from tableveil.endpoint.readers import Readers
from tableveil.endpoint.settings import UseLimits
from tableveil.errors import BusyError, CancelledError, TableveilError
from tableveil.fair_use.turns import Turns
from tableveil.identity import Credentials

NOBODY = Credentials(None, (), "")

_SECONDS_TO_WAIT = 0.1
_SECONDS_BETWEEN_LOOKS = 1.0


class RunningQuery(Control):
    """Says to stop also when the client `is_gone`; its caller's credentials, and why it must end, once it must."""

    def __init__(self, credentials: Credentials = NOBODY, is_gone: Callable[[], bool] = lambda: False) -> None:
        super().__init__()
        self.credentials = credentials
        self._is_gone = is_gone
        self.refusal: TableveilError | None = None

    @property
    def must_stop(self) -> bool:
        """Whether the work should stop; only while the call runs."""
        if self._is_gone():
            self.cancel()
        return super().must_stop


class Standing:
    """Asks about the callers of running queries, no more often than for new calls; close it when done."""

    def __init__(self, readers: Readers, seconds: float = _SECONDS_BETWEEN_LOOKS) -> None:
        self._readers = readers
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: set[RunningQuery] = set()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tableveil-standing", daemon=True)
        self._thread.start()

    @contextmanager
    def watched(self, query: RunningQuery) -> Iterator[None]:
        """Cancels the query while the block runs, once its caller is not accepted any more."""
        with self._lock:
            self._running.add(query)
        try:
            yield
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
                    query.cancel()


class ConnectionPlaces:
    """Used from any thread."""

    def __init__(self, limits: UseLimits) -> None:
        self._limits = limits
        self._changed = threading.Condition()
        self._turns = Turns(limits.queries_per_principal)
        self._numbers = itertools.count()
        self._running: dict[int, Control] = {}

    @contextmanager
    def taken(self, principal: str, control: Control) -> Iterator[None]:
        """Waits for a place, and holds it while the block runs.

        A client that never reads its rows holds it for ever: once `control` says to stop, only against its principal.

        Raises:
            BusyError: as many queries of the principal wait as may, or it took too long.
            CancelledError: nobody waits for the query any more.
        """
        with self._changed:
            number = self._wait(principal, control)
            self._running[number] = control
        try:
            yield
        finally:
            with self._changed:
                del self._running[number]
                self._turns.end(principal)
                self._changed.notify_all()

    def _wait(self, principal: str, control: Control) -> int:
        if self._turns.of(principal) >= self._limits.queries_per_principal:
            actual = f"{self._limits.queries_per_principal} queries of one principal that run, and as many that wait"
            raise BusyError.of("TOO_MANY_QUERIES", "queries", actual, "a free place", "End one of them first.")
        number = next(self._numbers)
        self._turns.add(principal, number)
        try:
            while self._taken() >= self._limits.queries or self._turns.next() != number:
                self._changed.wait(_SECONDS_TO_WAIT)
                if control.must_stop and control.cancelled:
                    raise CancelledError("CANCELLED", "nobody waits for the query any more")
                if control.must_stop:
                    late = "no free place in time"
                    raise BusyError.of("TOO_MANY_QUERIES", "queries", late, "a free place", "Try again later.")
            self._turns.start(number)
            return number
        finally:
            if number in self._turns:
                self._turns.remove(number)
            self._changed.notify_all()

    def _taken(self) -> int:
        return sum(not control.must_stop for control in self._running.values())
