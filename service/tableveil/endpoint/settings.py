"""The operator's settings of an endpoint."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tableveil.errors import Fault, InvalidError, shortened
from tableveil.serving.address import DEFAULT_ADDRESS, Listening, check_probed_address
from tableveil.serving.setting import Setting
from tableveil.serving.settings import LogFormat
from tableveil.serving.tls import TlsFiles

_MIB = 2**20
_File = Path | None


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The limits of each query: memory and disk in bytes, threads, seconds, and bytes of the result."""

    memory: Annotated[int, Setting("MiB of memory that a query may take.", "query_memory", unit=_MIB)] = 2**30
    spill: Annotated[int, Setting("MiB of disk that a query may take beyond that.", "query_spill", unit=_MIB)] = 2**32
    threads: Annotated[int, Setting("Threads of a query.", "query_threads")] = 2
    seconds: Annotated[
        float, Setting("Seconds that a query may take, with the reading of its rows.", "query_seconds")
    ] = 300.0
    result: Annotated[int, Setting("MiB of rows that a query may have.", "query_result", unit=_MIB)] = 2**34


@dataclass(frozen=True, slots=True)
class UseLimits:
    """The queries that run at once, of all principals and of each, and the calls and connections of each."""

    queries: Annotated[int, Setting("Queries that run at once.")] = 8
    queries_per_principal: Annotated[int, Setting("Queries of a principal that run at once; as many may wait.")] = 4
    connections_per_principal: Annotated[int, Setting("Open connections of a principal.")] = 32
    calls_per_principal: Annotated[
        int, Setting("Calls of a principal a second; those of five seconds may come at once.")
    ] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """The options of `tableveil endpoint`: the command is made of them."""

    published: Annotated[Path, Setting("The directory of published releases.", is_directory=True)]
    service: Annotated[str, Setting("Where the service listens.", metavar="ADDRESS")] = DEFAULT_ADDRESS
    token_file: Annotated[_File, Setting("The endpoint's own token, which needs the role endpoint.")] = None
    ca_certificate: Annotated[_File, Setting("Ask the service by TLS: the authorities of its certificate.")] = None
    client_certificate: Annotated[_File, Setting("The endpoint's certificate, for a service that needs one.")] = None
    client_key: Annotated[_File, Setting("Its key.")] = None
    address: Annotated[str, Setting("Where to listen.")] = "127.0.0.1:50652"
    allow_remote: Annotated[bool, Setting("Allow an address that other machines reach; it needs TLS.")] = False
    plaintext: Annotated[bool, Setting("Allow it without TLS, which a proxy in front of the endpoint ends.")] = False
    tls_certificate: Annotated[_File, Setting("The endpoint's certificate in PEM; then it speaks TLS.")] = None
    tls_key: Annotated[_File, Setting("The key of the certificate, which others must not be able to read.")] = None
    tls_client_ca: Annotated[_File, Setting("Authorities whose certificate every client needs.")] = None
    audit_file: Annotated[Path, Setting("Where each call is recorded.")]
    use: UseLimits = UseLimits()
    limits: QueryLimits = QueryLimits()
    lenient: Annotated[
        bool, Setting("Answer statements that sort, compare or average labels as texts; the schema has the hint.")
    ] = False
    metrics_address: Annotated[
        str | None,
        Setting(
            "Answer there to monitoring (/metrics) and to probes (/healthz, /readyz), without TLS or a token.",
            metavar="HOST:PORT",
        ),
    ] = None
    health_address: Annotated[
        str | None,
        Setting("Answer there to checks of the health by gRPC, without TLS or a token.", metavar="HOST:PORT"),
    ] = None
    log_format: Annotated[LogFormat, Setting("")] = LogFormat.CONSOLE

    @property
    def listening(self) -> Listening:
        """Where the endpoint listens."""
        tls = None
        if self.tls_certificate and self.tls_key:
            tls = TlsFiles(self.tls_certificate, self.tls_key, self.tls_client_ca)
        return Listening((self.address,), self.allow_remote, self.plaintext, tls)

    def check(self) -> None:
        """Raises `InvalidError` for what can be known before the endpoint listens."""
        if not self.published.is_dir():
            path = shortened(str(self.published))
            raise InvalidError.of("DIRECTORY_INVALID", "published", path, "an existing directory of published releases")
        if self.address.startswith(("unix:", "tls:")):
            fault = Fault("address", shortened(self.address), "one host:port")
            raise InvalidError.about("ADDRESS_INVALID", "the address is invalid", [fault])
        if self.listening.tls is None and (self.tls_certificate or self.tls_key or self.tls_client_ca):
            raise InvalidError.of("TLS_INCOMPLETE", "tls_certificate", "one file", "tls_certificate and tls_key")
        self.listening.check()
        for field, address in (("metrics_address", self.metrics_address), ("health_address", self.health_address)):
            if address:
                check_probed_address(address, field, self.allow_remote)
