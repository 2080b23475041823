"""Times and weights of the console's pages: `python -m benchmarks.console [--releases N] [--visitors N]`."""

from __future__ import annotations

import argparse
import http
import http.client
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import duckdb

from tableveil.client import Client
from tableveil.document import read_policy
from tableveil.identity.secret import token_file
from tableveil.v1 import policy_pb2, worksheet_service_pb2
from tests.running import running

MOST_SECONDS = 0.150
MOST_BYTES = 200_000
PAGES = (
    "/releases",
    "/releases?state=approved",
    "/releases/1",
    "/releases/1/questions",
    "/approvals",
    "/jobs",
    "/jobs/1",
    "/tables",
    "/tables?schema=main",
    "/tables/upload",
    "/tables/one?schema=main&table=people",
    "/worksheets",
    "/worksheets/1",
    "/worksheets/1/policy",
    "/worksheets/1/release",
    "/server",
    "/server/audit",
)
_THINKING = 4.0
"""Seconds between two pages of a visitor, at most: they read."""

_SECONDS_TO_START = 60.0

_OWN = {"releases": ("number", "job"), "jobs": ("number",)}
_LEFT_OUT = {"release_samples", "release_sample_values", "release_persons", "release_erased_persons"}
"""By these, people are recognized: each copy would be compared with the job's."""

POLICY = """
source: {schema: main, table: people}
attributes:
  - {column: age, role: QUASI_IDENTIFIER, hierarchy: {intervals: {minimum: "0", maximum: "104", widths: ["5", "20"]}}}
  - {column: zip, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}
  - {column: illness, role: SENSITIVE}
rows_are_people: true
privacy_models: [{k_anonymity: {k: 5}}]
suppression_limit: "0.1"
release: {schema: main, name: released}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the times and the weights; times fail nothing, weights do."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=__doc__)
    parser.add_argument("--releases", type=int, default=10_000)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0, help="How long the visitors stay.")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="console-") as name:
        database = Path(name) / "house.duckdb"
        _fill(database, given.releases, given.tables)
        with (
            running("serve", "--database", str(database), "--address", "127.0.0.1:0") as service,
            running("console", "--service", service, "--address", f"127.0.0.1:{_free_port()}") as address,
            Client(service, token_file=token_file(database)) as client,
        ):
            people = policy_pb2.TableReference(schema="main", table="people")
            client.create_worksheet(worksheet_service_pb2.Worksheet(table=people))
            visitor = _Visitor.of(address, token_file(database).read_text().strip())
            print(f"{given.releases:,} releases, {given.tables:,} tables")
            heavy = _weights(visitor)
            _alone(visitor)
            _crowd(client, visitor, given.visitors, given.seconds)
    return 1 if heavy else 0


class _Busy(Exception):
    """The service has too much to do at the moment."""


@dataclass(frozen=True, slots=True)
class _Visitor:
    host: str
    port: int
    cookie: str

    @classmethod
    def of(cls, address: str, token: str) -> _Visitor:
        """Signed in by a token."""
        parts = urlsplit(address)
        assert parts.hostname is not None
        assert parts.port is not None
        connection = http.client.HTTPConnection(parts.hostname, parts.port)
        _wait_for(connection)
        form = urlencode({"token": token, "next": "/releases"})
        connection.request("POST", "/sign-in", form, {"content-type": "application/x-www-form-urlencoded"})
        cookie = (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]
        return cls(parts.hostname, parts.port, cookie)

    def get(self, path: str) -> tuple[float, bytes]:
        """The seconds that a page took, and its bytes."""
        connection = http.client.HTTPConnection(self.host, self.port)
        began = time.monotonic()
        connection.request("GET", path, headers={"cookie": self.cookie})
        answer = connection.getresponse()
        content = answer.read()
        took = time.monotonic() - began
        connection.close()
        if answer.status == http.HTTPStatus.SERVICE_UNAVAILABLE:
            raise _Busy
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status}")
        return took, content


def _free_port() -> int:
    """Free a moment ago."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
    return port


def _wait_for(connection: http.client.HTTPConnection) -> None:
    """It says its address before it listens."""
    deadline = time.monotonic() + _SECONDS_TO_START
    while True:
        try:
            connection.connect()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _weights(visitor: _Visitor) -> bool:
    """Prints the bytes and requests of each page with nothing in the cache; whether one is above the goal."""
    heavy = False
    for path in PAGES:
        _, page = visitor.get(path)
        parts = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page.decode()))
        parts |= set(re.findall(r'<iframe src="([^"]+)"', page.decode()))
        weight = len(page) + sum(len(visitor.get(part)[1]) for part in parts)
        heavy |= weight > MOST_BYTES
        print(f"  {path:<40} {weight:>8,} bytes in {1 + len(parts)} requests", flush=True)
    print(f"  goal: at most {MOST_BYTES:,} bytes: {'missed' if heavy else 'met'}")
    return heavy


