"""The gain of a transformation: what is expected to be left, in whole numbers on a grid.

u(x) = (1/Σw) Σ_classes Σ_j w_j (1 - share_j) E[(n - Z)+]. One more person changes it by 0 to 1, whatever the
transformation, because E[(n + 1 - Z)+] - E[(n - Z)+] = P(Z <= n). On the grid it changes by 0 to `Gains.range`.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tableveil.differential_privacy.drops import Drops
from tableveil.hierarchy.levels import AttributeLevels
from tableveil.lattice import Transformation

VALUE_BITS = 28
"""Bits after the point of the value of a label, from 0 to 1."""

EXPECTED_BITS = 40
"""Bits after the point of what is left of a class."""

MOST_RECORDS = 1 << 34
"""With more, sums of values would not fit into 64 bits."""

Values = tuple[NDArray[np.int64], ...]
"""Per level, the value of each code's label: its weight's part of 2^VALUE_BITS, without the share that is lost."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedTransformation:
    """A transformation whose classes were counted.

    `gain` is its gain. `parts[j][l]` bounds what attribute j gives at level l to any transformation at or below it.
    """

    gain: int
    parts: tuple[tuple[int, ...], ...]

    def bound(self, lo: Transformation) -> int:
        """An upper bound of the gains of all transformations from `lo` to the checked one.

        A record's class at the checked one holds its class at each of them, and what is left of a class per record
        grows with its size; the value of its labels is the most at `lo`.
        """
        return sum(part[level] for part, level in zip(self.parts, lo, strict=True))


class Gains:
    """The gains of the transformations of one table."""

    def __init__(
        self,
        groups: Sequence[Sequence[NDArray[np.int32]]],
        values: Sequence[Values],
        codes: Sequence[NDArray[np.int32]],
        records: NDArray[np.int64],
        drops: Drops,
    ) -> None:
        """The table has so many `records` of each combination of `codes`.

        `groups[j][l]` and `values[j][l]` have an entry per code of attribute j. The value depends on the label only,
        and does not grow with the level.
        """
        if int(records.sum()) >= MOST_RECORDS:
            raise ValueError(f"{int(records.sum()):,} records; at most {MOST_RECORDS:,} can be counted exactly")
        self._groups, self._values, self._codes, self._records, self.drops = groups, values, codes, records, drops
        self.checked: dict[Transformation, CountedTransformation] = {}

    @property
    def range(self) -> int:
        """The most by which one more person changes a gain. It does not depend on the table."""
        left = [self.drops.kept(n, EXPECTED_BITS) for n in range(2 * self.drops.middle + 3)]
        return max(b - a for a, b in itertools.pairwise(left)) << VALUE_BITS

    def check(self, at: Transformation) -> CountedTransformation:
        """Counts the classes of a transformation."""
        if at not in self.checked:
            self.checked[at] = self._check(at)
        return self.checked[at]

    def _check(self, at: Transformation) -> CountedTransformation:
        classes = self._classes(at)
        sizes = np.bincount(classes, weights=self._records).astype(np.int64)[classes]
        different, of_size = np.unique(sizes, return_inverse=True)
        left = [self.drops.kept(int(n), EXPECTED_BITS) for n in different]
        gain, parts = 0, []
        for j, (codes, values) in enumerate(zip(self._codes, self._values, strict=True)):
            number = len(values[0])
            spread = np.bincount(
                of_size.astype(np.int64) * number + codes, weights=self._records, minlength=len(different) * number
            )
            by_code = spread.reshape(len(different), number).astype(np.int64)
            sums = [by_code @ of_level for of_level in values]
            # All records of a class have labels of the same value.
            gain += sum(int(total) * b // int(n) for total, b, n in zip(sums[at[j]], left, different, strict=True))
            # The expectation was rounded down: one more is no less than it was.
            parts.append(
                tuple(
                    sum(-(-int(total) * (b + 1) // int(n)) for total, b, n in zip(level, left, different, strict=True))
                    for level in sums
                )
            )
        return CountedTransformation(gain, tuple(parts))

    def _classes(self, at: Transformation) -> NDArray[np.int64]:
        """The number of the class of each combination of codes."""
        keys, span = np.zeros(len(self._records), np.int64), 1
        for groups, codes, level in zip(self._groups, self._codes, at, strict=True):
            group = groups[level]
            number = int(group.max(initial=0)) + 1
            if span * number >= 1 << 62:
                keys, span = _numbered(keys)
            keys, span = keys * number + group[codes], span * number
        return _numbered(keys)[0]


def values_of(levels: AttributeLevels, weight: Fraction) -> Values:
    """The values of an attribute's labels, for a weight that is a part of the sum of all weights.

    The shares are floats, but they depend on the hierarchy alone, and so do the whole numbers made of them.
    """
    values: list[NDArray[np.int64]] = []
    most = (weight.numerator << VALUE_BITS) // weight.denominator
    for level, groups in enumerate(levels.groups):
        # At the top everything is lost, and nothing at level 0, also if |H| does not count which values occur.
        kept = np.clip(1.0 - levels.shares(level), 0.0, 1.0) if 0 < level < levels.top else np.float64(level == 0)
        value = np.broadcast_to(np.floor(kept * most).astype(np.int64), levels.leaves[level].shape)[groups]
        # Hierarchies are nested: rounding must not make a label worth more than one below it.
        values.append(np.minimum(value, values[-1]) if values else value)
    return tuple(values)


def _numbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Numbers the different keys from 0; with their count."""
    different, numbers = np.unique(keys, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), len(different)
