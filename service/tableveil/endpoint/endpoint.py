"""An endpoint: it listens, asks the service about its callers, and serves the published directory."""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tableveil.audit import Recorder
from tableveil.endpoint.calls import HEADERS, Calls, HeadersFactory, SignIn, hide_tracebacks
from tableveil.endpoint.flight_server import METHODS, FlightSql
from tableveil.endpoint.published import Published
from tableveil.endpoint.query_processes import QueryProcesses
from tableveil.endpoint.readers import Readers, RemoteService, Service
from tableveil.endpoint.running import RunningQueries
from tableveil.endpoint.settings import EndpointSettings
from tableveil.errors import BusyError
from tableveil.metrics import Metrics
from tableveil.serving.address import listening_for_probes
from tableveil.serving.front import Front, Passages
from tableveil.serving.health import HealthAddress
from tableveil.serving.log import configure_log
from tableveil.serving.metrics import listen_for_metrics
from tableveil.serving.signals import on_signals
from tableveil.serving.tls import TlsFiles
from tableveil.serving.version import installed_version
from tableveil.tls import read_authorities, read_pair

logger = logging.getLogger("tableveil.endpoint")


class Endpoint:
    """A running endpoint; close it when done."""

    def __init__(self, settings: EndpointSettings, service: Callable[[], Service] | None = None) -> None:
        """Listens and answers.

        Raises:
            TableveilError: a setting is invalid, a file cannot be used, or the address is taken.
        """
        settings.check()
        with ExitStack() as opened:
            recorder = Recorder(settings.audit_file)
            recorder.start()
            opened.callback(recorder.close)
            processes = QueryProcesses(settings.limits)
            opened.callback(processes.close)
            published = self._published = Published(settings.published, processes)
            read_readers = service() if service else opened.enter_context(_remote(settings))
            readers = Readers(read_readers, published.stamp)
            queries = RunningQueries(readers, settings.use)
            opened.callback(queries.close)
            metrics = Metrics(METHODS, installed_version())
            self._readers, self._closing = readers, False
            passages = self._passages = Passages()
            calls = Calls(readers, recorder, settings.use, metrics, passages)
            transport = _transport(settings.listening.tls)
            self._flight = FlightSql(calls, published, processes, queries, settings, transport)
            host = settings.listening.addresses[0].rpartition(":")[0]
            self._front = _listening(settings, self._flight, passages)
            self.metrics_address = None
            if settings.metrics_address:
                watch_endpoint(metrics, self._is_ready, lambda: processes.running, settings.use.queries)
                self.metrics_address = listen_for_metrics(settings.metrics_address, metrics, self._is_ready)
                opened.callback(self.metrics_address.close)
            self.health_address = None
            if settings.health_address:
                with listening_for_probes(settings.health_address, "health_address") as place:
                    self.health_address = HealthAddress(*place, self._is_ready)
                opened.callback(self.health_address.close)
            self.processes = processes
            self._opened = opened.pop_all()
        self.address = f"{host}:{self._front.port}"
        self.uri = f"grpc{'+tls' if settings.listening.tls else ''}://{self.address}"

    def _is_ready(self) -> bool:
        """Whether the endpoint takes calls, the directory is there, and the service answers."""
        return not self._closing and self._published.directory.is_dir() and self._readers.answers()

    def close(self) -> None:
        """Ends the queries that run, and then the rest."""
        self._closing = True
        self._opened.close()
        self._flight.shutdown()
        self._front.close()


def _remote(settings: EndpointSettings) -> RemoteService:
    files = ("token_file", "ca_certificate", "client_certificate", "client_key")
    return RemoteService(settings.service, **{name: getattr(settings, name) for name in files})


def _transport(tls: TlsFiles | None) -> dict[str, Any]:
    options: dict[str, Any] = {"middleware": {HEADERS: HeadersFactory()}}
    if tls is None or tls.client_ca is None:
        # With it, Flight would not tell the name in a client's certificate.
        options["auth_handler"] = SignIn()
    else:
        options |= {"verify_client": True, "root_certificates": read_authorities(tls.client_ca, "tls_client_ca")}
    if tls is not None:
        pair = read_pair(tls.certificate, tls.key, "tls")
        options["tls_certificates"] = [(pair.certificate, pair.key)]
    return {**options, "location": f"grpc{'+tls' * (tls is not None)}://127.0.0.1:0"}


def _listening(settings: EndpointSettings, inner: FlightSql, passages: Passages) -> Front:
    address = settings.listening.addresses[0]
    host, _, port = address.rpartition(":")
    try:
        return Front(host, int(port), inner.port, passages)
    except OSError:
        inner.shutdown()
        actual, expected = f"{address}, where the endpoint cannot listen", "an address of this machine that is free"
        raise BusyError.of("ADDRESS_IN_USE", "address", actual, expected) from None


def watch_endpoint(metrics: Metrics, ready: Callable[[], bool], running: Callable[[], int], limit: int) -> None:
    """Lets the metrics ask for what nobody counts."""
    metrics.watch("tableveil_ready", "Whether it takes calls: 1 or 0.", ready)
    metrics.watch("tableveil_running_queries", "Queries that run.", running)
    metrics.watch("tableveil_queries_limit", "Queries that may run at once.", lambda: limit)


_WAKING_SECONDS = 0.5


def run_endpoint(settings: EndpointSettings) -> None:
    """Serves until SIGTERM or SIGINT; call it in the main thread.

    One line on standard output says when it is ready, with the port it listens on. The log goes to standard error. A
    second signal ends the process at once.

    Raises:
        TableveilError: a setting is invalid, or the address cannot be used.
    """
    configure_log(settings.log_format)
    os.umask(0o077)
    hide_tracebacks()
    stop = threading.Event()
    with on_signals(stop):
        endpoint = Endpoint(settings)
        print(f"Tableveil {installed_version()} answers queries on {endpoint.uri}", flush=True)
        # Another thread may have got the signal: this one, in which Python handles it, has to wake up by itself.
        while not stop.wait(_WAKING_SECONDS):
            pass
        logger.info("stopping")
        endpoint.close()
    logger.info("stopped")
