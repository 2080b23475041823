"""A column whose values are aggregated: the positions of its values, and their coordinates for distances."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels
from tableveil.policy import Aggregation


@dataclass(frozen=True, slots=True, eq=False)
class AggregatedColumn:
    """The values that occur in an aggregated column have codes from 0 in their order; there is no NULL among them.

    Attributes:
        column: Its name.
        aggregation: How it is aggregated.
        counts: Per code, the records that have the value; at least 1.
        positions: Per code the value as a number, ascending (after coding, equal ones may follow each other): numbers
            as they are, dates in days and timestamps in seconds since 1970-01-01, ranks of ordinal values from 0; for
            nominal values the code itself.
        levels: The groups of the codes by the column's hierarchy, if the column is nominal; else None.
        coded: The positions of bottom and top coding; no position is beyond them; infinite if there is no coding.
        weight: Factor of the column's squared distances and of its part of a score: finite, at least 0.
    """

    column: str
    aggregation: Aggregation
    counts: NDArray[np.int64]
    positions: NDArray[np.float64]
    levels: AttributeLevels | None = None
    coded: tuple[float, float] = (-math.inf, math.inf)
    weight: float = 1.0
