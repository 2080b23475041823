"""Section: the estimated tables of ever more rows under a memory limit, without their fits, against plain copies.

python -m benchmarks.scale.estimated DATABASE ROWS
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlglot import exp

from benchmarks.discharges import CACHE, demo_policy, discharges
from benchmarks.markdown import table as markdown
from benchmarks.markdown import times
from benchmarks.measured import in_a_process, peak_memory
from benchmarks.section import Section, verdict
from benchmarks.service import TARGET, LocalService
from tableveil.backend import Session, create_table, drop, sql, table
from tableveil.estimates import ASSUMPTIONS, Estimator
from tableveil.release import estimates, objects
from tableveil.release.plan import ReleasePlan

MEMORY_LIMIT, THREADS = "4GiB", 2
RELEASED = 20_000
"""The rows of the release that is repeated: estimates neither know nor care what a search costs."""

COPY, ONE, FIVE, FITS = "copy of the rows", "one table", "five tables", "fits of five"
GOALS: Mapping[int, tuple[float, float]] = {1_000_000: (3.0, 12.0), 10_000_000: (30.0, 120.0)}
"""By rows: the CPU seconds of one table and of five."""

MOST_COPIES = 3.0, 12.0
"""One table and five may take so many times the CPU seconds of a copy, which runs in the same process before them.

A copy of 10 million rows took 10.2 CPU seconds where the goals are 30 and 120.
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """CPU seconds by part at a number of rows, and the peak of resident memory in bytes."""

    rows: int
    cpu: Mapping[str, float]
    peak_memory: int

    def copies(self, part: str) -> float:
        """CPU seconds of a part as a multiple of those of a copy."""
        return self.cpu[part] / self.cpu[COPY]


def estimated(sizes: Sequence[int]) -> Section:
    """Draws the tables of each size up to the greatest that has a goal, each in a process of its own."""
    found = [_drawn(rows) for rows in sizes if rows <= max(GOALS)]
    return Section(
        "Estimated tables of ever more rows",
        (
            f"The demo's release of {RELEASED:,} discharges, full domain, with three generalized numbers, repeated; "
            f"memory_limit {MEMORY_LIMIT}, {THREADS} threads. CPU seconds; tables are without their fits.",
            markdown(
                ("part", *(f"{of.rows:,} rows" for of in found)),
                [
                    *([part, *(f"{of.cpu[part]:.2f}" for of in found)] for part in (COPY, ONE, FIVE, FITS)),
                    *([f"{part} / {COPY}", *(times(of.copies(part)) for of in found)] for part in (ONE, FIVE)),
                    ["peak memory", *(f"{of.peak_memory / 2**30:.2f} GiB" for of in found)],
                ],
            ),
            *(_goals(of) for of in found if of.rows in GOALS),
        ),
    )


def _goals(of: Drawn) -> str:
    most = zip((ONE, FIVE), MOST_COPIES, GOALS[of.rows], strict=True)
    return f"Goals at {of.rows:,} rows: " + "; ".join(
        f"{part} at most {times(copies)} of a copy: {verdict(of.copies(part) <= copies)} (in {seconds:g} CPU seconds: "
        f"{verdict(of.cpu[part] <= seconds)})"
        for part, copies, seconds in most
    )


def _drawn(rows: int) -> Drawn:
    made = discharges(RELEASED)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        database = shutil.copyfile(made, Path(folder, "copy.duckdb"))
        return Drawn(**in_a_process("benchmarks.scale.estimated", database, rows))


class _Repeating(estimates.EstimatedTables):
    """Before a job draws its tables, those of so many rows are drawn and dropped."""

    rows = 0
    cpu: Mapping[str, float] = {}

    def __init__(self, session: Session, plan: ReleasePlan, rows: exp.Table, classes: exp.Table, id_: str) -> None:
        super().__init__(session, plan, rows, classes, id_)
        policy = replace(plan.policy, release=replace(plan.policy.release, name="repeated"))
        number, own = -(-self.rows // plan.kept_records), plan.source.reference.catalog
        labels, many, copy, *drawn = (
            table(name, policy.release.schema, own)
            for name in (policy.release.labels_name, "many", "copy", *(f"drawn{i}" for i, _ in enumerate(ASSUMPTIONS)))
        )
        query = f"SELECT of.* FROM $rows AS of, range({number}) LIMIT {self.rows}"
        session.execute(create_table(many, sql(query, rows=rows)))
        query = f"SELECT * REPLACE (records * {number} AS records) FROM $labels"
        known = table(plan.policy.release.labels_name, policy.release.schema, own)
        session.execute(create_table(labels, sql(query, labels=known)))
        repeated = replace(plan, policy=policy, classes=replace(plan.classes, counts=plan.classes.counts * number))
        tables = estimates.EstimatedTables(session, repeated, many, classes, id_)
        clock = _Clock()
        with patch.object(estimates, "Estimator", clock.fitting(Estimator)):
            session.execute(create_table(copy, sql("SELECT * FROM $rows", rows=many)))
            clock.ended(COPY)
            for part, assumptions in ((ONE, ASSUMPTIONS[:1]), (FIVE, ASSUMPTIONS)):
                tables.write(drawn[: len(assumptions)], assumptions)
                clock.ended(part)
                for name in drawn[: len(assumptions)]:
                    session.execute(drop("TABLE", name))
        for name in (labels, many, copy):
            session.execute(drop("TABLE", name))
        type(self).cpu = clock.parts


class _Clock:
    """CPU seconds by part; those of fits, of the last part, are one of their own."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._last = time.process_time()

    def ended(self, part: str) -> None:
        """The part took all that passed since the last one ended, but for fits."""
        now = time.process_time()
        self.parts[part] = now - self._last - self.parts.get(FITS, 0.0)
        if part == ONE:
            del self.parts[FITS]
        self._last = time.process_time()

    def fitting(self, made: Callable[..., Estimator]) -> Callable[..., Estimator]:
        """Fits that are timed."""

        def timed(*given: Any) -> Estimator:
            started = time.process_time()
            fitted = made(*given)
            self.parts[FITS] = self.parts.get(FITS, 0.0) + time.process_time() - started
            return fitted

        return timed


def _measure(database: Path, rows: int) -> Drawn:
    _Repeating.rows = rows
    policy = replace(demo_policy(), release=TARGET)
    service = LocalService(database, MEMORY_LIMIT, THREADS)
    with service, patch.object(objects, "EstimatedTables", _Repeating):
        run = service.run(policy, target=replace(TARGET, estimates=True))
    if run.release is None:
        sys.exit(f"the job failed: {run.failure}")
    return Drawn(rows, _Repeating.cpu, peak_memory())


if __name__ == "__main__":
    database, rows = sys.argv[1:]
    print(json.dumps(asdict(_measure(Path(database), int(rows)))))
