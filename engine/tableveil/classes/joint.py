"""Joint classes: the records that share their labels and, in every earlier release, their class."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.delegating import DelegatingCounter
from tableveil.classes.keys import KeyLayout
from tableveil.classes.model import ClassValues, EquivalenceClasses, Marginals, distinct_keys
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """The owners of records with earlier classes: `records[i]` of combination `combinations[i]` are of `people[i]`.

    People of the source have the code that they are counted by there, others a larger one.
    """

    combinations: NDArray[np.int64]
    people: NDArray[np.int64]
    records: NDArray[np.int64]

    @property
    def codes(self) -> int:
        """A number above all codes of people."""
        return int(self.people.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, eq=False)
class EarlierClasses:
    """The combinations of classes that records had in earlier releases, each with its number of records.

    `classes[c, r]` is the class of combination c in `releases[r]`; `WITHOUT_ROW` if its records have no row there. One
    more combination, of code `len(records)`, is of those without a row in any of the releases. `present` of the records
    are in the source. `together` has the positions of releases that are judged without the others, for each set of
    them but that of all. Every record is another person's, unless there are `owners`.
    """

    releases: tuple[int, ...]
    classes: NDArray[np.int64]
    records: NDArray[np.int64]
    present: int
    together: tuple[tuple[int, ...], ...] = ()
    owners: Owners | None = None

    @property
    def combinations(self) -> int:
        """The number of codes."""
        return len(self.records) + 1

    def among(self, positions: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The combinations of classes in the releases at these positions alone.

        Returns their classes, the code that each of all codes becomes, and their numbers of records.
        """
        classes = self.classes[:, list(positions)]
        there = (classes != WITHOUT_ROW).any(axis=1)
        first, code = distinct_rows(classes[there])
        labels = classes[there][first]
        codes = np.full(self.combinations, len(labels), np.int64)
        codes[:-1][there] = code
        return labels, codes, np.bincount(codes[:-1], self.records, len(labels) + 1)[:-1].astype(np.int64)


WITHOUT_ROW = -1
"""Stands for the class of a record that was absent from a release, or suppressed in it."""


def distinct_rows(classes: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The place of the first of each combination of classes, and per row the number of its combination."""
    layout = KeyLayout.of([int(column.max(initial=WITHOUT_ROW)) + 2 for column in classes.T])
    return distinct_keys(layout.pack([column - WITHOUT_ROW for column in classes.T]))


class JointCounter(DelegatingCounter):
    """Counts joint classes, from a counter whose last attribute is the combination of earlier classes.

    It has one level, and is no quasi-identifier: levels and transformations leave it out. `combinations_of`
    takes it out of the keys.
    """

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Per quasi-identifier: its codes, groups and leaves."""
        return self._counter.levels[:-1]

    def marginals(self) -> Marginals:
        """All records but the withheld ones, per code."""
        return _of_quasi_identifiers(self._counter.marginals())

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The joint classes at the transformation."""
        return replace(self._counter.classes((*transformation, 0)), at=transformation)

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        """Whether it is proven cheaply that so many records are in small joint classes."""
        return self._counter.too_many_small((*transformation, 0), size, most)

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        """The records in some of the joint classes at the transformation."""
        return _of_quasi_identifiers(self._counter.records_in((*transformation, 0), mask))


def combinations_of(joint: EquivalenceClasses) -> NDArray[np.int64]:
    """Per joint class, the code of its combination of earlier classes."""
    return joint.groups(len(joint.at))


def class_of_labels(joint: EquivalenceClasses) -> NDArray[np.intp]:
    """Per joint class, the number of the class that all records with its labels are."""
    return distinct_keys([joint.groups(attribute) for attribute in range(len(joint.at))])[1]


def put_together(values: ClassValues, whole: NDArray[np.intp]) -> ClassValues:
    """How the classes spread over the values of a column that have as their parts those of entry i of `whole`."""
    classes, codes = whole[values.classes], int(values.values.max(initial=0)) + 1
    keys, number = np.unique(classes.astype(np.int64) * codes + values.values, return_inverse=True)
    counts = np.zeros(len(keys), np.int64)
    np.add.at(counts, number, values.counts)
    return ClassValues((keys // codes).astype(np.intp), (keys % codes).astype(np.intp), counts)


def agreement(earlier: NDArray[np.int64], now: NDArray[np.int64], records: NDArray[np.int64]) -> float | None:
    """How much more often two records of one earlier class have the same value now than any two have.

    1 if always, 0 if not more often. Entry i says that so many `records` had the class `earlier[i]` and have the value
    `now[i]`. If a share p of them kept values on which their classes agreed, it is about p². None if no class has two
    records, or all have the same value: nothing can be said then. It is Scott's pi of pairs
    (doi:10.1086/266577), with the share of pairs by chance from the values that all have.
    """

    def alike(by: list[NDArray[np.int64]]) -> tuple[float, float]:
        _, group = np.unique(np.stack(by), axis=1, return_inverse=True)
        sizes = np.bincount(group.reshape(-1), records).astype(float)
        return float((sizes * (sizes - 1)).sum()), float(sizes.sum())

    if not len(records):
        return None
    both, number = alike([earlier, now])
    within, _ = alike([earlier])
    same, _ = alike([now])
    by_chance = same / (number * (number - 1)) if number > 1 else 1.0
    return (both / within - by_chance) / (1 - by_chance) if within and by_chance < 1 else None


def without_release(
    earlier: EarlierClasses, joint: EquivalenceClasses, position: int
) -> tuple[EarlierClasses, EquivalenceClasses]:
    """The earlier and the joint classes as if there were no release at a position; all labels are one attribute."""
    others = [r for r in range(len(earlier.releases)) if r != position]
    present, codes, records = earlier.among(others)
    sets = {tuple(others.index(r) for r in some if r != position) for some in earlier.together} - {(), tuple(others)}
    merged = EarlierClasses(
        tuple(earlier.releases[r] for r in others), present, records, earlier.present, tuple(sorted(sets))
    )
    labels = np.stack([joint.groups(j) for j in range(len(joint.at))], axis=1)
    different, label = np.unique(labels, axis=0, return_inverse=True)
    layout = KeyLayout.of([len(different), merged.combinations])
    (keys,) = layout.pack([label.reshape(-1), codes[combinations_of(joint)]])
    key, place = np.unique(keys, return_inverse=True)
    counts = np.bincount(place.reshape(-1), joint.counts).astype(np.int64)
    return merged, EquivalenceClasses(layout, (key,), counts, (0,))


def _of_quasi_identifiers(marginals: Marginals) -> Marginals:
    return Marginals(marginals.at[:-1], marginals.counts[:-1])
