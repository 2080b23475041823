"""Section: local recoding of a million distinct combinations, against the full-domain job beside it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.discharges import CACHE, discharges
from benchmarks.large import MEMORY_LIMIT, THREADS
from benchmarks.markdown import seconds, table, times
from benchmarks.measured import FULL_DOMAIN, LOCAL, measure
from benchmarks.problems import UnusableError
from benchmarks.section import Section, verdict

TITLE = "Local recoding of a large table"
ROWS = 1_001_000
"""They have a million distinct combinations."""

MOST_MEMORY = 4 * 2**30
MOST_TIMES = 3.0


def large() -> Section:
    """Both jobs one after the other, in one process."""
    try:
        with tempfile.TemporaryDirectory(dir=CACHE if CACHE.exists() else None) as folder:
            copy = shutil.copyfile(discharges(ROWS), Path(folder, "copy.duckdb"))
            found = measure(LOCAL, copy, MEMORY_LIMIT, THREADS)
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
