"""Section: the time of the calls by which clients find tables, where there are many releases."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.markdown import seconds, table
from benchmarks.section import Section, verdict
from benchmarks.sql.served import connected, served

RELEASES = 500
RUNS = 20
MOST_SECONDS = 0.1

_TABLES = ("t", "t_about", "t_classes", "t_columns", "t_labels", "t_risk", "t_risk_histogram")
_COLUMNS = ", ".join(f"NULL::VARCHAR AS c{i}, NULL::BIGINT AS c{i}_from, NULL::INTEGER AS c{i}_rank" for i in range(4))


def metadata(releases: int = RELEASES, runs: int = RUNS) -> Section:
    """Each call by ADBC's driver, after the endpoint has looked into each file once."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        _publish(directory / "published", releases)
        with served(directory) as uri, closing(connected(uri, directory)) as connection:

            def rows(statement: str) -> Any:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                    return cursor.fetchall()

            calls: dict[str, Callable[[], object]] = {
                "get_objects: schemas": lambda: connection.adbc_get_objects(depth="db_schemas").read_all(),
                "get_objects: tables of a schema": lambda: connection.adbc_get_objects(
                    depth="tables", db_schema_filter="study_1"
                ).read_all(),
                "get_objects: columns of a table": lambda: connection.adbc_get_objects(
                    depth="all", db_schema_filter="study_1", table_name_filter="t"
                ).read_all(),
                "get_table_schema": lambda: connection.adbc_get_table_schema("t", db_schema_filter="study_1"),
                "SHOW TABLES": lambda: rows("SHOW TABLES"),
                "information_schema.columns of a table": lambda: rows(
                    "FROM information_schema.columns WHERE table_schema = 'study_1' AND table_name = 't'"
                ),
            }
            found = {call: _seconds(ask, runs) for call, ask in calls.items()}
            plain = _seconds(lambda: rows("SELECT count(*) FROM study_1.t"), runs)
    slowest = max(late for _, late in found.values())
    return Section(
        "The time to find tables",
        (
            f"At an endpoint with {releases:,} releases of {len(_TABLES)} tables each, {runs} times each.",
            table(
                ("call", "median seconds", "95 of 100 within seconds"),
                [[call, *map(seconds, of)] for call, of in {**found, "a count of no rows, beside them": plain}.items()],
            ),
            f"The slowest: {seconds(slowest)}; goal: at most {seconds(MOST_SECONDS)}: "
            f"{verdict(slowest <= MOST_SECONDS)}.",
        ),
    )


def _publish(published: Path, releases: int) -> None:
    published.mkdir()
    for number in range(1, releases + 1):
        with duckdb.connect(published / f"releases-{number}.duckdb") as connection:
            connection.execute(f"CREATE SCHEMA study_{number}; CREATE SCHEMA tableveil")
            for name in _TABLES:
                connection.execute(f"CREATE TABLE study_{number}.{name} AS SELECT {_COLUMNS}")


def _seconds(ask: Callable[[], object], runs: int) -> tuple[float, float]:
    """The median, and the time within which 95 of 100 calls end."""
    ask()
    times = []
    for _ in range(runs):
        began = time.monotonic()
        ask()
        times.append(time.monotonic() - began)
    return float(np.median(times)), float(np.quantile(times, 0.95))
