"""Reasons to stop long work: a cancellation token and a deadline, passed in by the caller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tableveil.errors import CancelledError


class Stopped(Exception):
    """Raised inside long work that has to stop; see `Control` for the reasons."""


class Control:
    """A cancellation token, a deadline once `limit` is called, and a request to keep the best that a search has.

    `clock` returns seconds; only differences count.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._cancelled = threading.Event()
        self._enough = threading.Event()
        self._searches = False
        self._clock = clock
        self._deadline: float | None = None
        self._until: float | None = None

    def cancel(self) -> None:
        """Asks the work to stop; may be called from any thread, any number of times."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled.is_set()

    def keep_best(self) -> None:
        """Asks the work to end its search, which has a valid result, and to go on with that; no effect afterwards."""
        self._enough.set()

    @property
    def keeps_best(self) -> bool:
        """Whether `keep_best` was called."""
        return self._enough.is_set()

    def begin_anew(self) -> None:
        """Forgets `keep_best`: the work has nothing any more that it could keep."""
        self._enough.clear()

    @contextmanager
    def searching(self, deadline: float | None) -> Iterator[None]:
        """A search that can return the best it has so far: this deadline and `keep_best` stop it, not what follows."""
        outer = self._searches
        self._searches = True
        self.limit(deadline)
        try:
            yield
        finally:
            self._searches = outer
            self.limit(None)

    def limit(self, deadline: float | None) -> None:
        """Sets the time on `clock` at which work should stop, or None for no deadline."""
        self._deadline = deadline

    def part(self, share: float) -> Control:
        """A control for work that may take this share of the time left; it is cancelled along with this one."""
        part = self.on(self._clock)
        part._until = self._until
        if self._deadline is not None:
            now = self._clock()
            part._deadline = now + share * max(self._deadline - now, 0.0)
        return part

    def within(self, seconds: float) -> Control:
        """A control for work that may take so long with all of its searches; it is cancelled along with this one."""
        part = self.part(1.0)
        until = self._clock() + max(seconds, 0.0)
        part._until = until if self._until is None else min(until, self._until)
        return part

    def on(self, clock: Callable[[], float]) -> Control:
        """A control for work that is limited by another clock; it is cancelled along with this one."""
        other = Control(clock)
        other._cancelled, other._enough, other._searches = self._cancelled, self._enough, self._searches
        return other

    @property
    def must_stop(self) -> bool:
        """Whether the work should stop now, for any reason."""
        if self.cancelled or (self._searches and self.keeps_best):
            return True
        deadline = self._deadline
        if self._until is not None and (deadline is None or self._until < deadline):
            deadline = self._until
        return deadline is not None and self._clock() >= deadline

    def now(self) -> float:
        """Seconds on the clock."""
        return self._clock()

    def raise_if_cancelled(self) -> None:
        """Raises `CancelledError` if `cancel` was called."""
        if self.cancelled:
            raise CancelledError("CANCELLED", "the job was cancelled")

    def raise_if_stopped(self) -> None:
        """Raises `Stopped` if the work should stop now."""
        if self.must_stop:
            raise Stopped
