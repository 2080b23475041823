"""Prints the statements and CPU seconds of everyday jobs by phase: `make bench-everyday`.

With `--against REF` the code of that commit runs the same jobs, and stands beside.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.everyday.jobs import ADULT, Goal, measured_jobs
from benchmarks.everyday.meter import PHASES
from benchmarks.everyday.run import run
from benchmarks.machine import machine
from benchmarks.markdown import seconds, table
from benchmarks.section import verdict

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("engine", "proto", "service", "sql")
RUNS = 3

Figures = Mapping[str, Mapping[str, tuple[int, float]]]
"""Per job and phase, statements and CPU seconds."""


def measured(data: Path) -> Figures:
    """The figures of the code that Python finds: medians of several runs, after one that is not counted."""
    jobs = measured_jobs(data)
    run(jobs[0])
    found = {job.name: [run(job) for _ in range(RUNS)] for job in jobs}
    return {
        name: {phase: (runs[-1].statements[phase], median(of.seconds[phase] for of in runs)) for phase in PHASES}
        for name, runs in found.items()
    }


def measured_at(reference: str, data: Path) -> Figures:
    """The figures of another commit's code, in a worktree of its own and by the benchmark that stands here."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, reference], cwd=ROOT, check=True)
        try:
            paths = os.pathsep.join(map(str, (*(tree / layer for layer in LAYERS), ROOT)))
            command = [sys.executable, "-m", "benchmarks.everyday", "--json", "--data", str(data)]
            environment = {**os.environ, "PYTHONPATH": paths}
            # Python would take the benchmarks of the folder that it starts in.
            done = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    options = _parser().parse_args(arguments)
    found = measured(options.data)
    if options.json:
        print(json.dumps(found))
        return 0
    before = measured_at(options.against, options.data) if options.against else {}
    print("# Everyday jobs", machine(), sep="\n\n")
    goals = {job.name: job.goal for job in measured_jobs(options.data)}
    for job, phases in found.items():
        told = _against_goal(phases, goals[job])
        print("", f"## {job}", _table(phases, before.get(job), options.against), *told, sep="\n\n")
    whole, dry_run = (_cpu(found[name]) for name in (ADULT, f"{ADULT}, dry run"))
    goal = f"goal: at most its CPU seconds: {verdict(dry_run <= whole)}."
    print("", f"A dry run takes {dry_run / whole:.2f} of the release on adult; {goal}", sep="\n")
    return 0


def _cpu(phases: Mapping[str, tuple[int, float]], without: str = "") -> float:
    return sum(cpu for phase, (_, cpu) in phases.items() if phase != without)


def _against_goal(phases: Mapping[str, tuple[int, float]], goal: Goal | None) -> Iterator[str]:
    if goal is None:
        return
    took = _cpu(phases, "searching" if goal.above_search else "")
    what = "The job above its search" if goal.above_search else "The whole job"
    yield f"{what}: {took:.2f} CPU s; goal: at most {goal.seconds:g}: {verdict(took <= goal.seconds)}."
    if goal.statements is not None:
        statements = sum(count for count, _ in phases.values())
        met = verdict(statements <= goal.statements)
        yield f"{statements} statements; goal: at most {goal.statements}: {met}."


def _table(
    phases: Mapping[str, tuple[int, float]], before: Mapping[str, tuple[int, float]] | None, reference: str
) -> str:
    sides = [phases] if before is None else [phases, before]
    headers = ["phase", "statements", "CPU s", *((f"at {reference}", "CPU s") if before is not None else ())]
    rows = [(phase, [side[phase] for side in sides]) for phase in PHASES]
    sums = [(sum(side[phase][0] for phase in PHASES), sum(side[phase][1] for phase in PHASES)) for side in sides]
    rows.append(("whole", sums))
    return table(headers, ([phase, *(text for n, cpu in of for text in (str(n), seconds(cpu)))] for phase, of in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.everyday", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--against", default="", metavar="REF", help="a commit to compare with")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="holds adult/ (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
