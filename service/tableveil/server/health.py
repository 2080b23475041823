"""The health service: that the server is alive, and whether its services take calls.

gRPC's own one sends to a watcher while it holds the lock that every check waits for, and so does the end of every
watch, in the thread that serves all connections: a stranger who takes no answer, or two watches that come and go, stop
the server.
"""

import threading
from collections.abc import Callable, Iterable

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

Response = health_pb2.HealthCheckResponse
Status = int
"""One of the response's."""

Begin = Callable[[Callable[[], None]], object]
"""Runs work in another thread."""


class Health(health_pb2_grpc.HealthServicer):
    """The statuses of services, and those who watch them; the empty name is the server's own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statuses: dict[str, Status] = {"": Response.SERVING}
        self._watches: dict[str, set[_Watch]] = {}

    def set(self, services: Iterable[str], status: Status) -> None:
        """Changes the status of services, and tells their watchers."""
        watches: list[_Watch] = []
        with self._lock:
            for service in services:
                self._statuses[service] = status
                watches += self._watches.get(service, ())
        for watch in watches:
            watch.tell(status)

    def Check(self, request: health_pb2.HealthCheckRequest, context: grpc.ServicerContext) -> Response:  # noqa: N802
        """The status of one service, as it is now."""
        with self._lock:
            status = self._statuses.get(request.service)
        if status is None:
            context.set_code(grpc.StatusCode.NOT_FOUND)
            return Response()
        return Response(status=status)

    def Watch(  # type: ignore[override]  # noqa: N802 # wrapped by HealthCalls, which gives the rest
        self,
        request: health_pb2.HealthCheckRequest,
        context: grpc.ServicerContext,
        send: Callable[[Response], None],
        begin: Begin,
    ) -> None:
        """Sends the status of one service now, and when it changes."""
        service = request.service
        with self._lock:
            watch = _Watch(self._statuses.get(service, Response.SERVICE_UNKNOWN), send, begin)
            self._watches.setdefault(service, set()).add(watch)

        def leave() -> None:
            with self._lock:
                watches = self._watches.get(service, set())
                watches.discard(watch)
                if not watches:
                    self._watches.pop(service, None)

        if context.add_callback(leave):
            watch.begin()
        else:
            leave()


class _Watch:
    """Sends the last status to a watcher, who may take it late or never: what changed meanwhile is left out."""

    def __init__(self, status: Status, send: Callable[[Response], None], begin: Begin) -> None:
        self._send, self._begin = send, begin
        self._lock = threading.Lock()
        self._last, self._sent = status, -1
        self._sending = False

    def tell(self, status: Status) -> None:
        """Sends another status, without waiting."""
        with self._lock:
            self._last = status
        self.begin()

    def begin(self) -> None:
        """Sends what is not sent yet, without waiting."""
        with self._lock:
            if self._sending:
                return
            self._sending = True
        self._begin(self._tell)

    def _tell(self) -> None:
        while True:
            with self._lock:
                status = self._last
                if status == self._sent:
                    self._sending = False
                    return
                self._sent = status
            self._send(Response(status=status))
