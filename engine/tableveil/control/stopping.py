"""Reasons to stop long work: a cancellation token and a deadline, passed in by the caller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tableveil.errors import CancelledError


class Stopped(Exception):
    """Raised inside long work that has to stop; see `Control` for the reasons."""


class Control:
    """A cancellation token and, once `limit` is called, a deadline.

    `clock` returns seconds; only differences count.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._cancelled = threading.Event()
        self._clock = clock
        self._deadline: float | None = None

    def cancel(self) -> None:
        """Asks the work to stop; may be called from any thread, any number of times."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled.is_set()

    def limit(self, deadline: float | None) -> None:
        """Sets the time on `clock` at which work should stop, or None for no deadline."""
        self._deadline = deadline

    def part(self, share: float) -> Control:
        """A control for work that may take this share of the time left; it is cancelled along with this one."""
        part = Control(self._clock)
        part._cancelled = self._cancelled
        if self._deadline is not None:
            now = self._clock()
            part._deadline = now + share * max(self._deadline - now, 0.0)
        return part

    @property
    def must_stop(self) -> bool:
        """Whether the work should stop now, for either reason."""
        return self.cancelled or (self._deadline is not None and self._clock() >= self._deadline)

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
