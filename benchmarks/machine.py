"""Describes the machine on which the numbers were measured."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.markdown import table

PACKAGES = ("tableveil", "duckdb", "numpy", "pyarrow", "sqlglot", "protobuf")


def machine() -> str:
    """The machine, the versions and the date as a Markdown table."""
    return table(("machine and versions", ""), [*_facts().items()])


def _facts() -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "commit": _commit(),
        "CPU": f"{_cpu()}, {cores} cores",
        "memory": f"{memory / 2**30:.1f} GiB",
        "load before (1, 5, 15 min)": ", ".join(f"{load:.2f}" for load in os.getloadavg()),
        "system": platform.platform(),
        "Python": platform.python_version(),
        **{package: metadata.version(package) for package in PACKAGES},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()
