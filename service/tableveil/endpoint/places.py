"""The places of running queries, which waiting principals take in turn."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tableveil.control import Control
from tableveil.endpoint.settings import UseLimits
from tableveil.errors import BusyError, CancelledError
from tableveil.fair_use.turns import Turns

_SECONDS_BETWEEN_LOOKS = 0.1


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
                self._changed.wait(_SECONDS_BETWEEN_LOOKS)
                if control.cancelled or control.must_stop:
                    raise _given_up(control)
            self._turns.start(number)
            return number
        finally:
            if number in self._turns:
                self._turns.remove(number)
            self._changed.notify_all()

    def _taken(self) -> int:
        return sum(not control.must_stop for control in self._running.values())


def _given_up(control: Control) -> BusyError | CancelledError:
    if control.cancelled:
        return CancelledError("CANCELLED", "nobody waits for the query any more")
    return BusyError.of("TOO_MANY_QUERIES", "queries", "no free place in time", "a free place", "Try again later.")
