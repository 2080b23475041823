"""Sections: the three algorithms of t-closeness through microaggregation, their losses and their times."""

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.markdown import seconds, table
from benchmarks.microaggregation.generated import SEED, generated
from benchmarks.section import Section, verdict
from tableveil.aggregation import Points, SparseClusters, coordinates
from tableveil.classes import SensitiveColumn
from tableveil.control import Control
from tableveil.microaggregation import squared_error
from tableveil.microaggregation.classes import cluster_classes
from tableveil.microaggregation.solve import ClusterProblem, counter_of, solve
from tableveil.policy import Distance, KAnonymity, TCloseness
from tableveil.policy.methods.microaggregation import ClosenessAlgorithm, Microaggregation
from tableveil.privacy import privacy_of

RECORDS = 1_080
"""The number of records in the published experiments."""

COLUMNS = 2
CORRELATIONS: Mapping[str, float] = {"low": 0.52, "high": 0.92}
"""Correlations of the sensitive column with the mean of the quasi-identifiers, as in the published tables."""

THRESHOLDS = tuple(map(Decimal, ("0.05", "0.1", "0.15", "0.2", "0.25")))
SIZES = (2, 5, 10, 25)
SMALL = Decimal("0.1")
"""The largest t that counts as small."""

LARGE, LARGE_COLUMNS, LARGE_K, LARGE_T = 100_000, 4, 2, Decimal("0.1")
MOST_SECONDS = 60.0

