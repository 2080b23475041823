"""Section: the price of joining the rows of two releases, as a release by a reason does before it becomes public."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.discharges import CACHE
from benchmarks.markdown import table, times
from benchmarks.section import Section
from benchmarks.service import LocalService
from tableveil.lifecycle.joined import joined

ROWS, K = 100_000, 5
KINDS = (("8", "8"), ("8", "all"), ("all", "8"), ("300", "300"))
"""Records of each class of the earlier and of the new release; 300 are the dearest."""

COLUMNS = ("charge", "ward", "month", "sex")
VALUES = (ROWS // 20, 100, 10, 2)


def joins() -> Section:
    """The CPU seconds of a join by four columns, beside a grouped scan of the new rows by their class and values."""
    return Section(
        "Rows of two releases joined",
        (
            f"{ROWS:,} rows of random classes, columns of {', '.join(map(str, VALUES))} values in both; two threads.",
            table(
                ("records of a class, earlier", "new", "grouped scan, CPU ms", "join, CPU ms", "of the scan"), _rows()
            ),
        ),
    )


def _rows() -> Iterator[tuple[str, ...]]:
    CACHE.mkdir(exist_ok=True)
    with (
        TemporaryDirectory(dir=CACHE) as directory,
        LocalService(Path(directory) / "rows.duckdb", threads=2) as service,
    ):
        for kind in KINDS:
            with service.session() as session:
                for name, size in zip(("earlier_rows", "new_rows"), kind, strict=True):
                    class_ = "0" if size == "all" else f"hash(i, '{name}') % {ROWS // int(size)}"
                    values = ", ".join(f"hash(hash(i, {c}) % {n}) AS u{c}" for c, n in enumerate(VALUES))
                    session.execute(
                        f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT hash({class_}) AS class, {values} "
                        f"FROM range({ROWS}) r(i)"
                    )
                began = time.process_time()
                session.rows("SELECT count(*) FROM (SELECT 1 FROM new_rows GROUP BY class, u0, u1, u2, u3)")
                scan = time.process_time() - began
                joined(session, "earlier_rows", "new_rows", COLUMNS, K)
                whole = time.process_time() - began - scan
            yield (*kind, f"{1000 * scan:.0f}", f"{1000 * whole:.0f}", times(whole / scan))
