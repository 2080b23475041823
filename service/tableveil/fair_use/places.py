"""Places for what anybody may hold, strangers too: when all are taken, the oldest gives way to the new one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Places:
    """So many places. Nobody keeps others out by holding them."""

    def __init__(self, limit: int, moment_seconds: float = 0.0) -> None:
        """A newcomer waits so long for those who hold a place for a moment only."""
        self._limit = limit
        self._moment_seconds = moment_seconds
        self._lock = threading.Condition()
        self._held: dict[object, Callable[[], object]] = {}

    def take(self, end: Callable[[], object]) -> Callable[[], None]:
        """Takes a place, and returns the function that leaves it; `end` is called if it is lost to another one."""
        key = object()
        with self._lock:
            free = self._lock.wait_for(lambda: len(self._held) < self._limit, self._moment_seconds)
            lost = None if free else self._held.pop(next(iter(self._held)))
            self._held[key] = end
        if lost is not None:
            lost()

        def leave() -> None:
            with self._lock:
                self._held.pop(key, None)
                self._lock.notify()

        return leave

    @contextmanager
    def taken(self, end: Callable[[], object]) -> Iterator[None]:
        """Holds a place while the block runs."""
        leave = self.take(end)
        try:
            yield
        finally:
            leave()