NAMES = {
    ClosenessAlgorithm.MERGE: "merge",
    ClosenessAlgorithm.K_ANONYMITY_FIRST: "k-anonymity first",
    ClosenessAlgorithm.T_CLOSENESS_FIRST: "t-closeness first",
}


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The result of an algorithm: SSE / SST, the clusters, and CPU seconds."""

    error: float
    clusters: SparseClusters
    seconds: float

    @property
    def average(self) -> float:
        """Records per cluster."""
        return float(self.clusters.sizes.mean())

    @property
    def largest(self) -> int:
        """Records of the largest cluster."""
        return int(self.clusters.sizes.max())


Runs = Mapping[tuple[int, Decimal], Mapping[ClosenessAlgorithm, Run]]


def closeness_low() -> Section:
    """A sensitive column that depends little on the quasi-identifiers."""
    return _compared("low")


def closeness_high() -> Section:
    """A sensitive column that depends strongly on the quasi-identifiers."""
    return _compared("high")


def closeness_large() -> Section:
    """The time of each for many records, with as many different sensitive values."""
    points, column = with_sensitive(LARGE, LARGE_COLUMNS, CORRELATIONS["low"])
    rows, sound = [], True
    for algorithm, name in NAMES.items():
        run = _run(points, column, LARGE_K, LARGE_T, algorithm)
        classes = cluster_classes(points, run.clusters, [column])
        rule = privacy_of([KAnonymity(LARGE_K), _model(LARGE_T)], counter_of(points, [column]))
        private = bool(rule.releasable(classes).all())
        sound = sound and private
        cells = [f"{run.error:.4f}", f"{run.average:.1f}", f"{run.largest:,}", seconds(run.seconds)]
        rows.append([name, *cells, verdict(run.seconds <= MOST_SECONDS), "yes" if private else "**no**"])
    text = (
        f"{LARGE:,} records, {LARGE_COLUMNS} quasi-identifiers, k = {LARGE_K}, t = {LARGE_T}; goal: "
        f"{MOST_SECONDS:.0f} s. Private is what the models' rules say of the clusters."
    )
    headers = ("", "SSE/SST", "mean size", "largest", "CPU s", "goal", "private")
    return Section("t-closeness through microaggregation, large", (text, table(headers, rows)), sound)


def with_sensitive(records: int, columns: int, correlation: float) -> tuple[Points, SensitiveColumn]:
    """Normal quasi-identifiers, and a sensitive number correlated with their mean, different for each record."""
    plain = generated("normal", records, columns)
    mean = coordinates(plain).mean(axis=1)
    noise = np.random.default_rng(SEED + 1).normal(size=records)
    score = correlation * mean / mean.std() + np.sqrt(1 - correlation**2) * noise
    ranks = score.argsort().argsort().astype(np.int32)
    column = SensitiveColumn("sensitive", np.ones(records, np.int64))
    return Points(plain.columns, plain.codes, plain.counts, (ranks,)), column


def _compared(correlation: str) -> Section:
    points, column = with_sensitive(RECORDS, COLUMNS, CORRELATIONS[correlation])
    runs: dict[tuple[int, Decimal], dict[ClosenessAlgorithm, Run]] = {}
    for k, t in itertools.product(SIZES, THRESHOLDS):
        runs[k, t] = {algorithm: _run(points, column, k, t, algorithm) for algorithm in NAMES}
    private = all(_private(points, run.clusters, k, t) for (k, t), by in runs.items() for run in by.values())
    headers = ["k, t", *(f"{name} {what}" for name in NAMES.values() for what in ("SSE/SST", "size"))]
    return Section(
        f"t-closeness through microaggregation, {correlation} correlation",
        (
            f"{RECORDS:,} records, {COLUMNS} quasi-identifiers, a sensitive number with a correlation of "
            f"{CORRELATIONS[correlation]} to their mean, ordered distance. Sizes of clusters: mean, largest.",
            table(headers, _rows(runs)),
            table(("published", "found"), _ordering(runs)),
            f"Every output is k-anonymous and t-close, counted record by record: {'yes' if private else '**no**'}.",
        ),
        private,
    )


def _run(points: Points, column: SensitiveColumn, k: int, t: Decimal, algorithm: ClosenessAlgorithm) -> Run:
    started = time.process_time()
    options = Microaggregation(closeness=algorithm)
    found = solve(ClusterProblem(points, k, [column], [KAnonymity(k), _model(t)]), options, Control())
    taken = time.process_time() - started
    return Run(squared_error(points, found.clusters).total, found.clusters, taken)


def _model(t: Decimal) -> TCloseness:
    return TCloseness("sensitive", t, Distance.ORDERED)


def _private(points: Points, clusters: SparseClusters, k: int, t: Decimal) -> bool:
    """Whether the clusters hold all records, with k in each, within t by cumulated shares: without the engine."""
    ranks, records = points.sensitive[0], len(points.counts)
    everybody = np.arange(1, records + 1)
    for number in range(clusters.number):
        members: NDArray[np.intp] = clusters.points[clusters.clusters == number]
        own = np.cumsum(np.bincount(ranks[members], minlength=records))
        work = int(np.abs(records * own - len(members) * everybody).sum())
        if len(members) < k or Fraction(work, records * len(members) * (records - 1)) > Fraction(t):
            return False
    return np.array_equal(np.sort(clusters.points), np.arange(records))


def _rows(runs: Runs) -> Iterator[list[str]]:
    for (k, t), by_algorithm in runs.items():
        cells = [(f"{run.error:.4f}", f"{run.average:.1f}, {run.largest}") for run in by_algorithm.values()]
        yield [f"{k}, {t}", *itertools.chain.from_iterable(cells)]


def _ordering(runs: Runs) -> Iterator[list[str]]:
    """The published statements about the three algorithms, and in how many of the cases they hold here."""
    merge, _, strata = NAMES
    small = [by for (_, t), by in runs.items() if t <= SMALL]
    best = sum(min(by, key=lambda algorithm: by[algorithm].error) is strata for by in small)
    yield [f"t-closeness first has the least SSE for t up to {SMALL}", f"{best} of {len(small)}"]
    best = sum(min(by, key=lambda algorithm: by[algorithm].error) is strata for by in runs.values())
    yield ["t-closeness first has the least SSE for all t", f"{best} of {len(runs)}"]
    largest = sum(by[merge].average >= max(run.average for run in by.values()) for by in runs.values())
    yield ["merging has the largest clusters on average", f"{largest} of {len(runs)}"]
    largest = sum(by[merge].largest >= max(run.largest for run in by.values()) for by in runs.values())
    yield ["merging has the largest cluster", f"{largest} of {len(runs)}"]
