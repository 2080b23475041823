"""Sections: an endpoint's seconds by part, many analysts at once, and its rows beside DuckDB's own."""

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
from benchmarks.sql.bare_flight import bare_reading
from benchmarks.sql.random_selects import TABLE, agree, random_select
from benchmarks.sql.served import connected, publish, served

ROWS = 1_000_000
RUNS = 15
ANALYSTS = 32
SECONDS = 20.0
STATEMENTS = 500
MOST_TIMES = 1.6

_QUERY, _BARE, _ENDPOINT = "the query alone, in this process", "bare Flight server", "endpoint"
_ONE_ROW = "endpoint, one row: check, and the start of a process"

_QUESTION = f"SELECT age, ward, count(*), sum(stay), avg(charge) FROM {TABLE} WHERE stay > 3 GROUP BY ALL"


def reading(rows: int = ROWS, runs: int = RUNS) -> Section:
    """All rows of a release, by turns: from an endpoint, from a bare Flight server, and from the file; and one row."""
    with _released(rows) as (directory, file), ExitStack() as opened:
        readers: dict[str, Callable[[], object]] = {}
        direct = opened.enter_context(duckdb.connect(file, read_only=True))
        readers[_QUERY] = lambda: direct.sql(f"FROM {TABLE}").to_arrow_table()
        for name, tls in (("", False), (" with TLS", True)):
            readers[_BARE + name] = opened.enter_context(bare_reading(directory, tls=tls))
            uri = opened.enter_context(served(directory, tls=tls))
            cursor = opened.enter_context(opened.enter_context(connected(uri, directory)).cursor())
            readers[_ENDPOINT + name] = _reading(cursor, f"FROM {TABLE}")
            if not tls:
                readers[_ONE_ROW] = _reading(cursor, f"FROM {TABLE} LIMIT 1")
        for read in readers.values():
            read()
        turns = [[_seconds(read) for read in readers.values()] for _ in range(runs)]
    took = {name: float(np.median([turn[place] for turn in turns])) for place, name in enumerate(readers)}
    least = {tls: (took[_QUERY] + took[_BARE + tls]) / took[_BARE + tls] for tls in ("", " with TLS")}
    return Section(
        "Reading a release through the endpoint",
        (
            f"{rows:,} rows of ten columns into Arrow, {runs} times in turn. The ADBC driver of Flight SQL reads the "
            "endpoint; pyarrow reads a bare Flight server with the same table in its memory.",
            table(("from", "median seconds"), [[name, f"{found:.3f}"] for name, found in took.items()]),
            *(
                f"Endpoint{name}: {took[_ENDPOINT + name] / took[_BARE + name]:.2f} x the bare server{name}; goal: at "
                f"most {MOST_TIMES:g} x: {verdict(took[_ENDPOINT + name] <= MOST_TIMES * took[_BARE + name])}. The "
                f"query and the bare server together take {least[name]:.2f} x: the query keeps all cores busy."
                for name in ("", " with TLS")
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


def _reading(cursor: object, statement: str) -> Callable[[], object]:
    def read() -> object:
        cursor.execute(statement)  # type: ignore[attr-defined]
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
