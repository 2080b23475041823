"""Section: how far local recoding goes beyond its time limit, and how long checks and jobs take over Spark."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from math import inf
from pathlib import Path

import duckdb

from benchmarks.discharges import CACHE, demo_policy, discharges
from benchmarks.markdown import table
from benchmarks.scale.lake import MOST_COLLECTED, in_lake
from benchmarks.scale.visits import TABLE, policy, visits
from benchmarks.section import Section, verdict
from benchmarks.service import TARGET, LocalService
from tableveil.errors import InvalidError
from tableveil.policy import Policy, SearchOptions
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.spark import SparkWarehouse
from tableveil.spark.local import LocalServer

TITLE = "Time limits, and checks and jobs over a lake"
ROWS = 100_000
LIMITS: Sequence[int | None] = (12, None)
MOST_SHARE, MOST_SECONDS = 0.05, 1.0
LAKE_ROWS = 1_000_000

BESIDE = "job in DuckDB"
BEFORE = {
    "local recoding, limit 12 s": "16",
    "local recoding, no limit stated": "more than 521: cancelled, and its best was lost",
    "check of a policy over Spark": "83 (6.5 x)",
    "job over Spark": "154 (12.1 x)",
    BESIDE: "12.7",
}
"""Issue 29's."""

MOST_TIMES = {"check of a policy over Spark": 3.3, "job over Spark": 6.1}
"""Half of what it was, beside the job in DuckDB."""

Row = tuple[str, float | None]


def limits(rows: int = ROWS, seconds: Sequence[int | None] = LIMITS, lake_rows: int = LAKE_ROWS) -> Section:
    """Recodes the demo's table locally within each limit, then checks and releases a table in a local Spark."""
    CACHE.mkdir(exist_ok=True)
    recoded: list[Row] = []
    held = True
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        copied = Path(folder, "demo.duckdb")
        shutil.copy(discharges(rows), copied)
        with LocalService(copied) as service:
            for limit in seconds:
                taken = _recoded(service, limit)
                most = (limit or SearchOptions().seconds) * (1 + MOST_SHARE) + MOST_SECONDS
                held = held and taken is not None and taken <= most
                recoded.append((f"local recoding, {f'limit {limit} s' if limit else 'no limit stated'}", taken))
        lake, remark = _in_lake(Path(folder), lake_rows)
    taken_in_lake = dict(lake)
    beside = taken_in_lake.get(BESIDE)
    cells = [[name, _told(taken, None), BEFORE.get(name, "")] for name, taken in recoded]
    cells += [[name, _told(taken, beside), BEFORE.get(name, "")] for name, taken in lake]
    if beside:
        halved = all((taken_in_lake[name] or inf) <= most * beside for name, most in MOST_TIMES.items())
        remark = f" Checks and jobs over Spark take half, beside the job in DuckDB: {verdict(halved)}."
    return Section(
        TITLE,
        (
            f"The demo's policy with `local_recoding` on {rows:,} rows: seconds of the search. A policy of "
            f"{lake_rows:,} visits: its check, one more and its job over Spark on two local cores, and the job on the "
            f"same rows in DuckDB; in brackets, times that job. Before, the jobs had {LAKE_ROWS:,} rows.",
            table(("", "seconds", "before"), cells),
            f"Limits hold within 5 % and a second: {verdict(held)}.{remark}",
        ),
        sound=all(taken is not None for _, taken in recoded + lake),
    )


def _told(taken: float | None, beside: float | None) -> str:
    if taken is None:
        return "failed"
    return f"{taken:.1f} ({taken / beside:.1f} x)" if beside and taken != beside else f"{taken:.1f}"


def _recoded(service: LocalService, limit: int | None) -> float | None:
    """The seconds of the search; None if there is no release."""
    wanted = demo_policy()
    search = replace(wanted.search, time_limit_seconds=None if limit is None else Decimal(limit))
    run = service.run(replace(wanted, methods=(LocalRecoding(),), search=search))
    return None if run.release is None else run.release.phase_seconds["searching"]


def _in_lake(folder: Path, rows: int) -> tuple[list[Row], str]:
    """The rows of the table, and a remark if Spark is not there."""
    try:
        server = LocalServer(folder / "spark", persistent=False)
    except InvalidError as error:
        return [], f" Spark was not measured: {error}"
    try:
        return list(_over_spark(server, folder, rows)), ""
    finally:
        server.close()


def _over_spark(server: LocalServer, folder: Path, rows: int) -> Iterator[Row]:
    copied = folder / "visits.duckdb"
    shutil.copy(visits(rows), copied)
    with duckdb.connect(copied, read_only=True) as connection:
        connection.execute(f"COPY {TABLE} TO '{folder}/visits.parquet'")
    warehouse = SparkWarehouse("lake", server.url, MOST_COLLECTED)
    with LocalService(folder / "ledger.duckdb", warehouses=[warehouse]) as service:
        with service.session() as embedded, warehouse.session(embedded) as session:
            for schema in ("bench", TARGET.schema):
                session.execute(f"CREATE SCHEMA {schema}")
            session.execute(f'CREATE TABLE bench.{TABLE} AS SELECT * FROM parquet."{folder}/visits.parquet"')
        wanted = in_lake(policy())
        for name in ("check of a policy over Spark", "check of a policy over Spark, again"):
            started = time.monotonic()
            faults = service.check(replace(wanted, release=TARGET)).faults
            yield name, None if faults else time.monotonic() - started
        yield "job over Spark", _job(service, wanted)
    with LocalService(copied) as service:
        yield BESIDE, _job(service, replace(wanted, source=policy().source))


def _job(service: LocalService, wanted: Policy) -> float | None:
    """The seconds of a job; None if there is no release."""
    run = service.run(wanted)
    return None if run.release is None else run.seconds
