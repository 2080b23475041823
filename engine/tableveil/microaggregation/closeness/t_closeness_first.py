"""Clusters with records from all parts of the sensitive column, so that their size makes them t-close."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import Space, SparseClusters
from tableveil.microaggregation.closeness.strata import FormingStrata, Strata
from tableveil.microaggregation.closeness.targets import ClosenessTarget, least_size
from tableveil.policy import Distance

if TYPE_CHECKING:
    # The search builds on quality models, which build on aggregation.
    from tableveil.control import Control

WHOLE = 20_000
"""Up to this number of records, all are clustered together, as published."""

BLOCK = 4096
"""Records of a block into which more records are split."""


def size_for(k: int, t: Fraction, records: int) -> int:
    """The cluster size that gives t-closeness if all values differ: from k to the number of records.

    One record of each of s equal parts of n ranked values is at most (n - s) / (2 (n - 1) s) away from all of them
    (Soria-Comas et al. 2015, proposition 2): so s >= n / (2 (n - 1) t + 1). The remainder of n / s goes to clusters one
    by one if it is smaller than the number of clusters; the size grows until it is.
    """
    size = max(k, math.ceil(records / (2 * (records - 1) * t + 1)))
    return size + records % size // (records // size)


def t_closeness_first(
    space: Space, k: int, targets: Sequence[ClosenessTarget], control: Control, on_progress: Callable[[int, int], None]
) -> SparseClusters:
    """Forms clusters of at least k records, each with one or two records of every part of the sensitive column.

    Soria-Comas et al. 2015, algorithm 3. The records, in the order of the column, are split into as many strata as
    clusters have records. In turns, two records start a cluster of the nearest record of each stratum: the record
    farthest from the centroid of the remaining records, and the record farthest from that one. The middle strata hold
    the surplus records; a cluster takes one of those, too, while there are any.

    Among several columns the one with the least t is split, the first if several have it. Values without an order are
    split by code, or by their place in the hierarchy. The published size may be one at which no records are t-close,
    because of ties, other columns, or other distances than the ordered one. Then clusters have the least size at which
    some are. Clusters can still be beyond their targets: these have to be merged.

    Up to `WHOLE` records all are clustered together, in time quadratic in their number. More records are split first,
    so that every block has equally many records of each stratum: by halves, each stratum at its own median of the
    coordinate that varies most.

    Raises:
        Stopped: `control` says so.
    """
    strictest = min(targets, key=lambda target: target.t)
    points = space.points
    records = int(points.counts.sum())
    constant = len(strictest.mover.column.counts) == 1
    size = size_for(least_size(targets, k), Fraction(1) if constant else strictest.t, records)
    order = np.lexsort((np.arange(len(points.counts)), _places(strictest)[points.sensitive[strictest.position]]))
    strata = Strata.of(np.repeat(order, points.counts[order]), size)
    members: list[NDArray[np.intp]] = []
    done = 0
    for block in strata.blocks(space, WHOLE if records <= WHOLE else BLOCK):
        forming = FormingStrata(space, block)
        first: NDArray[np.float64] | None = None
        while forming.clusters:
            control.raise_if_stopped()
            start = forming.farthest(forming.centroid() if first is None else first)
            members.append(forming.taken(start))
            done += len(members[-1])
            on_progress(done, records)
            first = start if first is None else None
    numbers = np.repeat(np.arange(len(members)), [len(cluster) for cluster in members])
    of_records = np.concatenate(members)
    return SparseClusters.of(of_records, numbers, np.ones(len(of_records), np.int64))


def _places(target: ClosenessTarget) -> NDArray[np.intp]:
    """The place of each code in the order that strata are made from."""
    column, codes = target.mover.column, np.arange(len(target.mover.column.counts))
    if target.model.distance is Distance.HIERARCHICAL and column.levels is not None:
        order = np.lexsort(column.levels.groups)
    elif target.model.distance is Distance.ORDERED and column.null_first and column.null_code is not None:
        order = np.roll(codes, 1)
    else:
        order = codes
    places: NDArray[np.intp] = order.argsort()
    return places
