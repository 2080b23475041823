"""Published releases as files, and an endpoint on them whose service is a table in memory."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import adbc_driver_flightsql.dbapi as flight_sql
import duckdb

from tableveil.endpoint.calls import hide_tracebacks
from tableveil.endpoint.endpoint import Endpoint
from tableveil.endpoint.readers import Reader, Service
from tableveil.endpoint.settings import EndpointSettings, QueryLimits, UseLimits
from tableveil.identity import Credentials
from tableveil.serving.tls import TlsFiles

LIMITS = QueryLimits(memory=256 * 2**20, threads=1, seconds=60.0)

DISCHARGES = (
    "SELECT ['[0, 40[', '[40, 90['][1 + (i > 30)::INT] AS age, 40 * (i > 30)::INT AS age_from, "
    "'ward ' || i % 3 AS ward, (i * 1.5)::DOUBLE AS charge, DATE '2024-01-01' + i::INT AS day, "
    "CASE WHEN i % 7 > 0 THEN i END AS stay FROM range(60) r(i)"
)


def publish(directory: Path, release: int, schema: str, tables: dict[str, str]) -> Path:
    """Writes the file of a release: each table of the schema is made by a query."""
    made = directory / f".releases-{release}.new"
    with duckdb.connect(made) as connection:
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"; CREATE SCHEMA tableveil')
        for name, query in tables.items():
            connection.execute(f'CREATE TABLE "{schema}"."{name}" AS {query}')
        connection.execute("CREATE TABLE tableveil.release AS SELECT ? AS number", [release])
    made.chmod(0o440)
    return made.rename(directory / f"releases-{release}.duckdb")


class KnownReaders:
    """A service that knows readers by their tokens, and by names in certificates."""

    def __init__(self, **releases: set[int]) -> None:
        self.releases = releases
        self.withdrawn: dict[str, tuple[tuple[str, str, str], ...]] = {}
        self.asked: list[Credentials] = []

    def reader(self, credentials: Credentials) -> Reader:
        self.asked.append(credentials)
        name = credentials.bearer or next((n.partition(":")[2] for n in credentials.certificate_names), "")
        if name not in self.releases:
            return Reader("", "", frozenset())
        return Reader(name, "TOKEN", frozenset(self.releases[name]), self.withdrawn.get(name, ()))


@contextmanager
def serving(
    directory: Path,
    service: Service,
    limits: QueryLimits = LIMITS,
    use: UseLimits | None = None,
    tls: TlsFiles | None = None,
    **more: Any,
) -> Iterator[Endpoint]:
    """An endpoint on the directory `published`; its audit is beside that, named after the service's readers."""
    settings = EndpointSettings(
        published=directory / "published",
        service="none",
        address="127.0.0.1:0",
        audit_file=directory / f"{id(service)}.audit.jsonl",
        limits=limits,
        use=use or UseLimits(),
        tls_certificate=tls.certificate if tls else None,
        tls_key=tls.key if tls else None,
        **more,
    )
    with closing(Endpoint(settings, lambda: service)) as endpoint:
        # As in a process of its own; one of a test may stand beside one of its module.
        hidden = "tracebacklimit" in sys.__dict__
        hide_tracebacks()
        try:
            yield endpoint
        finally:
            if not hidden:
                del sys.tracebacklimit


def connected(endpoint: Endpoint, who: str = "ann", **options: str) -> flight_sql.Connection:
    """A connection of a principal, by a token."""
    header = {"adbc.flight.sql.authorization_header": f"Bearer {who}"} if who else {}
    return flight_sql.connect(endpoint.uri, db_kwargs={**header, **options}, autocommit=True)
