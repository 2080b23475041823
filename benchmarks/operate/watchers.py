"""Section: how long unary calls take while ten clients watch a long job, against the same server when it is idle."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.discharges import CACHE, discharges, wide_policy
from benchmarks.markdown import table, times
from benchmarks.operate.served import Served, served
from benchmarks.section import Section, verdict
from tableveil.client import Client
from tableveil.client.watching import ENDED
from tableveil.policy import ReleaseTarget
from tableveil.v1 import policy_pb2
from tests.service.convert.policy_to_proto import policy_to_proto

TITLE = "Watchers beside a long job"
ROWS = 3_000_000
WATCHERS = 10
CALLS = 2_000
PAGE = 20
MOST_TIMES = 5.0
QUANTILES = (0.5, 0.99)


def watchers(rows: int = ROWS, watching: int = WATCHERS, calls: int = CALLS) -> Section:
    """Runs a server in a process of its own; makes the calls before there is a job, and while one runs."""
    with _serving(rows) as server, server.connect() as client, ThreadPoolExecutor(watching) as pool:
        # There is a job to ask for, and the server has done everything once.
        first = client.wait(client.submit(_policy("first")).name)
        idle = _seconds_of_calls(client, first.name, calls)
        job = client.submit(_policy("second")).name
        seen = [pool.submit(_watch, server, job) for _ in range(watching)]
        busy = _seconds_of_calls(client, job, calls)
        client.cancel_job(job)
        changes = [found.result() for found in seen]
    ratio = float(np.quantile(busy, 0.99) / np.quantile(idle, 0.99))
    return Section(
        TITLE,
        (
            f"GetJob and ListJobs ({PAGE} jobs) in turn by one client: of an idle server, and of the same one while "
            f"{watching} clients watch a job on {rows:,} generated discharges, until it ends or {calls:,} calls are "
            "made.",
            table(
                ("server", "calls", "median ms", "p99 ms"),
                [_row("idle", idle), _row(f"with a job and {watching} watchers", busy)],
            ),
            f"p99: {times(ratio)}; goal: at most {times(MOST_TIMES)}: {verdict(ratio <= MOST_TIMES)}. Each watcher saw "
            f"{min(changes)} to {max(changes)} changes.",
        ),
        sound=min(changes) > 1,
    )


def _row(name: str, seconds: Sequence[float]) -> list[str]:
    return [name, f"{len(seconds):,}", *(f"{quantile * 1000:.2f}" for quantile in np.quantile(seconds, QUANTILES))]


def _policy(name: str) -> policy_pb2.Policy:
    target = ReleaseTarget("main", name)
    return policy_to_proto(replace(wide_policy(), release=target, repeat_reason="a benchmark"))


def _seconds_of_calls(client: Client, job: str, calls: int) -> list[float]:
    """The time of each call; for a job that has not ended yet, only until it ends."""
    seconds: list[float] = []
    had_ended = client.get_job(job).state in ENDED
    while len(seconds) < calls:
        started = time.perf_counter()
        has_ended = client.get_job(job).state in ENDED
        between = time.perf_counter()
        for _ in islice(client.list_jobs(), PAGE):
            pass
        seconds += [between - started, time.perf_counter() - between]
        if has_ended and not had_ended:
            break
    return seconds


def _watch(server: Served, job: str) -> int:
    """The number of changes that one more client sees."""
    with server.connect() as client:
        return sum(1 for _ in client.watch_job(job))


@contextmanager
def _serving(rows: int) -> Iterator[Served]:
    """A server on a copy of the discharges."""
    source = discharges(rows)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        path = Path(directory) / "watched.duckdb"
        shutil.copyfile(source, path)
        with served(path) as server:
            yield server
