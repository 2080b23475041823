"""Ends streams whose client neither takes the requested data nor sends the promised data."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

SECONDS_BETWEEN_LOOKS = 1.0


class IdleStreams:
    """One thread that watches all streams of a server: each holds a thread and a slot that others need."""

    def __init__(self, seconds: float) -> None:
        """`seconds` is how long a stream may wait for its client."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._waiting: dict[grpc.ServicerContext, float] = {}
        self._closed = threading.Event()
        threading.Thread(target=self._look_after, name="tableveil-idle", daemon=True).start()

    @contextmanager
    def waiting(self, context: grpc.ServicerContext) -> Iterator[None]:
        """While the block runs, the stream waits for its client; if that takes too long, the call is cancelled."""
        with self._lock:
            self._waiting[context] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._waiting.pop(context, None)

    def close(self) -> None:
        """Ends the thread."""
        self._closed.set()

    def _look_after(self) -> None:
        while not self._closed.wait(min(SECONDS_BETWEEN_LOOKS, self._seconds)):
            self._cancel_idle()

    def _cancel_idle(self) -> None:
        since = time.monotonic() - self._seconds
        with self._lock:
            idle = [context for context, began in self._waiting.items() if began <= since]
        for context in idle:
            context.cancel()
