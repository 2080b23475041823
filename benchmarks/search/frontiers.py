"""Section: a frontier in one search, against a search of its own for each pair of a k and a limit."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.markdown import seconds, table
from benchmarks.search.in_memory import Instance, instances
from benchmarks.section import Section
from tableveil.control import Control
from tableveil.policy import KAnonymity
from tableveil.privacy import privacy_of
from tableveil.search import exact
from tableveil.search.frontier import FrontierProblem, frontier

TITLE = "The frontier: all pairs of a k and a suppression limit at once"

CASES = (
    ("a-adult-k5-s0.05-loss-gm", range(2, 21), (0.0, 0.01, 0.05)),
    ("a-fars-k5-s0.05-loss-gm", range(2, 11), (0.0, 0.01, 0.05)),
    ("a-mach201910-k5-s0.05-loss-gm", range(2, 11), (0.01, 0.05)),
)
"""A reference case, whose own limit is the largest; ks; limits, ascending."""


def frontiers(shared: Path) -> Section:
    """Runs the cases; says so if there is no data."""
    if not (shared / "data").is_dir():
        return Section(TITLE, (f"Skipped: there is no `{shared / 'data'}`.",))
    rows = [_row(instances(shared, (id_,))[0], ks, limits) for id_, ks, limits in CASES]
    headers = ("table", "pairs", "checked", "by searches of their own", "CPU s", "of these", "")
    return Section(TITLE, (table(headers, rows),), sound=all(not row[-1] for row in rows))


def _row(instance: Instance, ks: Sequence[int], limits: Sequence[float]) -> list[str]:
    problem = instance.problem()
    rules = [privacy_of((KAnonymity(k),), problem.counter) for k in ks]
    suppressible = [int(limit * problem.counter.records) for limit in limits]
    started = time.process_time()
    asked = FrontierProblem(problem.lattice, problem.counter, problem.quality, tuple(rules), tuple(suppressible))
    at_once = frontier(asked, Control())
    between = time.process_time()
    outcomes = [
        [exact(replace(problem, privacy=rule, suppressible=number), Control()) for number in suppressible]
        for rule in rules
    ]
    ended = time.process_time()
    differs = [
        (point.best and point.best.key) != (outcome.best and outcome.best.key)
        for points, of_k in zip(at_once.points, outcomes, strict=True)
        for point, outcome in zip(points, of_k, strict=True)
    ]
    return [
        instance.name,
        f"k {ks[0]} to {ks[-1]}, limits {', '.join(f'{limit:.0%}' for limit in limits)}",
        f"{at_once.checked:,}",
        f"{sum(outcome.checked for of_k in outcomes for outcome in of_k):,}",
        seconds(between - started),
        seconds(ended - between),
        "**another optimum**" if any(differs) else "",
    ]