def _alone(visitor: _Visitor, times: int = 7) -> None:
    slowest = 0.0
    for path in PAGES:
        took = statistics.median(visitor.get(path)[0] for _ in range(times))
        slowest = max(slowest, took)
        print(f"  {path:<40} {1000 * took:>6.0f} ms, alone", flush=True)
    print(f"  the slowest alone: {1000 * slowest:.0f} ms")


def _crowd(client: Client, visitor: _Visitor, visitors: int, seconds: float) -> None:
    """Visitors who read and click, beside a running job: the 95th percentile of all pages."""
    policy, faults = read_policy(POLICY.replace("people}", "many}").replace("released", "beside"), "yaml")
    assert not faults
    job = client.submit(policy)
    taken: defaultdict[str, list[float]] = defaultdict(list)
    refused: Counter[str] = Counter()
    until = time.monotonic() + seconds

    def visit(number: int) -> None:
        drawn = random.Random(number)
        time.sleep(drawn.uniform(0, _THINKING))
        while time.monotonic() < until:
            path = drawn.choice(PAGES)
            try:
                taken[path].append(visitor.get(path)[0])
            except _Busy:
                refused[path] += 1
            time.sleep(drawn.uniform(0, _THINKING))

    threads = [threading.Thread(target=visit, args=[number]) for number in range(visitors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = client.get_job(job.name).state
    everything = sorted(took for times in taken.values() for took in times)
    p95 = everything[int(0.95 * (len(everything) - 1))]
    slowest = max(taken, key=lambda path: statistics.median(taken[path]))
    print(
        f"  {visitors} visitors, {len(everything)} pages in {seconds:.0f} s beside a job (its state then: {state}): "
        f"median {1000 * statistics.median(everything):.0f} ms, p95 {1000 * p95:.0f} ms; goal: at most "
        f"{1000 * MOST_SECONDS:.0f} ms: {'met' if p95 <= MOST_SECONDS else 'missed'}; slowest page: {slowest}; "
        f"refused as too many at once: {dict(refused) or 'none'}"
    )


def _fill(database: Path, releases: int, tables: int) -> None:
    """A release that is made, and copies of its rows in the ledger; other tables are small."""
    with duckdb.connect(database) as connection:
        row = "20 + i % 60 AS age, lpad((i * 7 % 90)::VARCHAR, 5, '0') AS zip, 'illness ' || i % 5 AS illness"
        connection.execute(f"CREATE TABLE people AS SELECT {row} FROM range(2000) r(i)")
        connection.execute(f"CREATE TABLE many AS SELECT {row} FROM range(3000000) r(i)")
    policy = database.with_name("policy.yaml")
    policy.write_text(POLICY, encoding="utf-8")
    words = [sys.executable, "-m", "tableveil.cli", "run", str(policy), "--database", str(database)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    with duckdb.connect(database) as connection:
        for number in range(tables):
            connection.execute(f"CREATE TABLE table_{number} AS SELECT {number} AS id")
        names = [
            name
            for (name,) in connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'tableveil' "
                "AND (table_name LIKE 'release%' "
                "OR table_name LIKE 'job%' OR table_name IN ('guarantees', 'sensitive_distributions'))"
            ).fetchall()
        ]
        for name in sorted(set(names) - _LEFT_OUT):
            columns = [row[0] for row in connection.execute(f"DESCRIBE tableveil.{name}").fetchall()]
            keys = _OWN.get(name, tuple(key for key in ("release", "job") if key in columns))
            if not keys:
                continue
            moved = ", ".join(f"t.{key} + moved_by AS {key}" for key in keys)
            if name == "releases":
                moved += ", target_name || '_' || moved_by AS target_name"
            if name == "release_objects":
                moved += ", name || '_' || moved_by AS name"
            if name == "job_outcomes":
                moved += ", result + moved_by AS result"
            connection.execute(
                f"INSERT INTO tableveil.{name} SELECT t.* REPLACE ({moved}) FROM tableveil.{name} t, "
                f"range(1, {releases}) r(moved_by)"
            )
        # Without them the server would look for the rows of each copy while it is measured.
        connection.execute(
            "INSERT INTO tableveil.row_checksums SELECT number, 'none' FROM tableveil.releases "
            "WHERE number NOT IN (SELECT release FROM tableveil.row_checksums)"
        )
        for sequence in ("release_numbers", "job_numbers"):
            connection.execute(f"SELECT max(nextval('tableveil.{sequence}')) FROM range({releases})")


if __name__ == "__main__":
    sys.exit(main())
