"""Runs one piece of work in a process of its own, which reports its times and its peak of memory."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.problems import UnusableError
from tableveil.state.releases import Release, Searched

ROWS, MEMORY_LIMIT, THREADS = 10_000_000, "2GiB", 2
"""The size of a large table, and what its jobs may take."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of a process: seconds in total and by part, its peak of resident memory in bytes, and facts."""

    seconds: float
    parts: Mapping[str, float]
    peak_memory: int
    facts: Mapping[str, str]


def searched(release: Release) -> Searched:
    """The evidence of a release's search."""
    assert release.proof.searched is not None, "the search is what is measured"
    return release.proof.searched


def in_a_process(module: str, *arguments: object, **environment: str) -> Any:
    """Runs `python -m module arguments`, and reads the JSON that it prints.

    Raises:
        UnusableError: the process failed; the message is its last output.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    root, variables = Path(__file__).resolve().parents[1], os.environ | environment
    done = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise UnusableError(f"{' '.join(command[2:])}: {last}")
    return json.loads(done.stdout)


def peak_memory() -> int:
    """The peak of this process since its start; `getrusage` on Linux would include the process it was forked from."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) * 1024
    kilobytes = sys.platform != "darwin"
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1024 if kilobytes else 1)
