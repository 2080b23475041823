"""The combinations of values in source and population, and the transformation that each may be and is released at."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.game.payout import Stakes
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import BreakEven

SUPPRESSED = -1
"""The choice for a combination whose records are not released."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The transformations at which a record may be released.

    If `no_attack`, only those at which the record is not attacked. A record that pays less than 0 is suppressed, unless
    `break_even` is None: then it is released at its best transformation, whatever it pays. For a record that pays
    exactly 0, `break_even` decides.
    """

    break_even: BreakEven | None = BreakEven.KEEP
    no_attack: bool = False

    def releasable(self, stakes: Stakes, loss: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether records with this loss, among this number of people, may be released."""
        releasable = np.ones(len(sizes), np.bool_)
        if self.break_even is not None:
            releasable &= stakes.profitable(loss, sizes, self.break_even)
        if self.no_attack:
            releasable &= ~stakes.attacked(sizes)
        return releasable


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The transformation of each combination; for combinations that only the population has, the one they would get.

    Attributes:
        transformations: The transformations of the lattice, by the sum of their levels, then lexicographic.
        chosen: Per combination an index into `transformations`, or `SUPPRESSED`.
        sizes: Per combination the number of people who share its labels at these levels: success has the probability 1
            / size. 0 if suppressed.
        payouts: Per combination the payout of each of its records; 0 if suppressed.
    """

    transformations: tuple[Transformation, ...]
    chosen: NDArray[np.int32]
    sizes: NDArray[np.int64]
    payouts: NDArray[np.float64]


def in_order(lattice: Lattice) -> tuple[Transformation, ...]:
    """All transformations by the sum of their levels, then lexicographic: the first of equally good ones is chosen."""
    return tuple(sorted(lattice, key=lambda x: (sum(x), x)))


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """The distinct combinations of values of the source and of the population.

    `codes[j][i]` is the code of quasi-identifier j in combination i. `records[i]` counts the source's records, 0 if the
    combination occurs in the population only. `people[i]` counts the population's records, or the source's again if
    there is no population table. Withheld records are in no combination.
    """

    levels: tuple[AttributeLevels, ...]
    codes: tuple[NDArray[np.int32], ...]
    records: NDArray[np.int64]
    people: NDArray[np.int64]
