"""Long calls that Ctrl-C and SIGTERM may end at any point."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from tableveil.client import Client

SECONDS_BETWEEN_LOOKS = 0.2

Result = TypeVar("Result")


def interruptible(client: Client, work: Callable[[], Result], goes_on: Callable[[], bool] = lambda: False) -> Result:
    """Runs work that uses the client in a thread of its own; an interrupt ends the client's calls, and so the work.

    At Ctrl-C, `goes_on` is asked whether the work goes on nevertheless.

    Signals arrive in the main thread. An error that a handler raises in the middle of gRPC leaves its channel in a
    state in which closing it may never return; here the only interrupted call is a wait.
    """
    with ThreadPoolExecutor(1) as worker:
        future = worker.submit(copy_context().run, work)
        try:
            while not future.done():
                try:
                    # A wait without end might miss a signal that another thread of the process got.
                    wait([future], SECONDS_BETWEEN_LOOKS)
                except KeyboardInterrupt:
                    if not goes_on():
                        raise
        except BaseException:
            client.close()
            raise
        return future.result()
