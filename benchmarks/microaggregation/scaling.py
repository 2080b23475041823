"""Section: clusters of large tables, each in a process of its own that reports its time and its peak of memory.

python -m benchmarks.microaggregation.scaling METHOD RECORDS COLUMNS
"""

import json
import sys
import time

from benchmarks.markdown import seconds, table
from benchmarks.measured import in_a_process, peak_memory
from benchmarks.microaggregation.generated import generated
from benchmarks.microaggregation.methods import K
from benchmarks.section import Section, verdict
from tableveil.control import Control
from tableveil.microaggregation import cluster, squared_error
from tableveil.policy.methods.microaggregation import Clustering, Microaggregation

SIZES = (
    (Clustering.PARTITION, 250_000, 5),
    (Clustering.PARTITION, 500_000, 5),
    (Clustering.PARTITION, 1_000_000, 5),
    (Clustering.UNIVARIATE, 1_000_000, 1),
)
MOST_SECONDS = 60.0
"""CPU seconds for the largest."""

LINEAR = 1.25
"""The factor by which the largest may take more memory per record than the smallest."""


def scaling() -> Section:
    """Sound if no process fails."""
    rows, per_record, largest = [], [], 0.0
    for method, records, columns in SIZES:
        found = _measured(method, records, columns)
        kept = found["memory"] / records
        if method is Clustering.PARTITION:
            per_record.append(kept)
            largest = found["seconds"]
        cells = [seconds(found["seconds"]), f"{1e6 * found['seconds'] / records:.1f}", f"{found['error']:.6f}"]
        rows.append([f"{method}, {records:,} records, {columns} QIs", *cells, f"{kept:,.0f}"])
    ratio = per_record[-1] / per_record[0]
    goals = [
        [
            "CPU seconds of a million records, 5 QIs",
            seconds(largest),
            f"{MOST_SECONDS:.0f}",
            verdict(largest < MOST_SECONDS),
        ],
        ["memory per record of a million to that of a quarter", f"{ratio:.2f}", f"{LINEAR}", verdict(ratio <= LINEAR)],
    ]
    return Section(
        "Clusters of large tables",
        (
            f"Normal data, k = {K}, one thread. Memory: the most that the process had on top of what it had with the "
            "points, bytes per record.",
            table(("", "CPU s", "us per record", "SSE/SST", "bytes per record"), rows),
            table(("", "found", "at most", ""), goals),
        ),
    )


def _measured(method: Clustering, records: int, columns: int) -> dict[str, float]:
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    found: dict[str, float] = in_a_process(__spec__.name, method, records, columns, **one_thread)
    return found


def _measure(method: Clustering, records: int, columns: int) -> dict[str, float]:
    points = generated("normal", records, columns)
    before, started = peak_memory(), time.process_time()
    found = cluster(points, K, Microaggregation(method), Control())
    taken, memory = time.process_time() - started, peak_memory() - before
    return {"seconds": taken, "memory": memory, "error": squared_error(points, found.clusters).total}


if __name__ == "__main__":
    print(json.dumps(_measure(Clustering(sys.argv[1]), *map(int, sys.argv[2:]))))
