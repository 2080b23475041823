"""Long calls that Ctrl-C and SIGTERM may end at any point."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tableveil.client import Client

Result = TypeVar("Result")


def interruptible(client: Client, work: Callable[[], Result]) -> Result:
    """Does work that uses the client in a thread of its own; an interrupt ends the client's calls, and so the work.

    Signals arrive in the main thread. What their handlers raise in the middle of gRPC leaves its channel in a state in
    which closing it may never return; here it is raised from nothing but a wait.
    """
    with ThreadPoolExecutor(1) as worker:
        future = worker.submit(work)
        try:
            return future.result()
        except BaseException:
            if not future.done():
                client.close()
            raise
