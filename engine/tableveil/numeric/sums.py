"""Sums over records, on the thread that asks for them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]


def weighted_sum(counts: Counts, values: NDArray[np.float64]) -> float:
    """The sum of `counts * values`.

    The operator `@` gives long arrays to the threads of BLAS, which wait in a loop for a free core: on a busy machine
    it took seventy times as long, and most of a search. The last digits of its sums depend on the number of cores.
    """
    return float(np.einsum("i,i", counts, values))
