"""Loads the modules of a process that runs until it is stopped."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Modules never become garbage: to look through them took a quarter of loading, and 0.15 s now and then later."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
