"""The health of an endpoint by gRPC, at an address of its own: Flight's server takes no other service beside it."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tableveil.serving.front import Front, Passages

READY = "arrow.flight.protocol.FlightService"
"""The service whose health says whether queries can be answered; the empty name says that the endpoint lives."""

_SECONDS_BETWEEN_LOOKS = 2.0
_SECONDS_TO_START = 30.0

# Nobody is known here: a call that is never sent whole holds next to nothing, and no thread.
_OPTIONS = (
    ("grpc.max_receive_message_length", 2**10),
    ("grpc.max_concurrent_streams", 4),
    ("grpc.max_metadata_size", 2**12),
    ("grpc.absolute_max_metadata_size", 2**13),
)

Response = health_pb2.HealthCheckResponse


class HealthAddress:
    """Answers checks of the health; close it when done."""

    def __init__(self, host: str, port: int, ready: Callable[[], bool]) -> None:
        """Listens, at any port if that is 0. `ready` may wait: it is asked in a thread of its own, now and then.

        Raises:
            OSError: this machine cannot listen there.
        """
        self._health = _Health()
        self._loop = asyncio.new_event_loop()
        self._closed = threading.Event()
        self._serving = threading.Thread(target=self._loop.run_forever, name="tableveil-health", daemon=True)
        self._looking = threading.Thread(target=self._look, args=(ready,), name="tableveil-health-look", daemon=True)
        self._serving.start()
        self._server, inner = self._done(self._started())
        try:
            self._front = Front(host, port, inner, Passages())
        except OSError:
            self._end()
            raise
        self.port = self._front.port
        self._looking.start()

    def close(self) -> None:
        """Listens no more."""
        self._front.close()
        self._end()
        self._looking.join(_SECONDS_TO_START)

    def _end(self) -> None:
        self._closed.set()
        self._done(self._server.stop(None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._serving.join(_SECONDS_TO_START)
        self._loop.close()

    def _done(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS_TO_START)

    def _look(self, ready: Callable[[], bool]) -> None:
        while True:
            self._health.ready = ready()
            if self._closed.wait(_SECONDS_BETWEEN_LOOKS):
                return

    async def _started(self) -> tuple[grpc.aio.Server, int]:
        server = grpc.aio.server(options=_OPTIONS)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        return server, port


class _Health(health_pb2_grpc.HealthServicer):
    """It lives while it answers."""

    ready = False

    async def Check(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> Response:
        """The status of the endpoint, or of its queries."""
        if request.service not in ("", READY):
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there are '' and {READY}")
        alive = self.ready or not request.service
        return Response(status=Response.SERVING if alive else Response.NOT_SERVING)

    async def Watch(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> None:
        """Nothing: a probe asks again, and a stream would stay open for strangers."""
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "ask by Check, again and again")
