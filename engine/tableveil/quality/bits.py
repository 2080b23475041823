"""Sums of logarithms over records, correct to the last digits even where one value has nearly all of them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.numeric.rounding import weighted_sum

Counts = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]


def log_ratio(part: Counts | float, whole: Counts | float) -> NDArray[np.float64]:
    """log2(whole / part), both above 0."""
    # The quotient itself would have few digits left if it is close to 1.
    logarithms: NDArray[np.float64] = np.log1p((whole - part) / part) / math.log(2)
    return logarithms


def bits(counts: Counts) -> float:
    """Sum over records of log2(all / those with the same value), given how many have each value."""
    counts = counts[counts > 0]
    return weighted_sum(counts, log_ratio(counts, counts.sum()))


def bits_lost(counts: Counts, groups: NDArray[np.int32]) -> float:
    """Sum over records of log2(those in the same group / those with the same value), given the group of each value."""
    occurring = counts > 0
    together = np.bincount(groups, counts)[groups[occurring]]
    return weighted_sum(counts[occurring], log_ratio(counts[occurring], together))
