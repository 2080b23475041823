"""The values of classes that are merged, or classes of values that are merged."""

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues

DENSE = 8
"""Up to this number of class-value pairs per entry, a table of all pairs is faster than sorting the entries."""


def merged(
    classes: NDArray[np.intp], values: NDArray[np.intp], counts: NDArray[np.int64], shape: tuple[int, int]
) -> ClassValues:
    """One entry per occurring class and value, in order, made from entries that may repeat and come in any order.

    `shape` is the number of classes and the number of values.
    """
    number, width = shape
    keys = classes * width + values
    if number * width <= DENSE * len(keys):
        totals = np.zeros(number * width, np.int64)
        np.add.at(totals, keys, counts)
        occurring = np.flatnonzero(totals)
        totals = totals[occurring]
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        occurring, totals = keys[first], np.add.reduceat(counts[order], first) if len(first) else counts
    rows, codes = np.divmod(occurring, max(width, 1))
    return ClassValues(rows.astype(np.intp), codes.astype(np.intp), totals)
