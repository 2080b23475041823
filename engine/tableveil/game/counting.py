"""Counts every transformation of a lattice once, each from the next finer one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import LevelMaps
from tableveil.classes.blocks import Blocks, sums_at
from tableveil.game.assignment import Combinations
from tableveil.lattice import Axis, Lattice, Transformation

MOST_PAIRS = 20_000_000_000
"""The most pairs of a combination and a transformation: some minutes on one core."""

MOST_TRANSFORMATIONS = 1_000_000
"""The most transformations: each is counted, however few combinations there are."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedClasses:
    """The classes of followed combinations at a transformation.

    Attributes:
        at: The transformation.
        of: Per followed combination the number of its class.
        groups: Per quasi-identifier, the group of each class.
        records: Per class, the number of the source's records.
        people: Per class, the number of the population's records.
    """

    at: Transformation
    of: NDArray[np.signedinteger[Any]]
    groups: tuple[NDArray[np.int32], ...]
    records: NDArray[np.int64]
    people: NDArray[np.int64]


def enumerable(combinations: int, lattice: Lattice) -> bool:
    """Whether all transformations of the lattice can be tried on so many combinations; if not, callers refuse."""
    return lattice.size <= min(MOST_TRANSFORMATIONS, MOST_PAIRS // max(combinations, 1))


def counted_at_all(combinations: Combinations, lattice: Lattice, everyone: bool = False) -> Iterator[CountedClasses]:
    """The classes at every transformation of the lattice, each transformation once, in no particular order.

    Followed are the combinations of the source, in their order, and the classes that hold them; with `everyone`, the
    combinations that only the population has are followed too. Classes are rolled up one level of one axis at a time,
    depth first, so that no more than one histogram per axis is kept. Combinations that share no label with a followed
    one, even at the top of the remaining axes, are dropped: as axes of many values come first, few combinations are
    left for the other axes.
    """
    maps = LevelMaps(combinations.levels)
    followed = np.arange(len(combinations.records)) if everyone else np.flatnonzero(combinations.records)
    records = combinations.records[followed]
    finest = _Crowds(maps, (0,) * len(lattice.bottom), followed, combinations.codes, combinations.people)
    axes = sorted(lattice.axes, key=lambda axis: -sum(maps.size(j, lattice.bottom[j]) for j in axis))
    for crowds in _along(finest.rolled_up(lattice.bottom), lattice, axes):
        people = crowds.people
        yield CountedClasses(crowds.at, crowds.of, crowds.groups, sums_at(crowds.of, records, len(people)), people)


def _along(crowds: _Crowds, lattice: Lattice, axes: Sequence[Axis]) -> Iterator[_Crowds]:
    """`crowds`, which are at the bottom of these axes, and all crowds that generalize them along these axes only."""
    ends = crowds.at
    for axis in axes:
        ends = lattice.moved(ends, axis, lattice.top[axis[0]])
    crowds = crowds.within_reach(ends)
    if not axes:
        yield crowds
        return
    axis, *others = axes
    for level in range(lattice.bottom[axis[0]], lattice.top[axis[0]] + 1):
        crowds = crowds.rolled_up(lattice.moved(crowds.at, axis, level))
        yield from _along(crowds, lattice, others)


@dataclass(frozen=True, eq=False)
class _Crowds:
    """Combinations that share all labels: as in `CountedClasses`, but a followed one need not be among them."""

    maps: LevelMaps
    at: Transformation
    of: NDArray[np.signedinteger[Any]]
    groups: tuple[NDArray[np.int32], ...]
    people: NDArray[np.int64]

    def rolled_up(self, to: Transformation) -> _Crowds:
        """The crowds at a transformation above."""
        if to == self.at:
            return self
        of, crowds = _numbered_again(*self._places(to))
        # Any member of a crowd gives its groups.
        member = np.empty(crowds, np.int32)
        member[of] = np.arange(len(of), dtype=np.int32)
        groups = tuple(
            self.maps.between(j, low, high)[group[member]]
            for j, (group, low, high) in enumerate(zip(self.groups, self.at, to, strict=True))
        )
        return _Crowds(self.maps, to, of[self.of], groups, sums_at(of, self.people, crowds))

    def within_reach(self, ends: Transformation) -> _Crowds:
        """The crowds that share all labels with a followed combination at a transformation above."""
        if len(self.of) >= len(self.people) and _numbered_again(self.of, len(self.people))[1] == len(self.people):
            return self
        places, space = self._places(ends)
        reached = np.zeros(space, np.bool_)
        reached[places[self.of]] = True
        kept = reached[places]
        if kept.all():
            return self
        numbers = np.cumsum(kept, dtype=np.int32) - 1
        groups = tuple(group[kept] for group in self.groups)
        return _Crowds(self.maps, self.at, numbers[self.of], groups, self.people[kept])

    def _places(self, to: Transformation) -> tuple[NDArray[np.signedinteger[Any]], int]:
        return self._blocks.places(to, [self.maps.size(j, level) for j, level in enumerate(to)])

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks(self.at, self.groups, self.maps)


def _numbered_again(positions: NDArray[np.signedinteger[Any]], many: int) -> tuple[NDArray[np.signedinteger[Any]], int]:
    """The positions, below `many`, renumbered among those that occur; and the number of these."""
    occurs = np.zeros(many, np.bool_)
    occurs[positions] = True
    occurring = int(np.count_nonzero(occurs))
    if occurring == many:
        return positions, many
    return (np.cumsum(occurs, dtype=np.int32) - 1)[positions], occurring
