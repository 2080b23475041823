"""An endpoint in a process of its own, with readers that it knows: `python -m benchmarks.sql.served DIRECTORY`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
import duckdb

from benchmarks.sql.random_selects import TABLE, rows_of
from tableveil.endpoint.endpoint import Endpoint
from tableveil.endpoint.readers import Reader
from tableveil.endpoint.settings import EndpointSettings
from tableveil.identity import Credentials
from tableveil.serving.tls import TlsFiles
from tableveil.tls import issue_server, new_authority

FILE = "releases-1.duckdb"


class AnyReader:
    """A service that takes each token for the name of a principal, who may read all releases."""

    def reader(self, credentials: Credentials) -> Reader:
        """The reader; see `Service`."""
        return Reader(credentials.bearer or "", "TOKEN", frozenset(range(1, 1_001)))


def publish(directory: Path, rows: int) -> Path:
    """Writes a release of so many rows."""
    published = directory / "published"
    published.mkdir()
    with duckdb.connect(published / FILE) as connection:
        connection.execute(f"CREATE TABLE {TABLE} AS {rows_of(rows)}; CREATE SCHEMA tableveil")
    return published / FILE


@contextmanager
def served(directory: Path, *, tls: bool = False) -> Iterator[str]:
    """The URI of an endpoint on the release in the directory."""
    with running("benchmarks.sql.served", directory, tls=tls) as uri:
        yield uri


@contextmanager
def running(module: str, directory: Path, *, tls: bool) -> Iterator[str]:
    """The URI that a server prints, which is a module in a process of its own."""
    command = [sys.executable, "-m", module, str(directory), *["tls"] * tls]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def connected(uri: str, directory: Path, who: str = "analyst") -> flight_sql.Connection:
    """A connection to the endpoint."""
    options = {"adbc.flight.sql.authorization_header": f"Bearer {who}"}
    if uri.startswith("grpc+tls"):
        options["adbc.flight.sql.client_option.tls_root_certs"] = (directory / "ca.pem").read_text()
    return flight_sql.connect(uri, db_kwargs=options, autocommit=True)


def certified(directory: Path) -> TlsFiles:
    """Writes a certificate of this machine, and that of its authority, `ca.pem`."""
    authority = new_authority()
    pair = issue_server(authority, ["127.0.0.1"], timedelta(days=1))
    files = TlsFiles(directory / "server.pem", directory / "server-key.pem")
    (directory / "ca.pem").write_bytes(authority.certificate)
    files.certificate.write_bytes(pair.certificate)
    files.key.touch(0o600)
    files.key.write_bytes(pair.key)
    return files


def _serve(directory: Path, tls: bool) -> None:
    files = certified(directory) if tls else None
    settings = EndpointSettings(
        published=directory / "published",
        service="",
        address="127.0.0.1:0",
        audit_file=directory / f"audit-{tls}.jsonl",
        tls_certificate=files.certificate if files else None,
        tls_key=files.key if files else None,
    )
    with closing(Endpoint(settings, AnyReader)) as endpoint:
        print(endpoint.uri, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), tls="tls" in sys.argv[2:])
