"""Changes that their callers named: each is made once, and a repeated request gets the first answer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tableveil.backend import Database, committed_with
from tableveil.errors import BusyError, ConflictError, InvalidError, shortened
from tableveil.state import answered_requests as store
from tableveil.state.answered_requests import Answered, RequestKey
from tableveil.state.jobs import now

LONGEST = 1000
"""Characters: orchestrators put the names of pipeline, run and task together."""


def check_request_id(request_id: str) -> None:
    """Raises `InvalidError` for a name that is too long, or could not be shown in a terminal as it is."""
    if len(request_id) > LONGEST or not request_id.isprintable():
        raise InvalidError.of(
            "REQUEST_ID_INVALID",
            "request_id",
            shortened(request_id),
            f"at most {LONGEST:,} printable characters, without line breaks or control characters",
        )


class AnsweredRequests:
    """Remembers requests and their answers. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._running: set[RequestKey] = set()

    def once(self, key: RequestKey, digest: Callable[[], str], handle: Callable[[], bytes]) -> bytes | None:
        """The kept answer to the first request of that key; None if this is the first one.

        `handle` handles that, and returns what may be kept of its answer. The key is committed by the transaction that
        makes the change. `digest` identifies the content; it is asked for once all of that was read, or may be.

        Raises:
            InvalidError: the request id cannot be one.
            ConflictError: the request id named another request, or the first answer is not kept any more.
            BusyError: the first request is still being handled.
        """
        check_request_id(key.request_id)
        with self._alone(key):
            with self._database.ledger() as ledger:
                first = store.find(ledger, key)
            if first is not None:
                return _first_answer(key, first, digest())
            with committed_with(lambda session: store.keep(session.ledger, key, Answered(digest(), now()))):
                answer = handle()
            with self._database.ledger() as ledger, ledger.transaction():
                store.keep(ledger, key, Answered(digest(), now(), answer))
            return None

    @contextmanager
    def _alone(self, key: RequestKey) -> Iterator[None]:
        with self._lock:
            if key in self._running:
                raise BusyError.of(
                    "REQUEST_RUNNING",
                    "request_id",
                    f"{shortened(key.request_id)}, by which a request is being handled",
                    "one call at a time for each request id",
                    "Ask again when it has ended.",
                )
            self._running.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(key)


def _first_answer(key: RequestKey, first: Answered, digest: str) -> bytes:
    method, named = key.method.rpartition("/")[2], shortened(key.request_id)
    if first.digest != digest:
        actual = f"{named}, which named another request of {method}"
        expected = "a request id of its own for every request"
        raise ConflictError.of("REQUEST_ID_REUSED", "request_id", actual, expected)
    if first.answer is None:
        raise ConflictError.of(
            "ANSWER_FORGOTTEN",
            "request_id",
            f"{named}, by which {method} made its change at {first.changed_at:%Y-%m-%d %H:%M:%S} UTC",
            "a request whose answer is kept",
            "The change was made. Look at what it changed, and give another request id to change it again.",
        )
    return first.answer
