"""Sections: an endpoint's rows a second, many analysts at once, and its rows beside DuckDB's own."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import duckdb
import numpy as np

from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from benchmarks.sql.random_selects import TABLE, agree, random_select
from benchmarks.sql.served import connected, publish, served

ROWS = 1_000_000
RUNS = 15
ANALYSTS = 32
SECONDS = 20.0
STATEMENTS = 500

_QUESTION = f"SELECT age, ward, count(*), sum(stay), avg(charge) FROM {TABLE} WHERE stay > 3 GROUP BY ALL"


def reading(rows: int = ROWS, runs: int = RUNS) -> Section:
    """All rows of a release, by turns: from an endpoint, from one with TLS, and from the file in this process."""
    with _released(rows) as (directory, file), ExitStack() as opened:
        readers: dict[str, Callable[[], object]] = {}
        with duckdb.connect(file, read_only=True) as direct:
            readers["DuckDB in this process"] = lambda: direct.sql(f"FROM {TABLE}").to_arrow_table()
            for name, tls in (("endpoint", False), ("endpoint with TLS", True)):
                uri = opened.enter_context(served(directory, tls=tls))
                cursor = opened.enter_context(opened.enter_context(connected(uri, directory)).cursor())
                readers[name] = _reading_all(cursor)
            for read in readers.values():
                read()
            turns = [[_seconds(read) for read in readers.values()] for _ in range(runs)]
        seconds = {name: [turn[place] for turn in turns] for place, name in enumerate(readers)}
    medians = {name: float(np.median(found)) for name, found in seconds.items()}
    own = medians["DuckDB in this process"]
    goals = {"endpoint": 1 / 2, "endpoint with TLS": 1 / 3}
    return Section(
        "Reading a release through the endpoint",
        (
            f"{rows:,} rows of six columns into Arrow, {runs} times in turn, by the ADBC driver of Flight SQL.",
            table(("from", "median seconds"), [[name, f"{found:.3f}"] for name, found in medians.items()]),
            *(
                f"{name}: {own / medians[name]:.2f} of DuckDB's speed; goal: at least {goal:.2f}: "
                f"{verdict(own / medians[name] >= goal)}."
                for name, goal in goals.items()
            ),
        ),
    )


def analysts(rows: int = ROWS, count: int = ANALYSTS, seconds: float = SECONDS) -> Section:
    """One analyst who asks again and again, and many of them at once, each with a connection of its own."""
    with _released(rows) as (directory, _), served(directory) as uri:
        _asked(uri, directory, 1, 3.0)
        alone = _asked(uri, directory, 1, seconds)
        together = _asked(uri, directory, count, seconds)
        again = _asked(uri, directory, 1, seconds)
    # Before and after: the machine may have become slower meanwhile.
    one = (len(alone[0]) + len(again[0])) / 2 / seconds
    many = sum(map(len, together)) / seconds
    medians = [float(np.median(found)) for found in together]
    spread = max(medians) / min(medians)
    return Section(
        f"{count} analysts at once",
        (
            f"A grouping of {rows:,} rows, asked again and again for {seconds:g} seconds.",
            f"One analyst: {one:.1f} queries a second. {count} analysts: {many:.1f}, {many / one:.2f} of that; goal: "
            f"at least 0.9: {verdict(many / one >= 0.9)}.",
            f"The medians of the {count} are between {min(medians):.2f} and {max(medians):.2f} seconds, {spread:.2f} "
            f"x; goal: at most 2 x: {verdict(spread <= 2)}.",
        ),
    )


def agreement(statements: int = STATEMENTS) -> Section:
    """Random SELECTs through the endpoint and on the file."""
    different = []
    with (
        _released(20_000) as (directory, file),
        served(directory) as uri,
        connected(uri, directory) as connection,
        connection.cursor() as cursor,
        duckdb.connect(file, read_only=True) as direct,
    ):
        for seed in range(statements):
            statement = random_select(Random(seed))
            cursor.execute(statement)
            if not agree(cursor.fetchall(), direct.execute(statement).fetchall()):
                different.append(statement)
    met = not different
    found = f"{statements - len(different)} of {statements} random SELECTs give the rows that DuckDB finds in the file"
    return Section("Agreement", (f"{found}; goal: all: {verdict(met)}.", *different), sound=met)


@contextmanager
def _released(rows: int) -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        yield directory, publish(directory, rows)


def _reading_all(cursor: object) -> Callable[[], object]:
    def read() -> object:
        cursor.execute(f"FROM {TABLE}")  # type: ignore[attr-defined]
        return cursor.fetch_arrow_table()  # type: ignore[attr-defined]

    return read


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _asked(uri: str, directory: Path, count: int, seconds: float) -> list[list[float]]:
    """The seconds of each query of each analyst, who all begin together and ask until the time is over."""
    found: list[list[float]] = [[] for _ in range(count)]
    ready = threading.Barrier(count)

    def ask(number: int) -> None:
        with connected(uri, directory, f"analyst-{number}") as connection, connection.cursor() as cursor:

            def question() -> object:
                cursor.execute(_QUESTION)
                return cursor.fetchall()

            question()
            ready.wait()
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                found[number].append(_seconds(question))

    threads = [threading.Thread(target=ask, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
