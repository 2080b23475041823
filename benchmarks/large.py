"""Section: a large table under a memory limit, against a copy and one GROUP BY of it, and how each phase grows."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.discharges import CACHE, discharges, repeat, wide_policy
from benchmarks.markdown import seconds, table, times
from benchmarks.measured import BESIDE, JOB, REPEATED, TIMES, K, Measured, measure
from benchmarks.problems import UnusableError
from benchmarks.section import Section, verdict

TITLE = "A large table"
DEFAULT_ROWS = 10_000_000
FRACTION = 10
MEMORY_LIMIT = "2GiB"
THREADS = 2

MOST_MEMORY = 3 * 2**30
MOST_TIMES = 8.0


@dataclass(frozen=True, slots=True)
class _Measurements:
    """The runs at one number of rows, in turn; `repeated` are jobs on `TIMES` times the rows, all else being equal."""

    rows: int
    jobs: Sequence[Measured]
    repeated: Sequence[Measured]
    beside: Sequence[Measured]

    @property
    def ratio(self) -> float:
        """Median of the ratios of runs that were made one after the other."""
        return median(job.seconds / beside.seconds for job, beside in zip(self.jobs, self.beside, strict=True))


def large(rows: int, runs: int) -> Section:
    """Runs the jobs, each in a process of its own."""
    try:
        small, full = (_measurements(count, runs) for count in (max(rows // FRACTION, 1), rows))
    except UnusableError as error:
        return Section(TITLE, (f"Failed: {error}",), sound=False)
    columns = [attribute.column for attribute in wide_policy().quasi_identifiers]
    return Section(
        TITLE,
        (
            f"Generated discharges, {len(columns)} quasi-identifiers ({', '.join(columns)}), k = {K}, at most 5 % "
            f"suppressed; memory_limit {MEMORY_LIMIT}, {THREADS} threads. Each job runs in a process of its own, in "
            "turn with `CREATE TABLE AS SELECT *` and one GROUP BY over the quasi-identifiers (all groups read) in "
            f"another; medians of {runs}, memory at its highest.",
            table(
                ("rows", "job s", "CREATE TABLE AS s", "GROUP BY s", "ratio", "job's peak memory", "the other's"),
                map(_totals, (small, full)),
            ),
            _goals(full),
            "By phase:",
            table(("phase", f"{small.rows:,} rows: s", f"{full.rows:,} rows: s", "growth", ""), _growth(small, full)),
            f"With every record {TIMES} times and k = {TIMES * K}, the combinations and the search are the same:",
            table(("rows", "combinations", "checks", "search s", "ratio"), _repeated(small, full)),
            "The jobs found:",
            table(("", f"{small.rows:,} rows", f"{full.rows:,} rows"), _facts(small, full)),
        ),
    )


def _measurements(rows: int, runs: int) -> _Measurements:
    database = discharges(rows)
    jobs, repeated, beside = [], [], []
    for _ in range(runs):
        beside.append(_on_a_copy(BESIDE, database))
        jobs.append(_on_a_copy(JOB, database))
        repeated.append(_on_a_copy(REPEATED, database))
    return _Measurements(rows, jobs, repeated, beside)


def _on_a_copy(work: str, database: Path) -> Measured:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        copy = shutil.copyfile(database, Path(folder, "copy.duckdb"))
        if work == REPEATED:
            repeat(copy, TIMES)
        return measure(work, copy, MEMORY_LIMIT, THREADS)


def _totals(found: _Measurements) -> list[str]:
    return [
        f"{found.rows:,}",
        seconds(_median(found.jobs)),
        *(seconds(_median(found.beside, part)) for part in found.beside[0].parts),
        times(found.ratio),
        *(_gibibytes(max(run.peak_memory for run in runs)) for runs in (found.jobs, found.beside)),
    ]


def _goals(full: _Measurements) -> str:
    peak = max(run.peak_memory for run in full.jobs)
    return (
        f"Goals: peak memory at most {_gibibytes(MOST_MEMORY)}: {verdict(peak <= MOST_MEMORY)}; "
        f"time within {times(MOST_TIMES)} of the other: {verdict(full.ratio <= MOST_TIMES)}."
    )


def _growth(small: _Measurements, full: _Measurements) -> Iterator[list[str]]:
    more_rows = full.rows / small.rows
    for name, few, many in (("", small.jobs, full.jobs), ("beside: ", small.beside, full.beside)):
        for part in many[0].parts:
            before, after = _median(few, part), _median(many, part)
            growth = after / before
            slower = f"faster than the rows ({times(more_rows)})" if growth > more_rows else ""
            yield [name + part, seconds(before), seconds(after), times(growth), slower]


def _repeated(*measured: _Measurements) -> Iterator[list[str]]:
    for found in measured:
        ratio = median(
            more.parts["searching"] / job.parts["searching"]
            for job, more in zip(found.jobs, found.repeated, strict=True)
        )
        for rows, runs, shown in ((found.rows, found.jobs, ""), (TIMES * found.rows, found.repeated, times(ratio))):
            facts = runs[0].facts
            yield [f"{rows:,}", facts["combinations"], facts["checks"], seconds(_median(runs, "searching")), shown]


def _facts(small: _Measurements, full: _Measurements) -> list[list[str]]:
    return [[name, small.jobs[0].facts[name], fact] for name, fact in full.jobs[0].facts.items()]


def _median(runs: Sequence[Measured], part: str | None = None) -> float:
    return median(run.seconds if part is None else run.parts[part] for run in runs)


def _gibibytes(count: int) -> str:
    return f"{count / 2**30:.2f} GiB"
