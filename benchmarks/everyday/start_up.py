"""The CPU seconds of commands that only start: the help, and those that only ask the server."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.markdown import seconds, table
from benchmarks.section import verdict
from tableveil.identity.secret import token_file
from tests.running import running

STARTS = 5
HELP, BARE = "--help", "Python that imports gRPC"
MOST_HELP, MOST_ASKING = 0.15, 0.30

ASKING = (
    *(
        "info",
        "health",
        "tables",
        "describe main.small",
        "jobs",
        "releases",
        "results frontiers",
        "loads",
        "schemas list",
    ),
    *("tokens list", "grants list", "worksheets list", "hierarchies list", "audit show"),
)

Starts = Mapping[str, float]
"""Per command, the median of its CPU seconds."""


def started() -> Starts:
    """Each command as a process of its own, several times, with a server that has one small table."""
    command = [sys.executable, "-m", "tableveil.cli"]
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "started.duckdb")
        rows = Path(folder, "small.csv")
        rows.write_text("age\n1\n2\n", encoding="utf-8")
        subprocess.run([*command, "load", rows, "main.small", "--database", database], check=True, capture_output=True)
        with running("serve", "--database", str(database), "--address", "127.0.0.1:0") as address:
            environment = {**os.environ, "TABLEVEIL_SERVER": address, "TABLEVEIL_TOKEN_FILE": str(token_file(database))}
            words = {
                BARE: [sys.executable, "-c", "import grpc"],
                HELP: [*command, HELP],
                **{asking: [*command, *asking.split()] for asking in ASKING},
            }
            return {name: median(_cpu(line, environment) for _ in range(STARTS)) for name, line in words.items()}


def section(found: Starts, before: Starts | None, reference: str) -> str:
    """The seconds as Markdown, beside those of another commit if there are any, against their goals."""
    headers = ["command", "CPU s", *([f"at {reference}"] if before is not None else [])]
    rows = [[name, *(seconds(side[name]) for side in (found, before) if side is not None)] for name in found]
    slowest = max(ASKING, key=lambda name: found[name])
    goals = (
        f"{name}: {found[name]:.2f} CPU s; goal: at most {most:g}: {verdict(found[name] <= most)}."
        for name, most in ((f"{HELP}", MOST_HELP), (slowest, MOST_ASKING))
    )
    return "\n\n".join(("## Start of commands", table(headers, rows), *goals))


def _cpu(command: Sequence[object], environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
