"""Sections: MDAV against a plain transcription, and the method for large tables against MDAV."""

import time
from collections.abc import Iterator

from benchmarks.markdown import seconds, table, times
from benchmarks.microaggregation.generated import GENERATORS, generated
from benchmarks.microaggregation.plain_mdav import plain_error, plain_mdav
from benchmarks.section import Section, verdict
from tableveil.aggregation import Points, coordinates
from tableveil.control import Control
from tableveil.microaggregation import cluster, squared_error
from tableveil.policy.methods.microaggregation import Clustering, Microaggregation

K = 5
COLUMNS = (2, 3, 5, 8)
RECORDS = (1_000, 3_000, 10_000)

SAME = 1e-9
"""The relative difference allowed between errors that differ only in the order of their sums."""

NEAR = 1.05
"""The factor by which the error of the method for large tables may exceed MDAV's."""


def against_plain() -> Section:
    """MDAV, sound if its error is that of the transcription."""
    rows, sound = [], True
    for columns in COLUMNS:
        for records in RECORDS:
            points = generated("normal", records, columns)
            error, ours = _clustered(points, Clustering.MDAV)
            at = coordinates(points)
            started = time.process_time()
            expected = plain_error(at, plain_mdav(at, K))
            plain = time.process_time() - started
            same = abs(error - expected) <= SAME * expected
            sound = sound and same
            cells = [f"{error:.9f}", f"{expected:.9f}", seconds(ours), seconds(plain), times(plain / ours)]
            rows.append([f"{columns} QIs, {records:,} records", *cells, verdict(same)])
    headers = ("normal data", "SSE/SST", "transcription", "s", "its s", "as long", "same")
    return Section("MDAV and a plain transcription", (f"k = {K}; CPU seconds.", table(headers, rows)), sound)


def near_mdav() -> Section:
    """PARTITION, sound if its error is near MDAV's."""
    rows = list(_compared())
    headers = (f"{max(RECORDS):,} records", "MDAV", "PARTITION", "ratio", "goal", "MDAV s", "PARTITION s")
    return Section(
        "The method for large tables",
        (
            f"SSE/SST of both, k = {K}; goal: at most {NEAR} times that of MDAV.",
            table(headers, [row for row, _ in rows]),
        ),
        all(met for _, met in rows),
    )


def _compared() -> Iterator[tuple[list[str], bool]]:
    for distribution in GENERATORS:
        for columns in COLUMNS:
            points = generated(distribution, max(RECORDS), columns)
            whole, mdav = _clustered(points, Clustering.MDAV)
            error, partition = _clustered(points, Clustering.PARTITION)
            met = error <= NEAR * whole
            cells = [f"{whole:.6f}", f"{error:.6f}", f"{error / whole:.3f}", verdict(met)]
            yield [f"{distribution}, {columns} QIs", *cells, seconds(mdav), seconds(partition)], met


def _clustered(points: Points, method: Clustering) -> tuple[float, float]:
    """SSE/SST, and CPU seconds."""
    started = time.process_time()
    found = cluster(points, K, Microaggregation(method), Control())
    taken = time.process_time() - started
    return squared_error(points, found.clusters).total, taken
