"""Section: local recoding of a million distinct combinations, against the full-domain job beside it.

python -m benchmarks.local.large DATABASE runs both in a process of its own.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import asdict, replace
from decimal import Decimal
from pathlib import Path

from benchmarks.discharges import CACHE, discharges, wide_policy
from benchmarks.markdown import seconds, table, times
from benchmarks.measured import MEMORY_LIMIT, THREADS, Measured, in_a_process, peak_memory
from benchmarks.problems import UnusableError
from benchmarks.section import Section, verdict
from benchmarks.service import LocalService
from tableveil.policy import Aggregate, LossModel, SearchOptions
from tableveil.policy.methods.local_recoding import LocalRecoding

TITLE = "Local recoding of a large table"
ROWS = 1_001_000
"""They have a million distinct combinations."""

MOST_MEMORY = 4 * 2**30
MOST_TIMES = 3.0
OUTSIDE, FULL_DOMAIN = "outside the phases", "the full-domain job"


def large() -> Section:
    """Both jobs one after the other, in one process."""
    try:
        source = discharges(ROWS)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            copy = shutil.copyfile(source, Path(folder, "copy.duckdb"))
            found = Measured(**in_a_process("benchmarks.local.large", copy))
    except UnusableError as error:
        return Section(TITLE, (f"Failed: {error}",), sound=False)
    beside = found.parts[FULL_DOMAIN]
    ratio = found.seconds / beside
    goals = (
        f"Goals: within {times(MOST_TIMES)} of the full-domain job: {verdict(ratio <= MOST_TIMES)}; peak memory at "
        f"most {MOST_MEMORY / 2**30:.0f} GiB: {verdict(found.peak_memory <= MOST_MEMORY)}."
    )
    return Section(
        TITLE,
        (
            f"Generated discharges, 8 quasi-identifiers, k = 5, memory_limit {MEMORY_LIMIT}, {THREADS} threads. Local "
            "recoding may search as long as the whole full-domain job took; memory is the highest of both.",
            table(
                ("full-domain job s", "local recoding s", "ratio", "peak memory"),
                [[seconds(beside), seconds(found.seconds), times(ratio), f"{found.peak_memory / 2**30:.2f} GiB"]],
            ),
            goals,
            table(("phase", "s"), [[name, seconds(part)] for name, part in found.parts.items()]),
            table(("", ""), map(list, found.facts.items())),
        ),
    )


def _both(service: LocalService) -> Measured:
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


if __name__ == "__main__":
    with LocalService(Path(sys.argv[1]), MEMORY_LIMIT, THREADS) as opened:
        print(json.dumps(asdict(_both(opened))))
