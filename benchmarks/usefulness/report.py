"""The report of a release beside its utility report, and its size with many columns."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import duckdb

from benchmarks.discharges import SEED, TABLE, demo_policy
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.cli.own_server import client_of_own_server
from tableveil.client import Client
from tableveil.convert import policy_to_proto
from tableveil.demo import create_discharges
from tableveil.v1 import policy_pb2
from tableveil.v1.utility_service_pb2 import SubmitUtilityReportRequest, UtilityRequest

MOST_TIMES, MOST_BYTES, COLUMNS, ROWS_OF_MANY_COLUMNS = 1.5, 2 * 10**6, 60, 20_000

T = TypeVar("T")


def report(rows: int) -> Section:
    """The report of a release of so many rows, and of one with many columns."""
    with tempfile.TemporaryDirectory(prefix="tableveil-bench-") as directory:
        path = Path(directory) / "bench.duckdb"
        with duckdb.connect(str(path)) as connection:
            create_discharges(connection, TABLE, rows, SEED)
            named = ", ".join(f"(hash(i, {c}) % {c + 2})::INTEGER AS column_{c}" for c in range(COLUMNS))
            connection.execute(f"CREATE TABLE many AS SELECT {named} FROM range({ROWS_OF_MANY_COLUMNS}) r(i)")
        with client_of_own_server(path) as client:
            client.wait(client.submit(policy_to_proto(demo_policy())).name)
            of_utility, _ = _timed(lambda: _utility(client, "releases/1"))
            first, document = _timed(lambda: client.get_report("1"))
            again, _ = _timed(lambda: client.get_report("1"))
            client.wait(client.submit(_many()).name)
            _utility(client, "releases/2")
            wide, of_many = _timed(lambda: client.get_report("2"))
    sizes = len(document.content), len(of_many.content)
    in_time = verdict(first <= MOST_TIMES * of_utility)
    measured = [
        ("utility report, s", f"{of_utility:.1f}", ""),
        (
            "report, the first with the checksum of the rows, s",
            f"{first:.1f}",
            in_time,
        ),
        ("report once more, s", f"{again:.2f}", ""),
        (f"report of {COLUMNS} columns, s", f"{wide:.2f}", ""),
        ("size, kB", f"{sizes[0] / 1000:.0f}", verdict(sizes[0] <= MOST_BYTES)),
        (f"size of {COLUMNS} columns, kB", f"{sizes[1] / 1000:.0f}", verdict(sizes[1] <= MOST_BYTES)),
    ]
    goal = f"Goals: at most {MOST_TIMES} times the utility report of the release of {rows:,} records, and 2 MB."
    return Section("Reports", (goal, table(("", "measured", "goal"), measured)), max(sizes) <= MOST_BYTES)


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def _utility(client: Client, release: str) -> None:
    asked = SubmitUtilityReportRequest(utility=UtilityRequest(release=release))
    client.wait(client.submit_analysis(asked).name)


def _many() -> policy_pb2.Policy:
    """Eight quasi-identifiers, and all other columns as they are."""
    policy = policy_pb2.Policy(rows_are_people=True, suppression_limit="1", default_role=policy_pb2.ROLE_SENSITIVE)
    policy.source.table, policy.release.name = "many", "many_released"
    for column in range(8):
        attribute = policy.attributes.add(column=f"column_{column}", role=policy_pb2.ROLE_QUASI_IDENTIFIER)
        attribute.hierarchy.suppression_only.SetInParent()
    policy.privacy_models.add().k_anonymity.k = 5
    return policy
