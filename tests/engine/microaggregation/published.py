"""Plain transcriptions of the algorithms of Soria-Comas et al. 2015, on rows that stand for one record each."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.float64]
Distance = Callable[[Sequence[int]], Fraction]
"""The distance of a set of rows from all rows, in the sensitive column."""


def apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.square(one - other).sum())


def farthest(places: Places, rows: Sequence[int], place: NDArray[np.float64]) -> int:
    return max(rows, key=lambda row: apart(places[row], place))


def nearest(places: Places, rows: Sequence[int], place: NDArray[np.float64]) -> int:
    return min(rows, key=lambda row: apart(places[row], place))


def merged(places: Places, clusters: list[list[int]], distance: Distance, t: Fraction) -> list[list[int]]:
    """Algorithm 1, from given clusters."""
    clusters = [list(cluster) for cluster in clusters]
    while max(map(distance, clusters)) > t:
        worst = max(clusters, key=distance)
        clusters.remove(worst)
        centre = places[worst].mean(axis=0)
        other = min(clusters, key=lambda cluster: apart(places[cluster].mean(axis=0), centre))
        other.extend(worst)
    return clusters


def k_anonymity_first(places: Places, k: int, distance: Distance, t: Fraction) -> list[list[int]]:
    """Algorithm 2, without the merging that follows."""
    left = list(range(len(places)))
    clusters = []

    def take(start: int) -> None:
        cluster = generated(places, left, start, k, distance, t)
        clusters.append(cluster)
        for row in cluster:
            left.remove(row)

    while left:
        first = farthest(places, left, places[left].mean(axis=0))
        take(first)
        if left:
            take(farthest(places, left, places[first]))
    return clusters


def generated(places: Places, left: Sequence[int], start: int, k: int, distance: Distance, t: Fraction) -> list[int]:
    """Algorithm 2's function GenerateCluster."""
    if len(left) < 2 * k:
        return list(left)
    outside = sorted(left, key=lambda row: apart(places[row], places[start]))
    cluster, outside = outside[:k], outside[k:]
    while distance(cluster) > t and outside:
        row = outside.pop(0)
        exchanged = [[*cluster[:i], row, *cluster[i + 1 :]] for i in range(k)]
        best = min(exchanged, key=distance)
        if distance(best) < distance(cluster):
            cluster = best
    return cluster


def t_closeness_first(places: Places, ranked: Sequence[int], k: int, t: Fraction) -> list[list[int]]:
    """Algorithm 3; `ranked` are the rows in the order of the sensitive column."""
    n = len(places)
    k = max(k, math.ceil(n / (2 * (n - 1) * t + 1)))
    k += (n % k) // (n // k)
    clusters_left, extra = n // k, n % k
    sizes = [clusters_left] * k
    if k % 2:
        sizes[k // 2] += extra
    else:
        sizes[k // 2 - 1] += (extra + 1) // 2
        sizes[k // 2] += extra // 2
    strata, start = [], 0
    for size in sizes:
        strata.append(list(ranked[start : start + size]))
        start += size
    clusters = []

    def take(place: NDArray[np.float64]) -> None:
        cluster: list[int] = []
        has_extra = False
        for stratum in strata:
            taking = 1
            if len(stratum) > clusters_left and not has_extra:
                taking, has_extra = 2, True
            for _ in range(taking):
                row = nearest(places, stratum, place)
                stratum.remove(row)
                cluster.append(row)
        clusters.append(cluster)

    while clusters_left:
        left = [row for stratum in strata for row in stratum]
        first = farthest(places, left, places[left].mean(axis=0))
        take(places[first])
        clusters_left -= 1
        if clusters_left:
            left = [row for stratum in strata for row in stratum]
            take(places[farthest(places, left, places[first])])
            clusters_left -= 1
    return clusters
