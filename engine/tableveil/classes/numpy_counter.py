"""Counting in memory: the plain reference, and the fast way when the distinct combinations are few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.blocks import Blocks, sums_at
from tableveil.classes.keys import KeyLayout
from tableveil.classes.model import EquivalenceClasses, LevelMaps, Marginals
from tableveil.classes.numpy_details import NumpyDetails, Sensitive
from tableveil.classes.sensitive import SensitiveColumn
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation

LEAST_SHARE = 0.02
MARGIN = 1.5
"""A part has so many times the records that are expected to do: those still needed, if they are as often in small
classes as in the parts before."""

MOST_SHARE = 0.6
"""Beyond this share of the records, counting all of them is about as cheap."""


@dataclass(frozen=True, slots=True)
class PartCount:
    """`rows` of a histogram are in so many `classes`, and `small` of their records are in small classes."""

    rows: int
    classes: int
    small: int

    def __add__(self, other: PartCount) -> PartCount:
        return PartCount(self.rows + other.rows, self.classes + other.classes, self.small + other.small)


def count_parts(
    records: NDArray[np.int64], most: int, count: Callable[[NDArray[np.bool_]], PartCount]
) -> PartCount | None:
    """Counts parts until more than `most` records are in small classes; None as soon as that is not to be expected.

    `records[g]` have group g of a quasi-identifier; `count` is given a mask of groups. Rare groups come first: their
    records are more often in small classes.
    """
    order = np.argsort(records, kind="stable")
    upto = np.cumsum(records[order])
    total = int(upto[-1]) if len(upto) else 0
    read_total, taken, often = PartCount(0, 0, 0), 0, 1.0
    while read_total.small <= most:
        counted = int(upto[taken - 1]) if taken else 0
        wanted = counted + max(LEAST_SHARE * total, MARGIN * (most + 1 - read_total.small) / often)
        next_ = int(np.searchsorted(upto, wanted)) + 1
        if next_ > len(order) or upto[next_ - 1] > MOST_SHARE * total:
            return None
        part = np.zeros(len(records), np.bool_)
        part[order[taken:next_]] = True
        read_total, taken = read_total + count(part), next_
        if not read_total.small:
            return None
        often = read_total.small / int(upto[taken - 1])
    return read_total


class NumpyCounter:
    """Counts from a histogram held as arrays: the base histogram, or one that is rolled up already.

    `groups[j][i]` is the group of quasi-identifier j at its level in `at` (the bottom unless given) in distinct
    combination i, and `counts[i]` the combination's number of records. `sensitive` has the same combinations by the
    values of sensitive columns. `population[i]` is the number of the population's records in combination i; a
    combination that only the population has has a count of 0. `outside` records of the population are in no
    combination.
    """

    def __init__(
        self,
        levels: Sequence[AttributeLevels],
        groups: Sequence[NDArray[np.integer[Any]]],
        counts: NDArray[np.int64],
        withheld: int = 0,
        at: Transformation | None = None,
        sensitive: Sensitive = (),
        population: NDArray[np.int64] | None = None,
        outside: int = 0,
    ) -> None:
        self._levels = tuple(levels)
        self._counts = np.asarray(counts, np.int64)
        self._withheld = withheld
        self._at = at or (0,) * len(self._levels)
        # Every transformation looks these up, so half the bytes pay.
        self._sensitive = tuple(
            (column, replace(rows, rows=rows.rows.astype(np.int32), values=rows.values.astype(np.int32)))
            for column, rows in sensitive
        )
        self._population = population
        self._people = None if population is None else int(population.sum()) + outside
        self._blocks = Blocks(self._at, groups, LevelMaps(levels))
        # The search asks for the records in some classes right after the classes: the grouping is kept for that.
        self._last: tuple[Transformation, NDArray[np.signedinteger[Any]], int, NDArray[np.intp]] | None = None

    @property
    def name(self) -> str:
        """The counter's name, for the evidence."""
        return "numpy"

    @property
    def account(self) -> str:
        """How classes were counted so far, in one sentence."""
        return f"all {len(self._counts):,} combinations in numpy"

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are kept."""
        return self._counts.nbytes + self._blocks.nbytes

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Per quasi-identifier: its codes, groups and leaves."""
        return self._levels

    @property
    def records(self) -> int:
        """N, withheld records included."""
        return int(self._counts.sum()) + self._withheld

    @property
    def withheld(self) -> int:
        """Records suppressed at every transformation."""
        return self._withheld

    @property
    def sensitive(self) -> tuple[SensitiveColumn, ...]:
        """The sensitive columns whose values the classes know."""
        return tuple(column for column, _ in self._sensitive)

    @property
    def population(self) -> int | None:
        """Records of the population, including those in no class; None if the population is not counted."""
        return self._people

    def marginals(self) -> Marginals:
        """All records but the withheld ones."""
        return Marginals(self._at, self._blocks.marginals(self._counts, slice(None)))

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation, in the order of their keys."""
        radices = [len(levels.leaves[level]) for levels, level in zip(self._levels, transformation, strict=True)]
        layout = KeyLayout.of(radices)
        places, number = self._blocks.places(transformation, radices)
        sizes = sums_at(places, self._counts, number)
        occurring = np.flatnonzero(sizes > 0)
        self._last = (transformation, places, number, occurring)
        details = self._details(places, number, occurring)
        if number == layout.space:
            # The places are the keys.
            return EquivalenceClasses(layout, (occurring,), sizes[occurring], transformation, details)
        # Any row of a class gives its key.
        row = np.empty(number, np.int32)
        row[places] = np.arange(len(places), dtype=np.int32)
        words = self._blocks.keys(transformation, layout, row[occurring])
        return EquivalenceClasses(layout, words, sizes[occurring], transformation, details)

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        """False: counting all classes is cheap."""
        return False

    def count_part(self, transformation: Transformation, size: int, part: tuple[int, NDArray[np.bool_]]) -> PartCount:
        """Counts the classes that have some groups of a quasi-identifier: its position, and a mask of its groups."""
        radices = [len(levels.leaves[level]) for levels, level in zip(self._levels, transformation, strict=True)]
        attribute, groups = part
        rows = self._blocks.rows_with(attribute, transformation[attribute], groups)
        places, number = self._blocks.selected(rows).places(transformation, radices)
        sizes = sums_at(places, self._counts[rows], number)
        return PartCount(len(rows), int(np.count_nonzero(sizes)), int(sizes[sizes < size].sum()))

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        """The records in the classes of the mask at the transformation, by their finest groups."""
        if self._last is None or self._last[0] != transformation:
            self.classes(transformation)
        assert self._last is not None
        _, places, number, occurring = self._last
        chosen = np.zeros(number, np.bool_)
        chosen[occurring[mask]] = True
        rows = np.flatnonzero(chosen.take(places, mode="clip"))
        return Marginals(self._at, self._blocks.marginals(self._counts, rows))

    def _details(
        self, places: NDArray[np.signedinteger[Any]], number: int, occurring: NDArray[np.intp]
    ) -> NumpyDetails | None:
        if not self._sensitive and self._population is None:
            return None
        return NumpyDetails(places, number, occurring, self._sensitive, self._population)
