"""Ends streams whose callers are not accepted any more: their token was revoked, or expired."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from tableveil.identity import Authenticator, Credentials, Unauthenticated
from tableveil.server.call import Call

SECONDS_BETWEEN_LOOKS = 1.0


class OpenStreams:
    """One thread that authenticates the callers of all streams again and again."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._lock = threading.Lock()
        self._open: dict[grpc.ServicerContext, tuple[Call, Credentials]] = {}
        self._closed = threading.Event()
        threading.Thread(target=self._look_after, name="tableveil-streams", daemon=True).start()

    @contextmanager
    def watched(self, call: Call, credentials: Credentials, context: grpc.ServicerContext) -> Iterator[None]:
        """While the block runs, the stream ends if its caller is not accepted any more."""
        with self._lock:
            self._open[context] = call, credentials
        try:
            yield
        finally:
            with self._lock:
                self._open.pop(context, None)

    def close(self) -> None:
        """Ends the thread."""
        self._closed.set()

    def _look_after(self) -> None:
        while not self._closed.wait(SECONDS_BETWEEN_LOOKS):
            with self._lock:
                streams = list(self._open.items())
            for context, (call, credentials) in streams:
                try:
                    self._authenticator.authenticate(credentials)
                except Unauthenticated as refused:
                    if call.refusal:
                        # It sends and receives nothing, and so did not end by itself.
                        context.cancel()
                    call.refusal = refused.reason
