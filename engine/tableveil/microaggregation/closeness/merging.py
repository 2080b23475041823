"""Clusters that are merged with their nearest one, one after the other, with the values of each."""

from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import Space, SparseClusters
from tableveil.classes import ClassValues, EquivalenceClasses
from tableveil.microaggregation.classes import classes_of
from tableveil.microaggregation.closeness.nearest import Nearest
from tableveil.privacy.distances.model import merged


class Merging:
    """Clusters by number; a merged cluster gets the next number, and its two parts are gone.

    `classes` are the clusters as classes. The distance of two clusters is the distance of their centroids: the means of
    their records.
    """

    def __init__(self, space: Space, clusters: SparseClusters, classes: EquivalenceClasses) -> None:
        self._before = clusters
        number = clusters.number
        # If all points are in one place there are no coordinates.
        centroids = np.zeros((number, max(space.dimensions, 1)))
        for dimension in range(space.dimensions):
            weighted = space.along(dimension, clusters.points) * clusters.counts
            centroids[:, dimension] = np.bincount(clusters.clusters, weighted, number) / classes.counts
        self._places = Nearest(centroids)
        self._sizes: list[int] = [*classes.counts.tolist(), *[0] * number]
        self._values = [classes.values(column) for column in range(len(space.points.sensitive))]
        self._parts: list[list[int]] = [*([part] for part in range(number)), *([] for _ in range(number))]
        self.left = number
        """The number of clusters that are left."""
        self.merged = 0
        """The number of merges so far."""

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The numbers of the remaining clusters."""
        return np.flatnonzero(self._places.there)

    def there(self, number: int) -> bool:
        """Whether the cluster has not been merged with another one."""
        return bool(self._places.there[number])

    def size(self, number: int) -> int:
        """The number of the cluster's records, even if it is gone."""
        return self._sizes[number]

    def merge(self, number: int) -> tuple[int, int]:
        """Merges the cluster with its nearest one; there must be another cluster.

        Returns:
            The number of the nearest cluster, and the number of the merged one.
        """
        places, sizes, parts = self._places, self._sizes, self._parts
        place = places.places[number]
        places.go(number)
        other = places.nearest(place)
        places.go(other)
        size = sizes[number] + sizes[other]
        made = places.come((sizes[number] * place + sizes[other] * places.places[other]) / size)
        sizes[made] = size
        more, fewer = (number, other) if len(parts[number]) >= len(parts[other]) else (other, number)
        parts[made] = parts[more]
        parts[made].extend(parts[fewer])
        parts[number] = parts[other] = []
        self.left -= 1
        self.merged += 1
        return other, made

    def values(self, numbers: NDArray[np.intp]) -> tuple[tuple[ClassValues, ...], NDArray[np.int64]]:
        """The values per sensitive column and the sizes of these clusters, numbered by their place in `numbers`."""
        chosen = [self._parts[number] for number in numbers.tolist()]
        parts = np.fromiter(chain.from_iterable(chosen), np.intp)
        clusters = np.repeat(np.arange(len(chosen)), [len(of) for of in chosen])
        by_column = tuple(_joined(values, parts, clusters, len(chosen)) for values in self._values)
        return by_column, np.array([self._sizes[number] for number in numbers.tolist()], np.int64)

    def classes(self, numbers: NDArray[np.intp]) -> EquivalenceClasses:
        """These clusters as classes, numbered by their place among them."""
        by_column, sizes = self.values(numbers)
        return classes_of(sizes, by_column)

    def clusters(self) -> SparseClusters:
        """The remaining clusters, numbered in the order of the first original cluster in each."""
        before = self._before
        into = np.empty(before.number, np.intp)
        for number, parts in enumerate(sorted((self._parts[number] for number in self.numbers.tolist()), key=min)):
            into[parts] = number
        return SparseClusters.of(before.points, into[before.clusters], before.counts)


def _joined(values: ClassValues, parts: NDArray[np.intp], clusters: NDArray[np.intp], number: int) -> ClassValues:
    """The values of `number` clusters, each joined from some parts."""
    starts = values.starts[parts]
    lengths = np.append(values.starts, len(values.values))[parts + 1] - starts
    ends = lengths.cumsum()
    entries = np.arange(int(ends[-1])) + np.repeat(starts - ends + lengths, lengths)
    codes = values.values[entries]
    return merged(np.repeat(clusters, lengths), codes, values.counts[entries], (number, int(codes.max()) + 1))
