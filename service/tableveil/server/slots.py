"""Slots: how many callers may do one costly thing at once; the next is told to come back, and does not wait."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tableveil.errors import BusyError


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
