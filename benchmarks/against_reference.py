"""Section: the reference tool's optima under k-anonymity and loss, and the cost of finding them on a warm server."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.cases import read_cases
from benchmarks.markdown import seconds, table, times
from benchmarks.measured import searched
from benchmarks.prepared import Prepared, Result, Tables, run_case
from benchmarks.reference import as_table, missed
from benchmarks.section import Section, verdict
from benchmarks.service import LocalService, Run

TITLE = "Reference cases"
IDS = "a-*"

MOST_CHECKS = {"a-adult-k5-s0.05-loss-gm": 370, "a-fars-k5-s0.05-loss-gm": 345}

ROUNDS = 5
SECONDS_PER_CASE = 30.0


@dataclass(frozen=True, slots=True)
class _Timed:
    """A case, how its first run went, and the medians of the later ones (or the first, if it took too long)."""

    result: Result
    rounds: int
    group_by: float
    search: float
    job: float


def against_reference(shared: Path) -> Section:
    """Runs the cases in `shared`; says so if there are none."""
    cases, data = shared / "reference" / "arx.jsonl", shared / "data"
    if not cases.is_file():
        return Section(TITLE, (f"Skipped: there is no `{cases}`.",))
    tables = Tables(data)
    prepared = tables.prepare(read_cases(cases, IDS))
    with tempfile.TemporaryDirectory() as folder, LocalService(Path(folder, "reference.duckdb")) as service:
        timed = [_timed(case, tables, service) for case in prepared if isinstance(case, Prepared)]
    results = [each.result for each in timed]
    goals = list(_goals(results))
    return Section(
        TITLE,
        (
            "Every optimum must equal the reference's, to 1e-9. A check counts the classes of one transformation.",
            as_table(results),
            "Numbers of checks:",
            table(("case", "checks", "goal", ""), (row for row, _ in goals)),
            "Times on a warm server, and as multiples of one plain GROUP BY over the same columns of the raw table "
            "(all groups read), run in turn with the jobs under the same settings; medians. A slow case is run once.",
            table(
                ("case", "rounds", "GROUP BY s", "search s", "of GROUP BY", "whole job s", "of GROUP BY"),
                map(_row, timed),
            ),
        ),
        sound=not missed(results) and all(met for _, met in goals),
    )


def _timed(case: Prepared, tables: Tables, service: LocalService) -> _Timed:
    """The first run is compared with the reference and warms up; as many more are timed as there is time for."""
    source, quasi_identifiers = case.policy.source.table, case.case.quasi_identifiers
    result = run_case(case, tables, service)
    service.group_by(source, quasi_identifiers)
    rounds = min(ROUNDS, int(SECONDS_PER_CASE / result.run.seconds))
    runs: list[Run] = []
    beside: list[float] = []
    for _ in range(max(rounds, 1)):
        beside.append(service.group_by(source, quasi_identifiers))
        runs.append(service.run(case.policy) if rounds else result.run)
    searches = [run.release.proof.seconds for run in runs if run.release is not None]
    job = median(run.seconds for run in runs)
    return _Timed(result, len(runs), median(beside), median(searches or [math.nan]), job)


def _goals(results: list[Result]) -> Iterator[tuple[list[str], bool]]:
    for result in results:
        goal, release = MOST_CHECKS.get(result.case.id), result.run.release
        if goal is not None:
            met = release is not None and searched(release).checked <= goal
            checks = "none" if release is None else str(searched(release).checked)
            yield [result.case.id, checks, f"at most {goal}", verdict(met)], met


def _row(timed: _Timed) -> list[str]:
    return [
        timed.result.case.id,
        str(timed.rounds),
        f"{timed.group_by:.4f}",
        seconds(timed.search),
        times(timed.search / timed.group_by),
        seconds(timed.job),
        times(timed.job / timed.group_by),
    ]
