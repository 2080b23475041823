"""Section: a release job on a table in Spark, against a plain GROUP BY and one sorted write of the same table there."""

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb

from benchmarks.markdown import table, times
from benchmarks.scale.measured import Part
from benchmarks.scale.visits import TABLE, K, policy, visits
from benchmarks.section import Section, verdict
from benchmarks.service import TARGET, LocalService
from tableveil.backend import WarehouseSession
from tableveil.errors import InvalidError
from tableveil.policy import Policy, Role, TableReference
from tableveil.runtime import Job
from tableveil.spark import SparkWarehouse
from tableveil.spark.local import LocalServer

TITLE = "Rows in a lake: Spark on two local cores"
ROWS = 1_000_000
"""For all benchmarks in one run; `make bench-scale` takes 20 million."""

MOST_TIMES = 5.0
MEMORY_LIMIT = "4GiB"
DRIVER = "8g"
"""The heap of Spark: released classes of 20 million rows pass through it, and 2 GB did not do."""
MOST_COLLECTED = 2**30
GROUPED, SORTED = "GROUP BY", "CREATE TABLE AS, sorted"

_TICKS = os.sysconf("SC_CLK_TCK")


class _Clock:
    """Seconds, and CPU seconds of this process and of a group of others, by part."""

    def __init__(self, group: int) -> None:
        self.parts: dict[str, Part] = {}
        self._group = group
        self._last = self._now()

    def ended(self, part: str) -> None:
        """The part took all that passed since the last one ended."""
        now = self._now()
        self.parts[part] = Part(now[0] - self._last[0], now[1] - self._last[1])
        self._last = now

    def _now(self) -> tuple[float, float]:
        return time.monotonic(), time.process_time() + sum(_cpu_seconds(self._group))


def _cpu_seconds(group: int) -> Iterator[float]:
    """CPU seconds of each process of a group, from /proc/PID/stat (proc(5): pgrp is field 5, utime 14, stime 15)."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            yield (int(fields[11]) + int(fields[12])) / _TICKS


def lake(rows: int = ROWS) -> Section:
    """Runs both in one server of Spark, one after the other, once their code is warm."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            server = LocalServer(Path(folder, "spark"), persistent=False, memory=DRIVER)
            try:
                return _measured(rows, Path(folder), server)
            finally:
                server.close()
    except InvalidError as error:
        return Section(TITLE, (f"Not measured: {error}",))


def _measured(rows: int, folder: Path, server: LocalServer) -> Section:
    written = folder / "visits.parquet"
    with duckdb.connect(visits(rows), read_only=True) as connection:
        connection.execute(f"COPY {TABLE} TO '{written}' (ROW_GROUP_SIZE 500000)")
    warehouse = SparkWarehouse("lake", server.url, MOST_COLLECTED)
    with LocalService(folder / "ledger.duckdb", MEMORY_LIMIT, 2, [warehouse]) as service:
        with service.session() as embedded, warehouse.session(embedded) as session:
            for schema in ("bench", TARGET.schema):
                session.execute(f"CREATE SCHEMA {schema}")
            session.execute(f'CREATE TABLE bench.{TABLE} AS SELECT * FROM parquet."{written}"')
            written.unlink()
            _beside(session, "warm", "WHERE zip_code < '10300'", _Clock(server.group))
            clock = _Clock(server.group)
            _beside(session, "plain", "", clock)
        beside, clock = clock.parts, _Clock(server.group)
        phase = "submitting"

        def watch(job: Job) -> None:
            nonlocal phase
            if job.phase is not None and job.phase.value.lower() != phase:
                clock.ended(phase)
                phase = job.phase.value.lower()

        run = service.run(in_lake(policy()), watch)
        clock.ended(phase)
    if run.release is None:
        return Section(TITLE, (f"Failed: {run.failure}",), sound=False)
    whole, plain = (
        Part(sum(part.seconds for part in parts.values()), sum(part.cpu for part in parts.values()))
        for parts in (clock.parts, beside)
    )
    parts = {**clock.parts, "the whole job": whole, **{f"beside: {name}": part for name, part in beside.items()}}
    ratio = whole.cpu / plain.cpu
    return Section(
        TITLE,
        (
            f"{rows:,} generated visits in Parquet, k = {K}; local[2], a driver of {DRIVER}, memory_limit "
            f"{MEMORY_LIMIT} for the ledger. CPU seconds are those of Spark and of the service.",
            table(
                ("part", "seconds", "CPU seconds", "CPU µs per row"),
                (
                    [name, f"{p.seconds:,.1f}", f"{p.cpu:,.1f}", f"{p.cpu / rows * 1e6:.2f}"]
                    for name, p in parts.items()
                ),
            ),
            f"The job finds {run.release.risk_before.classes:,} combinations and releases "
            f"{run.release.classes:,} classes.",
            f"Goal: at 20,000,000 rows at most {times(MOST_TIMES)} of the CPU seconds of the {GROUPED} and the "
            f"sorted write: {verdict(ratio <= MOST_TIMES)} "
            f"({times(ratio)}; {times(whole.seconds / plain.seconds)} in seconds).",
        ),
    )


def _beside(session: WarehouseSession, name: str, where: str, clock: _Clock) -> None:
    names = ", ".join(attribute.column for attribute in policy().quasi_identifiers)
    rows = f"FROM bench.{TABLE} {where}"
    session.execute(f"CREATE TABLE bench.{name}_groups AS SELECT {names}, count(*) AS n {rows} GROUP BY ALL")
    clock.ended(GROUPED)
    session.execute(f"CREATE TABLE bench.{name}_sorted AS SELECT * {rows} ORDER BY ALL")
    clock.ended(SORTED)


def in_lake(found: Policy) -> Policy:
    """The policy for the table in Spark."""
    attributes = (replace(each, acknowledged=each.role is Role.INSENSITIVE) for each in found.attributes)
    return replace(found, source=TableReference("lake", "bench", TABLE), attributes=tuple(attributes))
