"""The clusters of values in a line that have the least squared error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import SparseClusters

if TYPE_CHECKING:
    from tableveil.control import Control

_ENTRIES = 1_000_000
"""The number of squared errors of possible clusters that are held at a time."""


def univariate(
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    k: int,
    control: Control,
    on_progress: Callable[[int, int], None] = lambda done, records: None,
) -> SparseClusters:
    """Forms clusters of k to 2k - 1 records with the least squared error among all clusters of at least k records.

    Some optimal clusters consist of consecutive values, and none has 2k records, as it could be split. So they are the
    shortest path along the sorted records whose steps are clusters, which takes time n k and memory n.
    Source: Hansen and Mukherjee 2003.

    Args:
        values: One per point.
        counts: Records per point, k or more in all. A point with n records is treated exactly as n points.
        k: The least size, at least 1.
        control: May stop the work.
        on_progress: Called with the number of records that the path has passed and the number of all.

    Raises:
        Stopped: `control` says so.
    """
    order = values.argsort(kind="stable")
    distinct, run = np.unique(values, return_inverse=True)
    runs = np.bincount(run, counts, len(distinct)).astype(np.int64)
    # Among many equal values, no more than 2(2k - 2) share clusters with others, and a remainder of k or more can form
    # clusters by itself: leaving out a multiple of k of them does not change the clusters of the others.
    left_out = np.maximum(runs - 5 * k, 0) // k
    kept = runs - left_out * k
    ends = _shortest_path(np.repeat(distinct, kept), k, control, on_progress)
    first_end = ends.searchsorted(kept.cumsum() - kept)
    sizes = np.insert(np.diff(ends, prepend=0), np.repeat(first_end + 1, left_out), k)
    return _consecutive(order, counts[order], sizes)


def _shortest_path(
    values: NDArray[np.float64], k: int, control: Control, on_progress: Callable[[int, int], None]
) -> NDArray[np.int64]:
    """The ends of the optimal clusters of sorted values: the number of values up to each end.

    `least[i]` is the least squared error of the first i values, infinite if they cannot be clustered. It depends on
    entries at least k before it, so k entries are computed at a time.
    """
    number = len(values)
    padding = 2 * k - 1
    least = np.full(padding + number + 1, np.inf)
    least[padding] = 0.0
    before = sliding_window_view(least, k)
    last_sizes = np.zeros(number + 1, np.int64)
    rows = np.arange(k)
    chunk = max(_ENTRIES // k // k, 1) * k
    for start in range(1, number + 1, chunk):
        control.raise_if_stopped()
        errors = _errors(values, start, min(start + chunk, number + 1), k)
        for i in range(0, len(errors), k):
            some = errors[i : i + k]
            # Row j holds the ends of the preceding cluster, from j - 2k + 1 to j - k, for a cluster that ends at j.
            paths = before[start + i : start + i + len(some)] + some
            best = paths.argmin(axis=1)
            least[padding + start + i : padding + start + i + len(some)] = paths[rows[: len(some)], best]
            last_sizes[start + i : start + i + len(some)] = 2 * k - 1 - best
        on_progress(min(start + chunk - 1, number), number)
    ends = [number]
    while ends[-1] > 0:
        ends.append(ends[-1] - int(last_sizes[ends[-1]]))
    return np.array(ends[-2::-1])


def _errors(values: NDArray[np.float64], start: int, stop: int, k: int) -> NDArray[np.float64]:
    """Per end from `start` to `stop`, the squared errors of the clusters of 2k - 1, 2k - 2, ..., k values before it.

    Values are added one by one, which loses no digits where they are close together (Welford 1962).
    """
    ends = np.arange(start, stop)
    mean = np.zeros(len(ends))
    error = np.zeros(len(ends))
    filled = np.empty((len(ends), k))
    for size in range(1, 2 * k):
        # Clusters that would begin before the first value get an infinite error.
        value = values[np.maximum(ends - size, 0)]
        difference = value - mean
        mean += difference / size
        error += difference * (value - mean)
        if size >= k:
            filled[:, 2 * k - 1 - size] = error
    return filled


def _consecutive(points: NDArray[np.intp], counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> SparseClusters:
    """Clusters of so many records each, in the order of these points."""
    point_ends, cluster_ends = counts.cumsum(), sizes.cumsum()
    ends = np.union1d(point_ends, cluster_ends)
    return SparseClusters.of(
        points[point_ends.searchsorted(ends)], cluster_ends.searchsorted(ends), np.diff(ends, prepend=0)
    )
