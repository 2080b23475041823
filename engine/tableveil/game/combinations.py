"""The distinct combinations of values that source and population have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """The distinct combinations of values of the source and of the population.

    `codes[j][i]` is the code of quasi-identifier j in combination i; `records[i]` counts the source's records, 0 if it
    occurs in the population only; `people[i]` those of the population, or the source's again if there is no table of
    it. Withheld records are in none.
    """

    levels: tuple[AttributeLevels, ...]
    codes: tuple[NDArray[np.int32], ...]
    records: NDArray[np.int64]
    people: NDArray[np.int64]
