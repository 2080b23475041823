"""Section: loading a large Parquet file, from a directory of the server and from a client, beside DuckDB by itself."""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from benchmarks.discharges import CACHE
from benchmarks.markdown import seconds, table, times
from benchmarks.operate.served import served
from benchmarks.section import Section, verdict
from tableveil.client import Client
from tableveil.v1 import table_service_pb2

TITLE = "Loading a table"
ROWS = 10_000_000
THREADS = 2
MOST_TIMES = 2.0

# Types that a hospital's table has, with typical numbers of different values.
_QUERY = """
    SELECT i AS id, 'Person ' || i AS name, (hash(i, 1) % 100)::INT AS age,
        lpad((hash(i, 2) % 100000)::VARCHAR, 5, '0') AS zip, ['F', 'M'][1 + (hash(i, 3) % 2)::INT] AS sex,
        DATE '1920-01-01' + (hash(i, 4) % 36500)::INT AS born, ((hash(i, 5) % 1000000) / 100)::DECIMAL(10, 2) AS paid,
        TIMESTAMP '2020-01-01' + to_seconds((hash(i, 6) % 100000000)::BIGINT) AS admitted
    FROM range({rows}) AS numbers(i)
"""


def load(rows: int = ROWS) -> Section:
    """Loads the same file three ways, each into a fresh database."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        folder = Path(directory)
        file = folder / "files" / "table.parquet"
        file.parent.mkdir()
        with duckdb.connect(config={"threads": THREADS}) as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.execute(f"COPY ({_QUERY.format(rows=rows)}) TO '{file}' (FORMAT parquet)")
        alone = _alone(folder, file)
        ways: dict[str, Callable[[Client], table_service_pb2.LoadTableResponse]] = {
            "LoadTable, from a directory of the server": lambda client: client.load_server_file(file.name, "loaded"),
            "LoadTable, sent by a client": lambda client: client.load_file(file, "loaded"),
        }
        taken = {}
        sound = True
        for way, work in ways.items():
            taken[way], loaded = _served(folder, file.parent, work)
            sound &= loaded == rows
    ratios = {way: found / alone for way, found in taken.items()}
    told = next(iter(ratios.values()))
    return Section(
        TITLE,
        (
            f"{rows:,} rows of 8 columns in a Parquet file, each time into a fresh database, {THREADS} threads; the "
            "client runs on the same machine as the server.",
            table(
                ("", "s", "of DuckDB's"),
                [
                    ("CREATE TABLE AS, DuckDB by itself", seconds(alone), ""),
                    *((way, seconds(taken[way]), times(ratios[way])) for way in taken),
                ],
            ),
            f"From the directory: {times(told)}; goal: at most {times(MOST_TIMES)}: {verdict(told <= MOST_TIMES)}.",
        ),
        sound,
    )


def _alone(folder: Path, file: Path) -> float:
    database = folder / "alone.duckdb"
    with duckdb.connect(database, config={"threads": THREADS}) as connection:
        connection.execute("SET enable_progress_bar = false")
        began = time.perf_counter()
        connection.execute("CREATE TABLE loaded AS FROM read_parquet(?)", [str(file)])
        taken = time.perf_counter() - began
    database.unlink()
    return taken


def _served(
    folder: Path, files: Path, work: Callable[[Client], table_service_pb2.LoadTableResponse]
) -> tuple[float, int]:
    """Seconds of the call, and the rows that were loaded, by a server in a process of its own."""
    home = Path(tempfile.mkdtemp(dir=folder))
    options = ("--threads", str(THREADS), "--load-directory", str(files))
    with served(home / "load.duckdb", *options) as server, server.connect() as client:
        began = time.perf_counter()
        loaded = work(client).load.rows
        taken = time.perf_counter() - began
    shutil.rmtree(home)
    return taken, loaded
