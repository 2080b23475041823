"""Ends streams whose client takes the requested data, or sends the promised data, too slowly or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

SECONDS_BETWEEN_LOOKS = 1.0

LEAST_BYTES_PER_SECOND = 16 * 2**10
"""A stream may wait for a client in all, beside its idle time, as long as its data takes at this rate."""


class IdleStreams:
    """One thread that watches all streams of a server: each holds a thread and a slot that others need."""

    def __init__(self, seconds: float) -> None:
        """`seconds` is how long a stream may wait for its client."""
        self.seconds = seconds
        self._lock = threading.Lock()
        self._waiting: dict[CallStream, float] = {}
        self._closed = threading.Event()
        threading.Thread(target=self._look_after, name="tableveil-idle", daemon=True).start()

    def began(self, stream: CallStream) -> None:
        """A stream begins to wait."""
        with self._lock:
            self._waiting[stream] = time.monotonic()

    def ended(self, stream: CallStream) -> float:
        """A stream has its client again; returns the seconds that it waited."""
        with self._lock:
            return time.monotonic() - self._waiting.pop(stream)

    def close(self) -> None:
        """Ends the thread."""
        self._closed.set()

    def _look_after(self) -> None:
        while not self._closed.wait(min(SECONDS_BETWEEN_LOOKS, self.seconds)):
            self._cancel_idle()

    def _cancel_idle(self) -> None:
        now = time.monotonic()
        with self._lock:
            idle = [stream.context for stream, began in self._waiting.items() if now - began >= stream.left]
        for context in idle:
            context.cancel()


class CallStream:
    """One direction of a call, with the seconds that are `left` to wait for its client."""

    def __init__(self, streams: IdleStreams, context: grpc.ServicerContext) -> None:
        self._streams = streams
        self.context = context
        self.left = streams.seconds

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While the block runs, the stream waits for its client; if that takes too long, the call is cancelled."""
        self._streams.began(self)
        try:
            yield
        finally:
            self.left -= self._streams.ended(self)

    def moved(self, number: int) -> None:
        """So many bytes went over the wire: a slow client gets time for them, one that sends single bytes does not."""
        self.left = min(self._streams.seconds, self.left + number / LEAST_BYTES_PER_SECOND)
