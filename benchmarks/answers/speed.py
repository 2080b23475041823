"""Section: the time of a mean of labels beside that of a plain average."""

from __future__ import annotations

import time

import duckdb
import numpy as np

from benchmarks.markdown import seconds, table, times
from benchmarks.section import Section, verdict
from tableveil.answers import MACROS

ROWS = 1_000_000
RUNS = 15
MOST_TIMES = 3.0

_LABELS = (
    "SELECT '[' || 10 * (i % 9) || ', ' || 10 * (i % 9) + 9 || ']' AS age, 10 * (i % 9) AS age_from, "
    "10 * (i % 9) + 9 AS age_to, 'ward ' || i % 7 AS ward, i % 2 = 0 AS urgent FROM range({}) r(i)"
)


def speed(rows: int = ROWS, runs: int = RUNS) -> Section:
    """Both by two columns, in turn, in DuckDB with two threads."""
    asked = {"avg(age_from)": "avg(age_from)", "tv_mean(age, age_from, age_to)": "tv_mean(age, age_from, age_to)"}
    with duckdb.connect(config={"threads": 2}) as connection:
        for macro in MACROS:
            connection.execute(macro.created())
        connection.execute(f"CREATE TABLE released AS {_LABELS.format(rows)}")
        turns = [[_seconds(connection, call) for call in asked.values()] for _ in range(runs + 1)][1:]
    medians = dict(zip(asked, map(float, np.median(turns, axis=0)), strict=True))
    plain, mean = medians.values()
    return Section(
        "The time of a mean of labels",
        (
            f"By two columns over {rows:,} rows, {runs} times in turn.",
            table(("function", "median seconds"), [[name, seconds(found)] for name, found in medians.items()]),
            f"{times(mean / plain)}; goal: at most {times(MOST_TIMES)}: {verdict(mean <= MOST_TIMES * plain)}.",
        ),
    )


def _seconds(connection: duckdb.DuckDBPyConnection, call: str) -> float:
    started = time.monotonic()
    connection.execute(f"SELECT ward, urgent, {call} FROM released GROUP BY ward, urgent").fetchall()
    return time.monotonic() - started
