"""A section: publishing to PostgreSQL beside a plain ingest of the same rows by its ADBC driver."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from benchmarks.sql.random_selects import TABLE, rows_of
from tableveil.backend import Database, Session, Settings
from tableveil.publishing import Edition
from tableveil.publishing.edition import Item
from tableveil.publishing.postgresql import PostgresqlTarget
from tableveil.state.release_objects import ObjectKind
from tests.postgresql import cluster

ROWS = 1_000_000
RUNS = 7
GOAL = 0.7


def publishing(rows: int = ROWS, runs: int = RUNS) -> Section:
    """By turns; both begin with a table in DuckDB, and end with a commit in a PostgreSQL that does not sync."""
    title = "Publishing to PostgreSQL"
    try:
        return Section(title, _measured(rows, runs))
    except pytest.skip.Exception as skipped:
        return Section(title, (f"Not measured: {skipped}.",))


def _measured(rows: int, runs: int) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as name, cluster() as postgresql:
        published, ingested = PostgresqlTarget(postgresql.new_database()), postgresql.new_database()
        with closing(Database(Settings(Path(name) / "bench.duckdb"))) as database, database.session() as session:
            session.execute(f"CREATE TABLE {TABLE} AS {rows_of(rows)}")
            columns = tuple(session.described(f"FROM {TABLE}"))
            edition = Edition(1, "main", TABLE, date.today(), "", (), 0, (Item(TABLE, ObjectKind.ROWS, columns),))
            ways: dict[str, Callable[[], None]] = {
                "publishing": lambda: published.publish(session, lambda: edition, lambda: None),
                "plain ingest": lambda: _ingest(session, ingested),
            }
            turns = [[_seconds(way) for way in ways.values()] for _ in range(runs + 1)][1:]
    medians = dict(zip(ways, map(float, np.median(turns, axis=0)), strict=True))
    speed = medians["plain ingest"] / medians["publishing"]
    return (
        f"{rows:,} rows of {len(columns)} columns in place of those of an earlier release, {runs} times in turn "
        "with a plain ingest by the ADBC driver, which replaces its table as well.",
        table(("by", "median seconds"), [[way, f"{found:.2f}"] for way, found in medians.items()]),
        f"Publishing has {speed:.2f} of the plain ingest's speed; goal: at least {GOAL}: {verdict(speed >= GOAL)}.",
    )


def _ingest(session: Session, url: str) -> None:
    from adbc_driver_postgresql import dbapi

    with closing(dbapi.connect(url)) as connection, closing(connection.cursor()) as cursor:
        cursor.adbc_ingest(TABLE, session.batches(f"FROM {TABLE}", 2**16), mode="replace")
        connection.commit()


def _seconds(way: Callable[[], None]) -> float:
    started = time.perf_counter()
    way()
    return time.perf_counter() - started
