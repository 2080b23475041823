"""Cramér's V: how strongly two columns of categories are associated."""

import math

import numpy as np
from numpy.typing import NDArray


def contingency(first: NDArray[np.int64], second: NDArray[np.int64], records: NDArray[np.int64]) -> NDArray[np.int64]:
    """The contingency table of two columns, given the number of records for each pair of codes."""
    rows, row = np.unique(first, return_inverse=True)
    columns, column = np.unique(second, return_inverse=True)
    table = np.zeros((len(rows), len(columns)), np.int64)
    np.add.at(table, (row, column), records)
    return table


def cramers_v(table: NDArray[np.int64]) -> float | None:
    """Cramér's V with Bergsma's correction for bias, from 0 to 1; None if a column has a single value.

    Without the correction, columns of many values seem to be associated in small tables. Source: Bergsma 2013, equation
    5 and section 3.
    """
    rows, columns = table.shape
    records = int(table.sum())
    if min(rows, columns) < 2 or records < 2:
        return None
    row, column = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    expected = row * (column / records)
    phi2 = float(((table - expected) ** 2 / expected).sum()) / records
    corrected = max(0.0, phi2 - (rows - 1) * (columns - 1) / (records - 1))
    shorter = min(rows - (rows - 1) ** 2 / (records - 1), columns - (columns - 1) ** 2 / (records - 1)) - 1
    # With so few records, everything seems to be associated with everything.
    return min(1.0, math.sqrt(corrected / shorter)) if shorter > 0 else None
