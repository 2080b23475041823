"""The endpoint: the services on one port, with health and reflection, and threads enough for all of them."""

import logging
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from tableveil.runtime import JobManager
from tableveil.server.access_control import AccessControl
from tableveil.server.handlers import Handlers
from tableveil.server.health import Health
from tableveil.server.idle import IdleStreams
from tableveil.server.interceptor import CallInterceptor
from tableveil.server.limited import Slots
from tableveil.server.servicer_parts import ServicerParts
from tableveil.server.services import DESCRIPTORS, NAMES, add_services
from tableveil.server.stores import Stores
from tableveil.serving import settings
from tableveil.serving.address import Listening

logger = logging.getLogger("tableveil.server")

_OPTIONS = (
    ("grpc.max_receive_message_length", settings.LARGEST_MESSAGE),
    ("grpc.max_concurrent_streams", settings.STREAMS_PER_CONNECTION),
    ("grpc.http.overload_protection", 0),
    # A call sends as much before its caller is let in. Otherwise gRPC lets it be more for who sends fast.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 64 * 2**10),
    # A provider's token lists groups, up to 16 KiB. Between the two limits gRPC refuses by chance, from 8 KiB on unless
    # told otherwise.
    ("grpc.max_metadata_size", 24 * 2**10),
    ("grpc.absolute_max_metadata_size", 32 * 2**10),
    # Streams that are reset at once wait here, for 4 s at most. From 1,000 on, gRPC would refuse others by chance.
    ("grpc.server.max_pending_requests", 10_000),
    ("grpc.server.max_pending_requests_hard_limit", 12_000),
    # Otherwise a second server would silently share the port, and calls would go to either.
    ("grpc.so_reuseport", 0),
    # A watcher whose machine vanished is noticed within 80 seconds.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Clients may ask for signs of life as often as every 10 seconds.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)


class ServerEndpoint:
    """Listens from the start, answers after `start`."""

    def __init__(
        self,
        jobs: JobManager,
        stores: Stores,
        access_control: AccessControl,
        listening: Listening,
        stream_limit: int,
        idle_seconds: float = settings.STREAM_IDLE_SECONDS,
    ) -> None:
        """Listens, as `Listening.bind` does; it was checked."""
        # Streams cannot take all threads, so unary calls and health checks find one at any time.
        self._threads = ThreadPoolExecutor(
            stream_limit + settings.RESERVED_THREADS, thread_name_prefix="tableveil-call"
        )
        streams = Slots(stream_limit, "open streams")
        self._idle = IdleStreams(idle_seconds)
        self._interceptor = CallInterceptor(access_control, streams, self._idle)
        server = grpc.server(
            self._threads,
            interceptors=[self._interceptor],
            options=(*_OPTIONS, ("grpc.max_allowed_incoming_connections", _most_connections(listening))),
            maximum_concurrent_rpcs=settings.MOST_CALLS,
        )
        self._server = server
        try:
            self.addresses, self.certificates = listening.bind(server)
        except BaseException:
            self._threads.shutdown()
            self._interceptor.close()
            self._idle.close()
            raise
        handlers = Handlers(server, DESCRIPTORS)
        server = cast(grpc.Server, handlers)
        parts = ServicerParts(
            jobs,
            stores,
            access_control,
            handlers,
            checks=Slots(settings.CHECKS_AT_ONCE, "running checks"),
            uploads=Slots(settings.UPLOADS_AT_ONCE, "running uploads"),
            reports=Slots(settings.REPORTS_AT_ONCE, "reports in the making"),
            loads=Slots(settings.LOADS_AT_ONCE, "running loads"),
        )
        add_services(parts, server)
        self.ready = False
        self._health = Health()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection((*NAMES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)

    def start(self) -> None:
        """Begins to answer: alive (health without a service) and ready (health of every service)."""
        self._health.set(NAMES, health_pb2.HealthCheckResponse.SERVING)
        self.ready = True
        self._server.start()

    def retire(self) -> None:
        """Reports that the server is not ready for more; it is alive, and calls are still answered."""
        self.ready = False
        self._health.set(NAMES, health_pb2.HealthCheckResponse.NOT_SERVING)

    def stop(self, grace_seconds: float) -> bool:
        """Takes no more calls, ends those that run after the grace, and returns whether their threads are done."""
        self._server.stop(grace_seconds).wait(grace_seconds + 1.0)
        self._interceptor.close()
        self._idle.close()
        # A call may hang in the database; stopping must not.
        waiting = threading.Thread(target=self._threads.shutdown, daemon=True)
        waiting.start()
        waiting.join(1.0)
        if waiting.is_alive():
            logger.warning("some calls did not end in time")
        return not waiting.is_alive()


def _most_connections(listening: Listening) -> int:
    """The connections that each address takes: gRPC closes those beyond them, which anybody may open, at once."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        files = 2**20
    return max(1, int(files * settings.FILES_FOR_CONNECTIONS) // len(listening.addresses))
