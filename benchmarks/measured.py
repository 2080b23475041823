"""Runs one piece of work in a process of its own, which reports its times and its peak of memory.

python -m benchmarks.measured job|repeated|beside|local DATABASE MEMORY_LIMIT THREADS
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path

from benchmarks.discharges import TABLE, wide_policy
from benchmarks.problems import UnusableError
from benchmarks.service import TARGET, LocalService
from tableveil.policy import Aggregate, LossModel, SearchOptions
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.state.releases import Release, Searched

JOB, REPEATED, BESIDE, LOCAL = "job", "repeated", "beside", "local"

K = 5
TIMES = 3
"""The number of copies that `REPEATED` expects of every row.

Its k is larger by this factor, so that its search equals that of `JOB`.
"""

OUTSIDE = "outside the phases"
FULL_DOMAIN = "the full-domain job"


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


def measure(work: str, database: Path, memory_limit: str, threads: int) -> Measured:
    """Does the work in a new process.

    Raises:
        UnusableError: the process failed; the message is its last output.
    """
    command = [sys.executable, "-m", "benchmarks.measured", work, str(database), memory_limit, str(threads)]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise UnusableError(f"{work} on {database.name}: {last}")
    return Measured(**json.loads(done.stdout))


def _job(service: LocalService, k: int = K) -> Measured:
    """The whole job, by phase."""
    run = service.run(wide_policy(k))
    if run.release is None:
        sys.exit(f"the job failed: {run.failure}")
    release = run.release
    facts = {
        "optimal": str(release.proof.optimal),
        "score": f"{release.score:.6f}",
        "suppressed": f"{release.suppressed_records / release.records:.2%}",
        "classes": f"{release.classes:,}",
        "combinations": f"{release.risk_before.classes:,}",
        "checks": str(searched(release).checked),
        "search per check": f"{1000 * release.proof.seconds / searched(release).checked:.1f} ms",
        "counted by": release.proof.counter,
    }
    return Measured(run.seconds, {**release.phase_seconds, OUTSIDE: run.outside_phases}, peak_memory(), facts)


def _local(service: LocalService) -> Measured:
    """Local recoding, whose search may take as long as the whole full-domain job that runs before it."""
    policy = replace(wide_policy(), quality_model=LossModel(Aggregate.ARITHMETIC_MEAN))
    whole = service.run(policy)
    limit = SearchOptions(time_limit_seconds=Decimal(f"{whole.seconds:.3f}"))
    run = service.run(replace(policy, methods=(LocalRecoding(),), search=limit))
    if whole.release is None or run.release is None:
        sys.exit(f"a job failed: {whole.failure or run.failure}")
    release = run.release
    facts = {
        "score of full-domain generalization": f"{whole.release.score:.6f}",
        "score": f"{release.score:.6f}",
        "bound": f"{release.proof.lower_bound:.6f}",
        "classes": f"{release.classes:,}",
        "combinations": f"{release.risk_before.classes:,}",
        "strategy": release.proof.strategy,
    }
    parts = {**release.phase_seconds, OUTSIDE: run.outside_phases, FULL_DOMAIN: whole.seconds}
    return Measured(run.seconds, parts, peak_memory(), facts)


def _beside(service: LocalService) -> Measured:
    """The comparison for a job: a copy of the rows, and one GROUP BY over the quasi-identifiers."""
    started = time.monotonic()
    with service.session() as session:
        session.execute(f"CREATE TABLE {TARGET.schema}.copied AS SELECT * FROM main.{TABLE}")
    copied = time.monotonic() - started
    grouped = service.group_by(TABLE, [attribute.column for attribute in wide_policy().quasi_identifiers])
    return Measured(copied + grouped, {"CREATE TABLE AS": copied, "GROUP BY": grouped}, peak_memory(), {})


def peak_memory() -> int:
    """The peak of this process since its start; `getrusage` on Linux would include the process it was forked from."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) * 1024
    kilobytes = sys.platform != "darwin"
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1024 if kilobytes else 1)


WORK: Mapping[str, Callable[[LocalService], Measured]] = {
    JOB: _job,
    REPEATED: partial(_job, k=TIMES * K),
    BESIDE: _beside,
    LOCAL: _local,
}


if __name__ == "__main__":
    work, database, memory_limit, threads = sys.argv[1:]
    with LocalService(Path(database), memory_limit, int(threads)) as service:
        print(json.dumps(asdict(WORK[work](service))))
