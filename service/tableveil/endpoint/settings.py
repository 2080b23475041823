"""The operator's settings of an endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tableveil.errors import Fault, InvalidError, shortened
from tableveil.serving.address import Listening, check_probed_address
from tableveil.serving.settings import LogFormat


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The limits of each query: memory and disk in bytes, threads, seconds, and bytes of the result."""

    memory: int = 2**30
    threads: int = 2
    spill: int = 4 * 2**30
    seconds: float = 300.0
    result: int = 16 * 2**30


@dataclass(frozen=True, slots=True)
class UseLimits:
    """The queries that run at once, of all principals and of each, and the calls and connections of each.

    As many queries of a principal as may run may wait beside those.
    """

    queries: int = 8
    queries_per_principal: int = 4
    connections_per_principal: int = 32
    calls_per_principal: int = 100


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """The options of `tableveil endpoint`.

    `published` is a directory of files of releases. `service` is the address of the service, and the files after it are
    those by which the endpoint proves who it is, and knows the service. `lenient` endpoints answer statements that take
    labels for values.
    """

    published: Path
    service: str
    listening: Listening
    audit_file: Path
    token_file: Path | None = None
    ca_certificate: Path | None = None
    client_certificate: Path | None = None
    client_key: Path | None = None
    limits: QueryLimits = QueryLimits()
    use: UseLimits = UseLimits()
    log_format: LogFormat = LogFormat.CONSOLE
    metrics_address: str | None = None
    health_address: str | None = None
    lenient: bool = False

    def check(self) -> None:
        """Raises `InvalidError` for what can be known before the endpoint listens."""
        if not self.published.is_dir():
            actual = shortened(str(self.published))
            raise InvalidError.of(
                "DIRECTORY_INVALID", "published", actual, "an existing directory of published releases"
            )
        if len(self.listening.addresses) != 1 or self.listening.addresses[0].startswith(("unix:", "tls:")):
            fault = Fault("address", ", ".join(map(shortened, self.listening.addresses)), "one host:port")
            raise InvalidError.about("ADDRESS_INVALID", "the address is invalid", [fault])
        self.listening.check()
        for field, address in (("metrics_address", self.metrics_address), ("health_address", self.health_address)):
            if address:
                check_probed_address(address, field, self.listening.allow_remote)
