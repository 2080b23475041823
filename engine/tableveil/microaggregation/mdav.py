"""MDAV: clusters of exactly k records, formed from the outside inwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tableveil.microaggregation.remaining import Forming, Remaining

if TYPE_CHECKING:
    # The search builds on quality models, which build on aggregation.
    from tableveil.control import Control

STEPS_PER_REPORT = 256


def mdav(
    remaining: Remaining,
    k: int,
    forming: Forming,
    control: Control,
    on_taken: Callable[[int], None] = lambda records: None,
) -> None:
    """Maximum distance to average vector: takes all records into clusters of k, and a last one of k to 2k - 1.

    As long as 3k records remain, it forms two clusters: one of the k records nearest to the record that is farthest
    from the centroid of the remaining ones, and one of the k nearest to the record that is then farthest from that
    record. If 2k or more remain, one more cluster is formed around the record farthest from their centroid. Fewer than
    2k form one cluster. Where people have several records, k, 2k and 3k count them: see `RemainingPeople`.

    A point with n records is treated exactly as n points in its place. Sources: Domingo-Ferrer and Mateo-Sanz 2002;
    Domingo-Ferrer and Torra 2005, section 4.1 (generic MDAV).

    Args:
        remaining: The records to cluster; none remain afterwards.
        k: The least size, at least 1.
        forming: Collects the clusters.
        control: May stop the work.
        on_taken: Called from time to time with the number of records newly in clusters.

    Raises:
        Stopped: `control` says so.
    """
    reported, step, first = remaining.records, 0, len(forming)
    while remaining.members >= 3 * k:
        control.raise_if_stopped()
        take_opposite(remaining, k, forming)
        step += 1
        if step % STEPS_PER_REPORT == 0:
            on_taken(reported - remaining.records)
            reported = remaining.records
    while remaining.members >= 2 * k:
        control.raise_if_stopped()
        remaining.tidy()
        far = remaining.farthest(remaining.distances(remaining.centroid))
        remaining.take_cluster(forming, remaining.distances(remaining.at[:, far]), k)
    remaining.finish(k, forming, first, control)
    on_taken(reported)


def take_opposite(remaining: Remaining, k: int, forming: Forming) -> None:
    """One step of MDAV, for 2k records or people: forms two clusters at opposite ends of the remaining records."""
    remaining.tidy()
    far = remaining.farthest(remaining.distances(remaining.centroid))
    from_far = remaining.distances(remaining.at[:, far])
    remaining.take_cluster(forming, from_far, k)
    opposite = remaining.farthest(from_far)
    remaining.take_cluster(forming, remaining.distances(remaining.at[:, opposite]), k)
