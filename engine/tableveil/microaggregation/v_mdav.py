"""V-MDAV: clusters of k to 2k - 1 records, larger where the data lie closer together."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tableveil.microaggregation.mdav import STEPS_PER_REPORT
from tableveil.microaggregation.remaining import Forming, Remaining

if TYPE_CHECKING:
    from tableveil.control import Control


def v_mdav(
    remaining: Remaining,
    k: int,
    gain: Decimal,
    forming: Forming,
    control: Control,
    on_taken: Callable[[int], None] = lambda records: None,
) -> None:
    """Takes all records into clusters of variable size.

    The k records nearest to the record that is farthest from the centroid of all form a cluster. It takes in up to k -
    1 more: as long as the record outside that is nearest to any member is closer to it than `gain` times its distance
    to the nearest other record outside. If fewer than k remain at the end, each joins the cluster with the nearest
    centroid; only these clusters may have more than 2k - 1 records.

    A point with n records is treated exactly as n points in its place. Source: Solanas and Martinez-Balleste 2006.

    Args:
        remaining: The records to cluster, at least k; none remain afterwards.
        k: The least size, at least 1.
        gain: Gamma: 0 for clusters of exactly k.
        forming: Collects the clusters.
        control: May stop the work.
        on_taken: Called from time to time with the number of records newly in clusters.

    Raises:
        Stopped: `control` says so.
    """
    centroid = remaining.centroid
    reported = remaining.records
    centroids: list[NDArray[np.float64]] = []
    first = len(forming)
    while remaining.members >= k:
        control.raise_if_stopped()
        remaining.tidy()
        far = remaining.farthest(remaining.distances(centroid))
        positions, counts = remaining.nearest_records(remaining.distances(remaining.at[:, far]), k)
        remaining.take(positions, counts)
        members = dict(zip(positions.tolist(), counts.tolist(), strict=True))
        _extend(remaining, members, k - 1, float(gain))
        positions, counts = np.fromiter(members, np.intp), np.fromiter(members.values(), np.int64)
        forming.add(remaining.names[positions], counts)
        centroids.append(remaining.at[:, positions] @ counts / counts.sum())
        if len(forming) % STEPS_PER_REPORT == 0:
            on_taken(reported - remaining.records)
            reported = remaining.records
    if centroids and not remaining.singly:
        _join(remaining, np.array(centroids), forming)
    else:
        remaining.finish(k, forming, first, control)
    on_taken(reported)


def _extend(remaining: Remaining, members: dict[int, int], most: int, gain: float) -> None:
    """Lets up to `most` more records into the cluster with these members: records by position."""
    if not gain:
        return
    from_cluster = np.full(len(remaining.counts), np.inf)
    for position in members:
        np.minimum(from_cluster, remaining.distances(remaining.at[:, position]), out=from_cluster)
    for _ in range(min(most, remaining.records)):
        remaining.bar(from_cluster, members)
        near = remaining.nearest(from_cluster)
        from_near = remaining.distances(remaining.at[:, near])
        if not math.sqrt(from_cluster[near]) < gain * math.sqrt(_to_others(remaining, near, from_near)):
            return
        members[near] = members.get(near, 0) + 1
        remaining.take(np.array([near]), np.array([1]))
        np.minimum(from_cluster, from_near, out=from_cluster)


def _to_others(remaining: Remaining, position: int, distances: NDArray[np.float64]) -> float:
    """The squared distance of a record to the nearest other one outside; infinite if there is none."""
    if remaining.counts[position] > 1:
        return 0.0
    others = distances.copy()
    others[position] = np.inf
    return float(others[remaining.nearest(others)])


def _join(remaining: Remaining, centroids: NDArray[np.float64], forming: Forming) -> None:
    """Adds each remaining record to the cluster with the nearest centroid."""
    for position in np.flatnonzero(remaining.counts):
        differences = centroids - remaining.at[:, position]
        nearest = int((differences**2).sum(axis=1).argmin())
        forming.extend(nearest, remaining.names[[position]], remaining.counts[[position]])
