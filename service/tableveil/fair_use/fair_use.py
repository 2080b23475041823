"""Counts the calls of each principal, and the things that their calls hold; refuses those beyond the limits."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

from tableveil.errors import BusyError

SECONDS_OF_BURST = 5
"""A principal who was quiet may make the calls of so many seconds at once."""

MOMENT_SECONDS = 0.25
"""How long a call waits for those of its principal that end in a moment, before it is told to come back."""

LONGEST_DELAY_SECONDS = 30.0
"""How late a turn is at most that a refused call is given: a client that makes no call again keeps others from none."""

_NEWEST = 0.1
"""The weight of the last of the seconds for which something was held."""

_MOST_KNOWN = 1000
"""Principals who are remembered although they have not called lately."""


class Held(Enum):
    """A thing that a call holds until it ends; the value is its name in messages."""

    STREAM = "open streams"
    LOAD = "running loads"
    CALL = "calls at once"
    BYTES = "bytes of messages at once"
    LARGE = "large requests at once"

    @property
    def ends_soon(self) -> bool:
        """Whether it is held for a moment as a rule, so that it is worth waiting for."""
        return self in (Held.CALL, Held.BYTES, Held.LARGE)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of each principal."""

    calls_per_second: int = 200
    streams: int = 32
    loads: int = 2
    calls: int = 12
    bytes: int = 32 * 2**20
    large: int = 2

    def of(self, held: Held) -> int:
        """How many of these a principal may hold."""
        return {
            Held.STREAM: self.streams,
            Held.LOAD: self.loads,
            Held.CALL: self.calls,
            Held.BYTES: self.bytes,
            Held.LARGE: self.large,
        }[held]


@dataclass(slots=True)
class _Bucket:
    """The calls that a principal may make at once, as of a time, and the turn of its last refused one.

    `seconds` is how long its calls held each thing of late.
    """

    calls: float
    at: float
    turn: float = 0.0
    seconds: dict[Held, float] = field(default_factory=dict)

    def delay(self, first: float, pace: float) -> float:
        """The seconds after which a refused call may come again: so many if it is the first one, or after the others.

        They get their turns at this pace. If all came at once, most of them would be refused again.
        """
        self.turn = min(max(self.turn + pace, self.at + first), self.at + LONGEST_DELAY_SECONDS)
        return self.turn - self.at


class FairUse:
    """The use of the server by each principal. Used from any thread."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._lock = threading.Condition()
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
            pace = 1 / self._limits.calls_per_second
            delay = bucket.delay((1 - bucket.calls) * pace, pace)
        actual = f"more than {self._limits.calls_per_second} calls a second"
        error = BusyError.of("RATE_LIMITED", "calls", actual, "fewer calls of one principal", "Wait a moment.")
        error.retry_seconds = delay
        raise error

    @contextmanager
    def holding(self, principal: str, held: Held, number: int = 1) -> Iterator[Callable[[int], None]]:
        """Holds so many while the block runs; `BusyError` if the principal would hold more than allowed.

        The block gets a function that gives back all but so many of them.
        """
        key, most = (principal, held), self._limits.of(held)
        patience = MOMENT_SECONDS if held.ends_soon else 0
        with self._lock:
            if not self._lock.wait_for(lambda: self._held[key] + number <= most, patience):
                raise self._too_many(principal, held, number)
            self._held[key] += number
        keeps, began = number, self._clock()

        def keep(only: int) -> None:
            nonlocal keeps
            if keeps == number:
                self._learn(principal, held, self._clock() - began)
            self._give_back(key, keeps - only)
            keeps = only

        try:
            yield keep
        finally:
            keep(0)

    def _too_many(self, principal: str, held: Held, number: int) -> BusyError:
        most = self._limits.of(held)
        actual = f"{most:,} {held.value} of one principal, as many as the server takes"
        if not held.ends_soon:
            return BusyError.of("TOO_MANY_CALLS", held.value, actual, "a free place", "End one of them first.")
        bucket = self._bucket(principal)
        pace = bucket.seconds.get(held, MOMENT_SECONDS) * number / most
        error = BusyError.of("RATE_LIMITED", held.value, actual, "fewer calls at once", "Wait a moment.")
        error.retry_seconds = bucket.delay(MOMENT_SECONDS, pace)
        return error

    def _learn(self, principal: str, held: Held, seconds: float) -> None:
        """Takes in how long something was held."""
        with self._lock:
            known = self._bucket(principal).seconds
            known[held] = known.get(held, seconds) * (1 - _NEWEST) + seconds * _NEWEST

    def _give_back(self, key: tuple[str, Held], number: int) -> None:
        with self._lock:
            self._held[key] -= number
            if not self._held[key]:
                del self._held[key]
            self._lock.notify_all()

    def _bucket(self, principal: str) -> _Bucket:
        """The principal's calls as of now."""
        now = self._clock()
        bucket = self._buckets.get(principal)
        if bucket is None:
            if len(self._buckets) >= _MOST_KNOWN:
                quiet = now - SECONDS_OF_BURST
                # Their calls are all there again.
                self._buckets = {
                    name: read_bucket for name, read_bucket in self._buckets.items() if read_bucket.at > quiet
                }
            bucket = self._buckets[principal] = _Bucket(self._most_calls, now)
        bucket.calls += (now - bucket.at) * self._limits.calls_per_second
        bucket.calls, bucket.at = min(bucket.calls, self._most_calls), now
        return bucket
