"""Prints times and weights: `python -m benchmarks.console [--releases N] [--visitors N]`.

The weights are those of pages with nothing in the cache. Each visitor has a session of their own, as a steward of one
schema, an approver or an admin, and thinks between two pages. A job runs for the whole time. Times are those of whole
answers, as a client on the same machine sees them.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.console.crowd import HURRYING, READING, jobs_beside, visit_together
from benchmarks.console.house import STANDING, build, decided
from benchmarks.console.visitor import Visitor, pages, parts_of, wait_for
from tableveil.client import Client
from tableveil.identity.secret import token_file
from tableveil.v1 import access_pb2, access_service_pb2
from tests.running import running

MOST_SECONDS = 0.150
MOST_BYTES = 200_000

_ROLES = (
    ("steward", (access_pb2.ACCESS_ROLE_STEWARD,), 30),
    ("approver", (access_pb2.ACCESS_ROLE_APPROVER,), 12),
    ("admin", (access_pb2.ACCESS_ROLE_ADMIN, access_pb2.ACCESS_ROLE_AUDITOR), 8),
)
"""Roles, and how many of 50 visitors have them."""

_OWNERS = 5
"""Visitors who own the job that runs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Times fail nothing, weights do."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=__doc__)
    parser.add_argument("--releases", type=int, default=10_000)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0, help="How long the visitors stay, at each pace.")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="console-") as name:
        database = Path(name) / "house.duckdb"
        build(database, given.releases, given.tables)
        with (
            running(
                *("serve", "--database", str(database), "--address", "127.0.0.1:0", "--needs-approval", "main")
            ) as service,
            running("console", "--service", service, "--address", "127.0.0.1:0") as address,
            Client(service, token_file=token_file(database)) as client,
        ):
            wait_for(address)
            waiting = decided(client)
            tokens = _tokens(client, given.visitors)
            visitors = [
                (Visitor.of(address, secret), pages(waiting, 2 + number % STANDING)[role])
                for number, (secret, role) in enumerate(tokens)
            ]
            one_each = {role: each for each, (_, role) in zip(visitors, tokens, strict=True)}
            print(f"{given.releases:,} releases, {given.tables:,} tables, load of the machine {os.getloadavg()[0]:.1f}")
            heavy = _alone(one_each)
            mine = Path(name) / "steward.token"
            mine.touch(mode=0o600)
            mine.write_text(tokens[0][0], encoding="utf-8")
            for thinking in (READING, HURRYING):
                _crowd(service, mine, visitors, given.seconds, thinking)
    return 1 if heavy else 0


def _tokens(client: Client, visitors: int) -> list[tuple[str, str]]:
    """Tokens and roles of visitors: stewards and approvers of a schema, and admins; the first are one steward."""
    made: list[tuple[str, str]] = []
    places = [(role, kinds) for role, kinds, share in _ROLES for _ in range(share)]
    for number in range(visitors):
        role, kinds = places[number * len(places) // visitors]
        if 0 < number < _OWNERS and role == made[0][1]:
            made.append(made[0])
            continue
        name = f"{role}{number}"
        schema = "" if role == "admin" else "main"
        for one in kinds:
            client.add_grant(access_service_pb2.GrantRule(principal=name, role=one, schema=schema))
        made.append((client.create_token(name, "benchmark").secret, role))
    return made


def _alone(one_each: dict[str, tuple[Visitor, Sequence[str]]], times: int = 7) -> bool:
    """Prints weight and time of each page; whether one is heavier than the goal."""
    heaviest, slowest = 0, 0.0
    for role, (visitor, paths) in one_each.items():
        for path in paths:
            _, page = visitor.get(path)
            parts = parts_of(page)
            weight = len(page) + sum(len(visitor.get(part)[1]) for part in parts)
            took = statistics.median(visitor.get(path)[0] for _ in range(times))
            heaviest, slowest = max(heaviest, weight), max(slowest, took)
            print(
                f"  {role:<9} {path:<40} {weight:>8,} bytes in {1 + len(parts)} requests  {1000 * took:>4.0f} ms, alone"
            )
    print(f"  goal: at most {MOST_BYTES:,} bytes: {_verdict(heaviest <= MOST_BYTES)}; slowest: {1000 * slowest:.0f} ms")
    return heaviest > MOST_BYTES


def _crowd(
    service: str, owner: Path, visitors: Sequence[tuple[Visitor, Sequence[str]]], seconds: float, thinking: float
) -> None:
    """Prints the 95th percentile of all answers beside a running job; the goal is that of visitors who read."""
    with jobs_beside(service, owner) as beside:
        began = time.monotonic()
        visits = visit_together(visitors, min(_OWNERS, len(visitors)), beside, seconds, thinking)
        stayed = time.monotonic() - began
    by_page: defaultdict[str, list[float]] = defaultdict(list)
    for path, times in visits.taken.items():
        by_page[re.sub(r"releases/\d+", "releases/…", path)] += times
    for path, times in sorted(by_page.items(), key=lambda one: -statistics.median(one[1])):
        print(f"  {path:<40} {len(times):>4} times, median {1000 * statistics.median(times):>4.0f} ms", flush=True)
    everything = sorted(took for times in visits.taken.values() for took in times)
    p95 = everything[int(0.95 * (len(everything) - 1))] if everything else float("nan")
    states = ", ".join(f"{count} {state}" for state, count in beside.ended.items())
    pace = " (TPC-W)" if thinking == READING else ""
    print(
        f"  {len(visitors)} visitors, {thinking:.0f} s a thought{pace}, {len(everything)} answers in {stayed:.0f} s; "
        f"beside them jobs ran for {min(beside.running_seconds, stayed):.0f} s ({states or 'none'} meanwhile, "
        f"the last one was cancelled); refused as too many at once: {dict(visits.refused) or 'none'}"
    )
    if everything:
        goal = f"; goal: at most {1000 * MOST_SECONDS:.0f} ms: {_verdict(p95 <= MOST_SECONDS)}"
        figures = f"  median {1000 * statistics.median(everything):.0f} ms, p95 {1000 * p95:.0f} ms"
        print(figures + (goal if thinking == READING else ""))


def _verdict(reached: bool) -> str:
    return "met" if reached else "missed"


if __name__ == "__main__":
    sys.exit(main())
