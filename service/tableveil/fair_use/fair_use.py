"""Counts the calls of each principal, and the things that their calls hold; refuses those beyond the limits."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from tableveil.errors import BusyError

SECONDS_OF_BURST = 5
"""A principal who was quiet may make the calls of so many seconds at once."""

_MOST_KNOWN = 1000
"""Principals who are remembered although they have not called lately."""


class Held(Enum):
    """A thing that a call holds until it ends; the value is its name in messages."""

    STREAM = "open streams"
    LOAD = "running loads"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of each principal."""

    calls_per_second: int = 200
    streams: int = 32
    loads: int = 2

    def of(self, held: Held) -> int:
        """How many of these a principal may hold."""
        return self.streams if held is Held.STREAM else self.loads


@dataclass(slots=True)
class _Bucket:
    """The calls that a principal may make at once, as of a time."""

    calls: float
    at: float


class FairUse:
    """The use of the server by each principal. Used from any thread."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._most_calls = limits.calls_per_second * SECONDS_OF_BURST
        self._buckets: dict[str, _Bucket] = {}
        self._held: Counter[tuple[str, Held]] = Counter()

    def count_call(self, principal: str) -> None:
        """Counts a call; `BusyError` if it is one too many, with the time after which one is allowed."""
        with self._lock:
            bucket = self._bucket(principal)
            if bucket.calls >= 1:
                bucket.calls -= 1
                return
        found = f"more than {self._limits.calls_per_second} calls a second"
        error = BusyError.of("RATE_LIMITED", "calls", found, "fewer calls of one principal", "Wait a moment.")
        error.retry_seconds = (1 - bucket.calls) / self._limits.calls_per_second
        raise error

    @contextmanager
    def holding(self, principal: str, held: Held) -> Iterator[None]:
        """Holds one while the block runs; `BusyError` if the principal holds as many as allowed."""
        key, most = (principal, held), self._limits.of(held)
        with self._lock:
            if self._held[key] >= most:
                found = f"{most} {held.value} of one principal, as many as the server takes"
                raise BusyError.of("TOO_MANY_CALLS", held.value, found, "a free place", "End one of them first.")
            self._held[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[key] -= 1
                if not self._held[key]:
                    del self._held[key]

    def _bucket(self, principal: str) -> _Bucket:
        """The principal's calls as of now."""
        now = self._clock()
        bucket = self._buckets.get(principal)
        if bucket is None:
            if len(self._buckets) >= _MOST_KNOWN:
                quiet = now - SECONDS_OF_BURST
                # Their calls are all there again.
                self._buckets = {name: found for name, found in self._buckets.items() if found.at > quiet}
            bucket = self._buckets[principal] = _Bucket(self._most_calls, now)
        bucket.calls += (now - bucket.at) * self._limits.calls_per_second
        bucket.calls, bucket.at = min(bucket.calls, self._most_calls), now
        return bucket
