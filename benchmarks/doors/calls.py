"""Section: the time of a unary call with token, TLS and audit, against a bare server around the same servicer."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import numpy as np

from benchmarks.doors.guarded import guarded, small_policy
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.v1.job_service_pb2 import GetJobRequest
from tableveil.v1.job_service_pb2_grpc import JobServiceStub

TITLE = "A call with token, TLS and audit"
PAIRS = 4_000
FSYNCS = 200
GOALS = {0.5: 1.5, 0.99: 2.0}


def calls(pairs: int = PAIRS) -> Section:
    """Asks both servers in turn, each in a process of its own, for the same job."""
    with guarded() as server, server.connect() as client:
        job = client.wait(client.submit(small_policy(1)).name).name
        with _bare(server.database) as stub:
            request = GetJobRequest(name=job)
            ask: tuple[Callable[[], object], ...] = (lambda: client.get_job(job), lambda: stub.GetJob(request))
            disk = _seconds_of_fsync(server.database.with_name("fsync"))
            seconds = np.array([_pair(ask, number) for number in range(-pairs // 10, pairs)])[pairs // 10 :]
    found = {quantile: np.quantile(seconds, quantile, axis=0) for quantile in GOALS}
    ratios = {quantile: with_doors / bare for quantile, (with_doors, bare) in found.items()}
    return Section(
        TITLE,
        (
            f"GetJob of one client, {pairs:,} times of either server in turn. The answer waits for an fsync: "
            f"{disk * 1000:.2f} ms on this disk at the median.",
            table(
                ("server", "median ms", "p99 ms"),
                [
                    [name, *(f"{found[quantile][column] * 1000:.2f}" for quantile in GOALS)]
                    for column, name in enumerate(("with token, TLS and audit", "bare"))
                ],
            ),
            *(
                f"Quantile {quantile}: {ratios[quantile]:.2f} x; goal: at most {goal} x: "
                f"{verdict(ratios[quantile] <= goal)}."
                for quantile, goal in GOALS.items()
            ),
        ),
    )


def _pair(ask: tuple[Callable[[], object], ...], number: int) -> list[float]:
    """The seconds of either call; each comes first every other time."""
    found = [0.0, 0.0]
    for which in (0, 1) if number % 2 else (1, 0):
        started = time.perf_counter()
        ask[which]()
        found[which] = time.perf_counter() - started
    return found


def _seconds_of_fsync(path: Path) -> float:
    """The median time in which some bytes more of a file get to the disk, with what others do there."""
    with path.open("wb", buffering=0) as file:
        seconds = []
        for _ in range(FSYNCS):
            started = time.perf_counter()
            file.write(b"x" * 400)
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))


@contextmanager
def _bare(original: Path) -> Iterator[JobServiceStub]:
    """A bare server on a copy of the database, without the doors."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "bare.duckdb"
        for suffix in ("", ".wal"):
            if original.with_name(f"{original.name}{suffix}").exists():
                shutil.copyfile(original.with_name(f"{original.name}{suffix}"), copy.with_name(f"{copy.name}{suffix}"))
        command = [sys.executable, "-m", "benchmarks.doors.bare", str(copy)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            address = process.stdout.readline().rpartition(" on ")[2].strip()
            try:
                with grpc.insecure_channel(address) as channel:
                    yield JobServiceStub(channel)
            finally:
                process.kill()
