"""Holds each call to the limits of its principal, and costly things to their slots."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tableveil.errors import BusyError
from tableveil.fair_use import FairUse, Held
from tableveil.server.call import Call
from tableveil.serving.settings import LARGE_REQUEST, LARGEST_MESSAGE

_CHANGING_TABLES = {"LoadTable", "TruncateTable", "DropTable", "ErasePersons"}
"""The methods that count as loads."""


class LimitedCalls:
    """Counts calls and streams by principal; it is the `CallLimits` of access control."""

    def __init__(self, use: FairUse) -> None:
        self._use = use

    @contextmanager
    def admitted(self, call: Call) -> Iterator[None]:
        """Holds what the call takes while the block runs; `BusyError` if that is more than is left.

        Until the call says how large its first message is, that counts as the largest. A large request of a call that
        is no stream waits for its turn then: what is made of it takes many times its bytes.
        """
        assert call.principal is not None
        name, held = call.principal.name, Held.CALL
        if call.method.rpartition("/")[2] in _CHANGING_TABLES:
            held = Held.LOAD
        elif call.access is not None and call.access.is_stream:
            held = Held.STREAM
        self._use.count_call(name)
        with ExitStack() as opened:
            opened.enter_context(self._use.holding(name, held))
            keep = opened.enter_context(self._use.holding(name, Held.BYTES, LARGEST_MESSAGE))

            def received(number: int) -> None:
                keep(number)
                if held is Held.CALL and number > LARGE_REQUEST:
                    opened.enter_context(self._use.holding(name, Held.LARGE))

            call.received = received
            yield


class Slots:
    """A number of slots for `what`, such as "open streams"."""

    def __init__(self, limit: int, what: str) -> None:
        self._limit = limit
        self._what = what
        self._free = threading.BoundedSemaphore(limit)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Holds a slot while the block runs; `BusyError` if all are taken."""
        # A waiting caller would hold a thread that another call needs.
        if not self._free.acquire(blocking=False):
            actual = f"{self._limit} {self._what}, as many as the server takes"
            raise BusyError.of("TOO_MANY_CALLS", self._what, actual, "a free place", "Try again in a moment.")
        try:
            yield
        finally:
            self._free.release()
