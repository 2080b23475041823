"""An endpoint: it listens, asks the service about its callers, and serves the published directory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tableveil.audit import Recorder
from tableveil.endpoint.calls import Calls
from tableveil.endpoint.credentials import CREDENTIALS, CredentialFactory, SignIn
from tableveil.endpoint.flight_server import FlightSql
from tableveil.endpoint.places import Places
from tableveil.endpoint.published import Published
from tableveil.endpoint.query_processes import QueryProcesses
from tableveil.endpoint.readers import Readers, RemoteService, Service
from tableveil.endpoint.settings import EndpointSettings
from tableveil.errors import BusyError
from tableveil.server.tls import TlsFiles
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
            published = Published(settings.published, processes)
            known = service() if service else opened.enter_context(_remote(settings))
            calls = Calls(Readers(known, published.stamp), recorder, settings.use)
            self._flight = _listening(settings, calls, published, processes)
            self._processes = processes
            self._opened = opened.pop_all()
        host = settings.listening.addresses[0].rpartition(":")[0]
        self.address = f"{host}:{self._flight.port}"
        scheme = "grpc+tls" if settings.listening.tls else "grpc"
        self.uri = f"{scheme}://{self.address}"

    @property
    def running(self) -> int:
        """How many queries run."""
        return self._processes.running

    def close(self) -> None:
        """Ends the queries that run, and then the rest."""
        self._opened.close()
        self._flight.shutdown()


def _remote(settings: EndpointSettings) -> RemoteService:
    return RemoteService(
        settings.service,
        token_file=settings.token_file,
        ca_certificate=settings.ca_certificate,
        client_certificate=settings.client_certificate,
        client_key=settings.client_key,
    )


def _listening(settings: EndpointSettings, calls: Calls, published: Published, processes: QueryProcesses) -> FlightSql:
    listening = settings.listening
    address, tls = listening.addresses[0], listening.tls
    transport: dict[str, Any] = {"middleware": {CREDENTIALS: CredentialFactory()}}
    if tls is None or tls.client_ca is None:
        # With it, Flight would not tell the name in a client's certificate.
        transport["auth_handler"] = SignIn()
    try:
        transport |= {"location": f"grpc{'+tls' * (tls is not None)}://{address}", **_tls(tls)}
        return FlightSql(calls, published, processes, Places(settings.use), settings.limits, transport)
    except OSError:
        found, expected = f"{address}, where the endpoint cannot listen", "an address of this machine that is free"
        raise BusyError.of("ADDRESS_IN_USE", "address", found, expected) from None


def _tls(files: TlsFiles | None) -> dict[str, Any]:
    if files is None:
        return {}
    pair = read_pair(files.certificate, files.key, "tls")
    found: dict[str, Any] = {"tls_certificates": [(pair.certificate, pair.key)]}
    if files.client_ca is not None:
        authorities = read_authorities(files.client_ca, "tls_client_ca")
        found |= {"verify_client": True, "root_certificates": authorities}
    return found
