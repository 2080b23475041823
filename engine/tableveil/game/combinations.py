"""The distinct combinations of values in the source and in the population."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels


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
