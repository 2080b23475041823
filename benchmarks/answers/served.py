"""An endpoint in a process of its own, with readers that it knows: `python -m benchmarks.answers.served DIRECTORY`."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql

from tableveil.endpoint.endpoint import Endpoint
from tableveil.endpoint.readers import Reader
from tableveil.endpoint.settings import EndpointSettings
from tableveil.identity import Credentials


class AnyReader:
    """A service that takes each token for the name of a principal, who may read all releases."""

    def reader(self, credentials: Credentials) -> Reader:
        """The reader; see `Service`."""
        return Reader(credentials.bearer or "", "TOKEN", frozenset(range(1, 1_001)))


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """The URI of an endpoint on what is published in the directory."""
    command = [sys.executable, "-m", "benchmarks.answers.served", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def connected(uri: str) -> flight_sql.Connection:
    """A connection to the endpoint."""
    return flight_sql.connect(
        uri, db_kwargs={"adbc.flight.sql.authorization_header": "Bearer analyst"}, autocommit=True
    )


def _serve(directory: Path) -> None:
    settings = EndpointSettings(
        published=directory / "published", service="", address="127.0.0.1:0", audit_file=directory / "audit.jsonl"
    )
    with closing(Endpoint(settings, AnyReader)) as endpoint:
        print(endpoint.uri, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
