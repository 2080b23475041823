"""MDAV: clusters of exactly k records, from the outside inwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tableveil.microaggregation.remaining import Forming, Remaining

if TYPE_CHECKING:
    # The search builds on quality models, and those on what is aggregated.
    from tableveil.control import Control

STEPS_PER_REPORT = 256


def mdav(
    remaining: Remaining,
    k: int,
    forming: Forming,
    control: Control,
    on_taken: Callable[[int], None] = lambda records: None,
) -> None:
    """Maximum distance to average vector: takes all records into clusters of k, and one last one of k to 2k - 1.

    As long as there are 3k records: one cluster of the k nearest to the record that is farthest from the centroid of
    what is left, and one of the k nearest to the record that is then farthest from that record. Of 2k or more that
    are left, one more cluster is made around the record farthest from their centroid. Fewer than k are one cluster.

    A point with n records is treated exactly as n points in its place. Sources: Domingo-Ferrer and Mateo-Sanz 2002;
    Domingo-Ferrer and Torra 2005, section 4.1 (generic MDAV).

    Args:
        remaining: What to cluster; nothing is left of it.
        k: The least size, at least 1.
        forming: Is given the clusters.
        control: May stop the work.
        on_taken: Is told from time to time how many more records are in clusters.

    Raises:
        Stopped: `control` says so.
    """
    told, step = remaining.records, 0
    while remaining.records >= 3 * k:
        control.raise_if_stopped()
        take_opposite(remaining, k, forming)
        step += 1
        if step % STEPS_PER_REPORT == 0:
            on_taken(told - remaining.records)
            told = remaining.records
    if remaining.records >= 2 * k:
        far = remaining.farthest(remaining.distances(remaining.centroid))
        remaining.take_cluster(forming, remaining.distances(remaining.at[:, far]), k)
    if remaining.records:
        remaining.take_rest(forming)
    on_taken(told)


def take_opposite(remaining: Remaining, k: int, forming: Forming) -> None:
    """One step of MDAV, of 2k records or more: two clusters at opposite ends of what is left."""
    remaining.tidy()
    far = remaining.farthest(remaining.distances(remaining.centroid))
    from_far = remaining.distances(remaining.at[:, far])
    remaining.take_cluster(forming, from_far, k)
    opposite = remaining.farthest(from_far)
    remaining.take_cluster(forming, remaining.distances(remaining.at[:, opposite]), k)
