"""The address at which metrics and health are read over HTTP: without TLS, as most monitoring and probes do."""

import socket
import socketserver
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tableveil.metrics.metrics import Metrics

READERS_AT_ONCE = 8
"""Readers of the metrics at once, which take long to write and to send; probes need none of these places."""

TakePlace = Callable[[Callable[[], object]], Callable[[], None]]
"""Takes a place for a connection that says nothing yet, each of which holds a thread, and returns how to leave it.

The connection of the oldest is ended, by the argument, when there are too many.
"""

SECONDS_TO_READ = 5.0
"""How long a reader may take for all: to send its request, and to take the answer."""


class MetricsAddress:
    """Answers at `/metrics`, `/healthz` (the process lives) and `/readyz` (it takes calls); close it when done."""

    def __init__(
        self, host: str, port: int, metrics: Metrics, ready: Callable[[], bool], take_place: TakePlace
    ) -> None:
        """Listens, at any port if that is 0. Raises `OSError` if this machine cannot listen there."""
        self._server = _Server(host, port, metrics, ready, take_place)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="tableveil-metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Listens no more."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    # A reader that hangs must not keep the process from ending.
    daemon_threads = True
    block_on_close = False

    # Strangers who connect faster than threads begin keep nobody out.
    request_queue_size = 128

    def __init__(
        self, host: str, port: int, metrics: Metrics, ready: Callable[[], bool], take_place: TakePlace
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.metrics = metrics
        self.ready = ready
        self.readers = threading.BoundedSemaphore(READERS_AT_ONCE)
        self._take_place = take_place
        self._own = threading.local()
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # The one of HTTPServer asks the name service for a name that nobody needs.
        socketserver.TCPServer.server_bind(self)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self._own.leave = self._take_place(lambda: _end(request))
        # The timeout of a socket begins anew with each byte, which a reader may send now and then.
        over = threading.Timer(SECONDS_TO_READ, _end, [request])
        over.daemon = True
        over.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            over.cancel()
            self.leave_place()

    def leave_place(self) -> None:
        """The connection of this thread is idle no more."""
        self._own.leave()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The reader is gone, which is nobody's fault."""


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.leave_place()
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._tell_metrics()
        elif path == "/healthz":
            self._say(HTTPStatus.OK, "alive")
        elif path == "/readyz":
            ready = self.server.ready()
            self._say(HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE, "ready" if ready else "not ready")
        else:
            self._say(HTTPStatus.NOT_FOUND, "there are /metrics, /healthz and /readyz")

    def version_string(self) -> str:
        return "tableveil"

    def log_message(self, format: str, *_: Any) -> None:
        """Reading is not logged: it happens all the time."""

    def _tell_metrics(self) -> None:
        if not self.server.readers.acquire(blocking=False):
            self._say(HTTPStatus.SERVICE_UNAVAILABLE, "too many read the metrics")
            return
        try:
            content_type, text = self.server.metrics.text(self.headers.get("Accept", ""))
            self._answer(HTTPStatus.OK, content_type, text)
        finally:
            self.server.readers.release()

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._answer(status, "text/plain; charset=utf-8", f"{text}\n".encode())

    def _answer(self, status: HTTPStatus, content_type: str, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
