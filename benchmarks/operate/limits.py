"""Section: how far local recoding goes beyond its time limit, and how long a policy's check takes over Spark."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import duckdb

from benchmarks.discharges import CACHE, demo_policy, discharges
from benchmarks.markdown import table
from benchmarks.scale.lake import MOST_COLLECTED, in_lake
from benchmarks.scale.visits import TABLE, policy, visits
from benchmarks.section import Section, verdict
from benchmarks.service import TARGET, LocalService
from tableveil.errors import InvalidError
from tableveil.policy import LocalRecoding
from tableveil.spark import SparkWarehouse
from tableveil.spark.local import LocalServer

TITLE = "Time limits, and checks over a lake"
ROWS, LIMITS = 100_000, (12,)
MOST_SHARE, MOST_SECONDS = 0.05, 1.0
LAKE_ROWS = 20_000

BEFORE = {
    "local recoding, limit 12 s": "16",
    "check of a policy over Spark, again": "28, and 143 requests",
}
"""Issue 29's, and for the check those of commit e6e3b9b4 on a busy machine."""


def limits(rows: int = ROWS, seconds: tuple[int, ...] = LIMITS, lake_rows: int = LAKE_ROWS) -> Section:
    """Recodes the demo's table locally within each limit, and checks a policy of a table in a local Spark twice."""
    CACHE.mkdir(exist_ok=True)
    found, fails = [], []
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        copied = Path(folder, "demo.duckdb")
        shutil.copy(discharges(rows), copied)
        with LocalService(copied) as service:
            for limit in seconds:
                taken = _recoded(service, limit)
                fails += [limit] if taken is None else []
                found.append((f"local recoding, limit {limit} s", taken))
        lake, remark = _checked(Path(folder), lake_rows)
    held = all(
        taken is not None and taken <= limit * (1 + MOST_SHARE) + MOST_SECONDS
        for (_, taken), limit in zip(found, seconds, strict=True)
    )
    cells = [
        [name, "failed" if taken is None else f"{taken:.1f}", BEFORE.get(name, "")] for name, taken in found + lake
    ]
    return Section(
        TITLE,
        (
            f"The demo's policy with `local_recoding` on {rows:,} rows: seconds of the search. A check of a policy of "
            f"{lake_rows:,} visits in Spark on two local cores: the first one, and one more.",
            table(("", "seconds", "before"), cells),
            f"Limits hold within 5 % and a second: {verdict(held)}.{remark}",
        ),
        sound=not fails,
    )


def _recoded(service: LocalService, limit: int) -> float | None:
    """The seconds of the search; None if there is no release."""
    wanted = demo_policy()
    search = replace(wanted.search, time_limit_seconds=Decimal(limit))
    run = service.run(replace(wanted, local_recoding=LocalRecoding(), search=search))
    return None if run.release is None else run.release.phase_seconds["searching"]


def _checked(folder: Path, rows: int) -> tuple[list[tuple[str, float | None]], str]:
    try:
        server = LocalServer(folder / "spark", persistent=False)
    except InvalidError as error:
        return [], f" Spark was not measured: {error}"
    try:
        with duckdb.connect(visits(rows), read_only=True) as connection:
            connection.execute(f"COPY {TABLE} TO '{folder}/visits.parquet'")
        warehouse = SparkWarehouse("lake", server.url, MOST_COLLECTED)
        with LocalService(folder / "ledger.duckdb", warehouses=[warehouse]) as service:
            with service.session() as embedded, warehouse.session(embedded) as session:
                for schema in ("bench", TARGET.schema):
                    session.execute(f"CREATE SCHEMA {schema}")
                session.execute(f'CREATE TABLE bench.{TABLE} AS SELECT * FROM parquet."{folder}/visits.parquet"')
            taken: list[tuple[str, float | None]] = []
            for name in ("check of a policy over Spark", "check of a policy over Spark, again"):
                started = time.monotonic()
                faults = service.check(replace(in_lake(policy()), release=TARGET)).faults
                taken.append((name, None if faults else time.monotonic() - started))
            return taken, ""
    finally:
        server.close()
