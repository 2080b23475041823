"""Section: how long `audit verify` takes, against a plain loop that reads and hashes the same file."""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.audit import verify
from tableveil.audit.entry import GENESIS, line_of
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now

TITLE = "Verifying an audit"
ENTRIES = 200_000
PAIRS = 5
MOST_TIMES = 2.0


def verified(entries: int = ENTRIES, pairs: int = PAIRS) -> Section:
    """Verifies a file of made-up calls."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "audit.jsonl"
        head = _write(path, entries)
        size = path.stat().st_size
        assert verify([path], head).entries == entries
        seconds = np.array([(_timed(lambda: verify([path], head)), _timed(lambda: _hash(path))) for _ in range(pairs)])
    taken, plain = np.median(seconds, axis=0)
    ratio = float(np.median(seconds[:, 0] / seconds[:, 1]))
    return Section(
        TITLE,
        (
            f"{entries:,} entries, {size / 2**20:.0f} MiB, {pairs} times in turn.",
            table(
                ("what", "seconds"),
                [["verify, with a head", f"{taken:.3f}"], ["a loop that hashes each line", f"{plain:.3f}"]],
            ),
            f"{ratio:.2f} x; goal: at most {MOST_TIMES} x: {verdict(ratio <= MOST_TIMES)}.",
        ),
    )


def _write(path: Path, entries: int) -> str:
    head = GENESIS
    with path.open("wb") as file:
        for number in range(entries):
            entry = AuditEntry(
                now(),
                AuditEvent.CALL,
                "anna",
                "TOKEN",
                f"ipv4:10.0.0.1:{number % 65536}",
                "/tableveil.v1.JobService/GetJob",
                (f"jobs/{number}",),
                "ALLOWED",
                "OK",
                correlation=os.urandom(8).hex(),
                seconds=0.001,
            )
            line = line_of(entry, head)
            file.write(line)
            head = head.after(line)
    return head.hash


def _hash(path: Path) -> str:
    digest = ""
    with path.open("rb") as file:
        for line in file:
            digest = hashlib.sha256(line).hexdigest()
    return digest


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
