"""Clustering methods as they were published, record by record."""

import math
from collections.abc import Sequence

Place = tuple[float, ...]
Cluster = list[int]


def squared(a: Sequence[float], b: Sequence[float]) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (x - y) * (x - y)
    return total


def centroid(places: Sequence[Place], of: Sequence[int]) -> Place:
    return tuple(math.fsum(places[i][j] for i in of) / len(of) for j in range(len(places[0])))


def farthest(places: Sequence[Place], of: Sequence[int], place: Place) -> int:
    return max(of, key=lambda i: (squared(places[i], place), -i))


def nearest(places: Sequence[Place], of: Sequence[int], place: Place, k: int) -> Cluster:
    return sorted(of, key=lambda i: (squared(places[i], place), i))[:k]


def mdav(places: Sequence[Place], k: int) -> list[Cluster]:
    left, clusters = list(range(len(places))), []

    def around(record: int) -> None:
        nonlocal left
        clusters.append(nearest(places, left, places[record], k))
        left = [i for i in left if i not in clusters[-1]]

    while len(left) >= 3 * k:
        far = farthest(places, left, centroid(places, left))
        around(far)
        around(farthest(places, left, places[far]))
    if len(left) >= 2 * k:
        around(farthest(places, left, centroid(places, left)))
    return [*clusters, left]


def v_mdav(places: Sequence[Place], k: int, gain: float) -> list[Cluster]:
    middle = centroid(places, range(len(places)))
    left, clusters = list(range(len(places))), []
    while len(left) >= k:
        cluster = nearest(places, left, places[farthest(places, left, middle)], k)
        left = [i for i in left if i not in cluster]
        while left and len(cluster) < 2 * k - 1:
            inside, near = min((min(squared(places[i], places[j]) for j in cluster), i) for i in left)
            outside = min((squared(places[near], places[i]) for i in left if i != near), default=math.inf)
            if not (gain and math.sqrt(inside) < gain * math.sqrt(outside)):
                break
            cluster.append(near)
            left.remove(near)
        clusters.append(cluster)
    centroids = [centroid(places, cluster) for cluster in clusters]
    for i in left:
        clusters[min(range(len(centroids)), key=lambda c: (squared(places[i], centroids[c]), c))].append(i)
    return clusters


def error(places: Sequence[Place], clusters: Sequence[Cluster]) -> float:
    return math.fsum(squared(places[i], centroid(places, cluster)) for cluster in clusters for i in cluster)
