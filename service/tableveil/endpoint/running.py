"""Running queries: what may end them, the callers who are asked about again, and the places that they take in turn."""

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


class RunningQueries:
    """The queries that wait for a place, in turn, and those that have one. Used from any thread; close it when done.

    It asks about their callers, no more often than for new calls, and cancels those of callers who are not accepted.
    """

    def __init__(self, readers: Readers, limits: UseLimits, seconds: float = _SECONDS_BETWEEN_LOOKS) -> None:
        self._readers = readers
        self._limits = limits
        self._seconds = seconds
        self._changed = threading.Condition()
        self._turns = Turns(limits.queries_per_principal)
        self._known = set[RunningQuery]()
        self._running = set[RunningQuery]()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tableveil-standing", daemon=True)
        self._thread.start()

    @contextmanager
    def taken(self, principal: str, query: RunningQuery) -> Iterator[None]:
        """Waits for a place, and holds it while the block runs.

        A client that never reads its rows holds it for ever: once the query says to stop, only against its principal.

        Raises:
            BusyError: as many queries of the principal wait as may, or it took too long.
            CancelledError: nobody waits for the query any more.
        """
        try:
            with self._changed:
                self._known.add(query)
                self._wait(principal, query)
                self._running.add(query)
            yield
        finally:
            with self._changed:
                self._known.remove(query)
                if id(query) in self._turns:
                    self._turns.remove(id(query))
                if query in self._running:
                    self._running.remove(query)
                    self._turns.end(principal)
                self._changed.notify_all()

    def close(self) -> None:
        """Asks no more."""
        self._closed.set()
        self._thread.join()

    def _wait(self, principal: str, query: RunningQuery) -> None:
        if self._turns.of(principal) >= self._limits.queries_per_principal:
            actual = f"{self._limits.queries_per_principal} queries of one principal that run, and as many that wait"
            raise BusyError.of("TOO_MANY_QUERIES", "queries", actual, "a free place", "End one of them first.")
        self._turns.add(principal, id(query))
        while sum(not of.must_stop for of in self._running) >= self._limits.queries or self._turns.next() != id(query):
            self._changed.wait(_SECONDS_TO_WAIT)
            if query.must_stop and query.cancelled:
                raise CancelledError("CANCELLED", "nobody waits for the query any more")
            if query.must_stop:
                late = "no free place in time"
                raise BusyError.of("TOO_MANY_QUERIES", "queries", late, "a free place", "Try again later.")
        self._turns.start(id(query))

    def _watch(self) -> None:
        while not self._closed.wait(self._seconds):
            with self._changed:
                known = list(self._known)
            for query in known:
                try:
                    self._readers.reader(query.credentials)
                except TableveilError as error:
                    query.refusal = error
                    query.cancel()
