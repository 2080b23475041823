"""Forms clusters by the method that a policy names, or by one that fits the points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tableveil.aggregation.coordinates import Clustered, Points, Space, SparseClusters, unit_range
from tableveil.errors import InfeasibleError
from tableveil.microaggregation.mdav import mdav
from tableveil.microaggregation.partition import partition
from tableveil.microaggregation.remaining import Forming
from tableveil.microaggregation.remaining_people import remaining_of
from tableveil.microaggregation.univariate import univariate
from tableveil.microaggregation.v_mdav import v_mdav
from tableveil.policy import Scale
from tableveil.policy.methods.microaggregation import Clustering, Microaggregation

if TYPE_CHECKING:
    from tableveil.control import Control

MOST_STEPS = 1_000_000_000
"""Up to this number of clusters times coordinates of all points, `AUTO` chooses MDAV: some 10 seconds."""


def cluster(
    points: Points,
    k: int,
    options: Microaggregation,
    control: Control,
    on_progress: Callable[[int, int], None] = lambda clustered, records: None,
    *,
    singly: bool = False,
) -> Clustered:
    """Puts all records of the points into clusters of at least k records each.

    `UNIVARIATE` is for a single column of numbers, dates or ranks. `AUTO` chooses it where possible; else `MDAV`, or
    `PARTITION` where MDAV would take more than `MOST_STEPS`.

    Where people have several records, clusters are of k people: see `RemainingPeople`. Some may be of fewer, if
    `PARTITION` has too few people in a block, and with `UNIVARIATE`, which counts records: `AUTO` does not choose it.

    Args:
        points: The points to cluster; k 1 or more.
        k: The least size.
        options: The method; `gain` belongs to `V_MDAV`.
        control: May stop the work.
        on_progress: Called with the number of records in clusters and the number of all.
        singly: Whether clusters take one record of a person where they can.

    Raises:
        InfeasibleError: There are fewer than k records.
        Stopped: `control` says so.
    """
    records = int(points.counts.sum())
    if records < k:
        actual = f"clusters of at least {k} records asked of {records} records"
        raise InfeasibleError.of("TOO_FEW_RECORDS", "privacy_models", actual, f"at most {records}")
    method, why = _chosen(points, k, options)
    clusters = _clusters(points, k, replace(options, clustering=method), control, on_progress, singly)
    if points.people is not None and method is not Clustering.UNIVARIATE:
        why += f", {'by one record' if singly else 'by the nearest records'} of {k:,} people each"
    return Clustered(clusters, f"{method} {why}", optimal=method is Clustering.UNIVARIATE or records < 2 * k)


def _chosen(points: Points, k: int, options: Microaggregation) -> tuple[Clustering, str]:
    """The method, and the reason for it."""
    if options.clustering is not Clustering.AUTO:
        return options.clustering, "because the policy says so"
    ordered = len(points.columns) == 1 and points.columns[0].aggregation.scale is not Scale.NOMINAL
    if ordered and points.people is None:
        return Clustering.UNIVARIATE, "because it is optimal for one column"
    records, combinations = int(points.counts.sum()), len(points.counts)
    size = f"{records:,} records with {combinations:,} combinations of values"
    if records // k * combinations * len(points.columns) <= MOST_STEPS:
        return Clustering.MDAV, f"because {size} are few enough to compare all with each other"
    return Clustering.PARTITION, f"because {size} are too many to compare all with each other"


def _clusters(
    points: Points,
    k: int,
    options: Microaggregation,
    control: Control,
    on_progress: Callable[[int, int], None],
    singly: bool,
) -> SparseClusters:
    if options.clustering is Clustering.UNIVARIATE:
        ((column,), (codes,)) = points.columns, points.codes
        records_of = np.bincount(codes, points.counts, len(column.counts)).astype(np.float64)
        positions = unit_range(column.positions, records_of)
        return univariate(positions[codes], points.counts, k, control, on_progress)
    records, clustered = int(points.counts.sum()), 0

    def on_taken(more: int) -> None:
        nonlocal clustered
        clustered += more
        on_progress(clustered, records)

    space, forming = Space.of(points), Forming()
    if options.clustering is Clustering.PARTITION:
        partition(space, k, forming, control, on_taken, singly=singly)
    else:
        remaining = remaining_of(space, np.arange(len(points.counts)), points.counts, singly=singly)
        if options.clustering is Clustering.V_MDAV:
            v_mdav(remaining, k, options.gain, forming, control, on_taken)
        else:
            mdav(remaining, k, forming, control, on_taken)
    return forming.clusters()
