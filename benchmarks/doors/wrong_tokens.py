"""Section: how long calls take while another client tries wrong tokens in a row."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.doors.guarded import Guarded, guarded, small_policy
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.client import Client

TITLE = "Wrong tokens in a row"
WRONG = 10_000
PARTS = 10
MOST_TIMES = 1.5


def wrong_tokens(wrong: int = WRONG, parts: int = PARTS) -> Section:
    """Calls in turn beside a part of the wrong tokens and without them; a part has as many calls either way."""
    quiet: list[float] = []
    beside: list[float] = []
    with guarded() as server, server.connect() as client:
        job = client.wait(client.submit(small_policy(1)).name).name
        memory = _memory(server)
        for _ in range(parts):
            with _flood(server, wrong // parts) as flood:
                before = len(beside)
                while flood.poll() is None:
                    beside.append(_seconds(client, job))
            quiet += [_seconds(client, job) for _ in range(len(beside) - before)]
        grown = _memory(server) - memory
        entries = list(client.list_audit_entries(code="UNAUTHENTICATED"))
    ratio = float(np.median(beside) / np.median(quiet))
    return Section(
        TITLE,
        (
            f"GetJob of one client while another sends {wrong:,} wrong tokens one after another, in {parts} parts, and "
            "between the parts.",
            table(
                ("calls", "number", "median ms"),
                [
                    [name, f"{len(found):,}", f"{np.median(found) * 1000:.2f}"]
                    for name, found in (("between", quiet), ("beside wrong tokens", beside))
                ],
            ),
            f"{ratio:.2f} x; goal: at most {MOST_TIMES} x: {verdict(ratio <= MOST_TIMES)}. The server grew by "
            f"{grown / 2**20:.0f} MiB, and the minutes that are over have {len(entries)} entries.",
        ),
    )


@contextmanager
def _flood(server: Guarded, count: int) -> Iterator[subprocess.Popen[str]]:
    """A process that sends so many wrong tokens from now on, and ends then."""
    command = [sys.executable, "-m", "benchmarks.doors.flood", server.address, str(server.authority), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("\n")
        process.stdin.flush()
        yield process
        assert process.wait() == 0


def _seconds(client: Client, job: str) -> float:
    started = time.perf_counter()
    client.get_job(job)
    return time.perf_counter() - started


def _memory(server: Guarded) -> int:
    """Bytes of the server's process in memory."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{server.pid}/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) * 2**10
