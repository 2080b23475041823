"""Section: the time that a job on a small table spends outside its phases."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.discharges import demo_policy, discharges
from benchmarks.markdown import table
from benchmarks.measured import OUTSIDE
from benchmarks.section import Section, verdict
from benchmarks.service import LocalService, Run

TITLE = "Overhead of a small job"
ROWS = 1000
RUNS = 20
WARM_UP = 2
MOST_SECONDS = 0.1


def overhead() -> Section:
    """Runs the demo's policy again and again."""
    policy = demo_policy()
    with tempfile.TemporaryDirectory() as folder:
        database = Path(shutil.copyfile(discharges(ROWS), Path(folder, "small.duckdb")))
        with LocalService(database) as service:
            runs = [service.run(policy) for _ in range(WARM_UP + RUNS)][WARM_UP:]
    failed = [run.failure for run in runs if run.failure is not None]
    if failed:
        return Section(TITLE, (f"Failed: {failed[0]}",), sound=False)
    outside = median(run.outside_phases for run in runs)
    return Section(
        TITLE,
        (
            f"{ROWS:,} rows, {len(policy.quasi_identifiers)} quasi-identifiers, warm server, medians of {RUNS}. "
            "Reading is the checks of policy, hierarchies and rows. Outside the phases are submission, queue, "
            "bookkeeping, commit, and the look at what was written.",
            table(("part of the job", "ms"), _parts(runs)),
            f"Goal: less than {1000 * MOST_SECONDS:.0f} ms outside the phases: {verdict(outside < MOST_SECONDS)}.",
        ),
    )


def _parts(runs: list[Run]) -> list[list[str]]:
    releases = [run.release for run in runs if run.release is not None]
    parts = {phase: median(release.phase_seconds[phase] for release in releases) for phase in releases[0].phase_seconds}
    parts[OUTSIDE] = median(run.outside_phases for run in runs)
    parts["from submission to outcome"] = median(run.seconds for run in runs)
    return [[name, f"{1000 * value:.1f}"] for name, value in parts.items()]
