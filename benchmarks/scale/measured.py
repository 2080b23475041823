"""Runs a release job, or the work beside it, in a process of its own, which reports seconds by part and its memory.

python -m benchmarks.scale.measured job|beside DATABASE MEMORY_LIMIT THREADS
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.measured import in_a_process, peak_memory, searched
from benchmarks.privacy.exposure import exposure_seconds
from benchmarks.scale.visits import TABLE, policy
from benchmarks.service import TARGET, LocalService
from tableveil.runtime import Job

JOB, BESIDE = "job", "beside"
GROUPED, WRITTEN, SORTED = "GROUP BY", "CREATE TABLE AS", "CREATE TABLE AS, sorted"


@dataclass(frozen=True, slots=True)
class Part:
    """Seconds of a part of the work, and the CPU seconds of its process in them."""

    seconds: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of a process: its parts, its peak of resident memory in bytes, and facts.

    `longest_still` is the longest time in seconds in which a watcher of the job saw nothing move. In so many CPU
    seconds of `exposure`, columns were judged that leave as they are.
    """

    parts: Mapping[str, Part]
    peak_memory: int
    longest_still: float = 0.0
    exposure: float = 0.0
    facts: Mapping[str, str] = field(default_factory=dict)


def measure(work: str, database: Path, memory_limit: str, threads: int) -> Measured:
    """Does the work in a new process.

    Raises:
        UnusableError: the process failed; the message is its last output.
    """
    found = in_a_process("benchmarks.scale.measured", work, database, memory_limit, threads)
    return Measured(**{**found, "parts": {name: Part(**part) for name, part in found["parts"].items()}})


class _Clock:
    """Seconds and CPU seconds by part."""

    def __init__(self) -> None:
        self.parts: dict[str, Part] = {}
        self._last = time.monotonic(), time.process_time()

    def ended(self, part: str) -> None:
        """The part took all that passed since the last one ended."""
        now = time.monotonic(), time.process_time()
        before = self.parts.get(part, Part(0.0, 0.0))
        self.parts[part] = Part(before.seconds + now[0] - self._last[0], before.cpu + now[1] - self._last[1])
        self._last = now


class _Stillness:
    """The longest time in which nothing that is seen changes."""

    def __init__(self) -> None:
        self._seen: object = None
        self._since = time.monotonic()
        self._longest = 0.0

    def saw(self, seen: object) -> None:
        """A watcher sees this now."""
        if seen != self._seen:
            self._longest = self.longest()
            self._seen, self._since = seen, time.monotonic()

    def longest(self) -> float:
        """Seconds of it up to now."""
        return max(self._longest, time.monotonic() - self._since)


def _job(service: LocalService) -> Measured:
    """The whole job by phase; a part ends when its watcher learns of the next phase."""
    clock, stillness = _Clock(), _Stillness()
    phase = "submitting"

    def watch(job: Job) -> None:
        nonlocal phase
        if job.phase is not None and job.phase.value.lower() != phase:
            clock.ended(phase)
            phase = job.phase.value.lower()
        stillness.saw((phase, job.progress, job.step))

    with exposure_seconds() as exposure:
        run = service.run(policy(), watch)
    clock.ended(phase)
    if run.release is None:
        sys.exit(f"the job failed: {run.failure}")
    release = run.release
    facts = {
        "combinations": f"{release.risk_before.classes:,}",
        "classes": f"{release.classes:,}",
        "suppressed": f"{release.suppressed_records / release.records:.2%}",
        "optimal": str(release.proof.optimal),
        "checks": str(searched(release).checked),
        "counted by": release.proof.counter,
        "counting": release.proof.counting,
    }
    return Measured(clock.parts, peak_memory(), stillness.longest(), sum(exposure.values()), facts)


def _beside(service: LocalService) -> Measured:
    """One GROUP BY over the quasi-identifiers with all groups written, and the rows written plainly and sorted."""
    names = [attribute.column for attribute in policy().quasi_identifiers]
    grouped = f"SELECT {', '.join(names)}, count(*) AS n FROM main.{TABLE} GROUP BY ALL"
    statements = {
        GROUPED: f"CREATE TEMPORARY TABLE grouped AS {grouped}",
        WRITTEN: f"CREATE TABLE {TARGET.schema}.written AS SELECT * FROM main.{TABLE}",
        SORTED: f"CREATE TABLE {TARGET.schema}.sorted AS SELECT * FROM main.{TABLE} ORDER BY ALL",
    }
    clock = _Clock()
    with service.session() as session:
        for name, statement in statements.items():
            session.execute(statement)
            clock.ended(name)
    return Measured(clock.parts, peak_memory())


WORK: Mapping[str, Callable[[LocalService], Measured]] = {JOB: _job, BESIDE: _beside}


if __name__ == "__main__":
    work, database, memory_limit, threads = sys.argv[1:]
    with LocalService(Path(database), memory_limit, int(threads)) as service:
        print(json.dumps(asdict(WORK[work](service))))
