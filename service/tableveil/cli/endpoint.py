"""The command `endpoint`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from tableveil.cli.configuration import CONFIG
from tableveil.cli.output import Output
from tableveil.client import DEFAULT_ADDRESS
from tableveil.errors import InvalidError

_FILE = click.Path(path_type=Path, dir_okay=False)
_MIB = 2**20


def _count(name: str, default: int, help_: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(name, type=click.IntRange(min=1), default=default, show_default=True, help=help_)


@click.command()
@CONFIG
@click.option(
    "--published",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The directory of published releases.",
)
@click.option(
    "--service", default=DEFAULT_ADDRESS, show_default=True, metavar="ADDRESS", help="Where the service listens."
)
@click.option("--token-file", type=_FILE, help="The endpoint's own token, which needs the role endpoint.")
@click.option("--ca-certificate", type=_FILE, help="Ask the service by TLS: the authorities of its certificate.")
@click.option("--client-certificate", type=_FILE, help="The endpoint's certificate, for a service that needs one.")
@click.option("--client-key", type=_FILE, help="Its key.")
@click.option("--address", default="127.0.0.1:50652", show_default=True, help="Where to listen.")
@click.option("--allow-remote", is_flag=True, help="Allow an address that other machines reach; it needs TLS.")
@click.option("--plaintext", is_flag=True, help="Allow it without TLS, which a proxy in front of the endpoint ends.")
@click.option("--tls-certificate", type=_FILE, help="The endpoint's certificate in PEM; then it speaks TLS.")
@click.option("--tls-key", type=_FILE, help="The key of the certificate, which others must not be able to read.")
@click.option("--tls-client-ca", type=_FILE, help="Authorities whose certificate every client needs.")
@click.option("--audit-file", required=True, type=_FILE, help="Where each call is recorded.")
@_count("--queries", 8, "Queries that run at once.")
@_count("--queries-per-principal", 4, "Queries of a principal that run at once; as many may wait.")
@_count("--connections-per-principal", 32, "Connections of a principal that make calls within a minute.")
@_count("--calls-per-principal", 100, "Calls of a principal a second; those of five seconds may come at once.")
@_count("--query-memory", 1024, "MiB of memory that a query may take.")
@_count("--query-spill", 4096, "MiB of disk that a query may take beyond that.")
@_count("--query-threads", 2, "Threads of a query.")
@_count("--query-seconds", 300, "Seconds that a query may take, with the reading of its rows.")
@_count("--query-result", 16384, "MiB of rows that a query may have.")
@click.option(
    "--lenient",
    is_flag=True,
    help="Answer statements that sort, compare or average labels as texts; the schema has the hint.",
)
@click.option(
    "--metrics-address",
    metavar="HOST:PORT",
    help="Answer there to monitoring (/metrics) and to probes (/healthz, /readyz), without TLS or a token.",
)
@click.option(
    "--health-address",
    metavar="HOST:PORT",
    help="Answer there to checks of the health by gRPC, without TLS or a token.",
)
@click.option("--log-format", type=click.Choice(["console", "json"]), default="console", show_default=True)
def endpoint(
    published: Path,
    service: str,
    token_file: Path | None,
    ca_certificate: Path | None,
    client_certificate: Path | None,
    client_key: Path | None,
    address: str,
    allow_remote: bool,
    plaintext: bool,
    tls_certificate: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    audit_file: Path,
    queries: int,
    queries_per_principal: int,
    connections_per_principal: int,
    calls_per_principal: int,
    query_memory: int,
    query_spill: int,
    query_threads: int,
    query_seconds: int,
    query_result: int,
    lenient: bool,
    metrics_address: str | None,
    health_address: str | None,
    log_format: str,
) -> None:
    """Let analysts query published releases by Arrow Flight SQL, until Ctrl-C or SIGTERM.

    It never opens the database. Any number of endpoints may serve one directory.
    """
    from tableveil.endpoint.run import run_endpoint
    from tableveil.endpoint.settings import EndpointSettings, QueryLimits, UseLimits
    from tableveil.serving.address import Listening
    from tableveil.serving.settings import LogFormat
    from tableveil.serving.tls import TlsFiles

    with Output().reporting():
        tls = TlsFiles(tls_certificate, tls_key, tls_client_ca) if tls_certificate and tls_key else None
        if tls is None and (tls_certificate or tls_key or tls_client_ca):
            raise InvalidError.of("TLS_INCOMPLETE", "tls_certificate", "one file", "tls_certificate and tls_key")
        run_endpoint(
            EndpointSettings(
                published=published,
                service=service,
                listening=Listening((address,), allow_remote, plaintext, tls),
                audit_file=audit_file,
                token_file=token_file,
                ca_certificate=ca_certificate,
                client_certificate=client_certificate,
                client_key=client_key,
                limits=QueryLimits(
                    query_memory * _MIB, query_threads, query_spill * _MIB, float(query_seconds), query_result * _MIB
                ),
                use=UseLimits(queries, queries_per_principal, connections_per_principal, calls_per_principal),
                log_format=LogFormat(log_format),
                metrics_address=metrics_address,
                health_address=health_address,
                lenient=lenient,
            )
        )
