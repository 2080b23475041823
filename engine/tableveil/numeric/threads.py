"""One core for products of matrices, whichever jobs ask for it at the same time."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_lock = threading.Lock()
_users = 0
_limits: list[Any] = []


@contextmanager
def one_core() -> Iterator[None]:
    """BLAS and OpenMP start no threads until the last of those who are in here at the same time has left.

    The limit is the process's. If each restored the limit that it found, the first to leave would free the threads for
    the others, and the last one would leave the limit behind.
    """
    global _users
    with _lock:
        # A library may have been loaded since the others came.
        _limits.append(_libraries(len(sys.modules)).limit(limits=1))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            while not _users and _limits:
                _limits.pop().restore_original_limits()


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """The libraries that have threads, as long as the process has so many modules: imports load them.

    To look for them takes 3 ms, more than most of the products.
    """
    # Loading it takes a twentieth of a second, which other commands need not wait for.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
