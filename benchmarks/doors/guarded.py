"""A server with all its doors, on a small table, and a policy for small jobs on it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import duckdb

from benchmarks.operate.served import served
from tableveil.client import Client
from tableveil.document import read_policy
from tableveil.identity.secret import token_file
from tableveil.tls import issue_server, new_authority
from tableveil.v1 import policy_pb2

PEOPLE = 60

_POLICY = """
source: {table: people}
rows_are_people: true
attributes:
  - {column: age, role: QUASI_IDENTIFIER, hierarchy: {intervals: {minimum: "0", maximum: "99", widths: ["10", "50"]}}}
  - {column: sex, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}
privacy_models: [{k_anonymity: {k: 3}}]
suppression_limit: "0.1"
repeat_reason: a benchmark
release: {name: released}
"""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A running server, and the authority of its certificate."""

    pid: int
    address: str
    database: Path
    authority: Path

    def connect(self, token: str | None = None) -> Client:
        """A client with a token, or the one that may do everything."""
        file = token_file(self.database) if token is None else None
        return Client(self.address, token, token_file=file, ca_certificate=self.authority)


@contextmanager
def guarded() -> Iterator[Guarded]:
    """A server that speaks TLS, asks for tokens, and records all calls."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        database = directory / "guarded.duckdb"
        make_people(database)
        authority, certificate, key = (directory / f"{part}.pem" for part in ("authority", "certificate", "key"))
        ours = new_authority()
        issued = issue_server(ours, ["127.0.0.1"], timedelta(days=1))
        key.touch(mode=0o600)
        for path, text in ((authority, ours.certificate), (certificate, issued.certificate), (key, issued.key)):
            path.write_bytes(text)
        with served(database, "--tls-certificate", str(certificate), "--tls-key", str(key)) as server:
            yield Guarded(server.pid, server.address, database, authority)


def make_people(database: Path) -> None:
    """Creates the table."""
    with duckdb.connect(database) as connection:
        connection.execute(
            f"CREATE TABLE people AS SELECT 20 + i * 7 % 50 AS age, i % 2 AS sex FROM range({PEOPLE}) r(i)"
        )


def small_policy(number: int) -> policy_pb2.Policy:
    """A policy for a release of its own."""
    policy, faults = read_policy(_POLICY, "yaml")
    assert not faults, faults
    policy.release.name = f"released_{number}"
    return policy
