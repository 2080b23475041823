"""The labels of intervals of aggregated columns, worded like those of interval hierarchies."""

import decimal
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.labelled import TOP_LABEL

_PRECISION = 60
"""Digits of an exact product of a policy's grid and a number of steps."""


def interval_labels(
    kind: ValueKind, grid: Decimal, low: NDArray[np.float64], high: NDArray[np.float64]
) -> pa.StringArray:
    """The labels of intervals that hold low <= position < high; both are multiples of the grid, or infinite.

    For whole numbers and dates both bounds are in the interval: `[20, 29]`. Others are half-open: `[20.5, 30.5)`;
    bounds of timestamps are in ISO 8601, in UTC. `< 20` and `>= 30` are open at one end, and `*` at both.
    """
    both, number = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)
    labels = [_label(kind, grid, *bounds) for bounds in both.tolist()]
    return pa.array(labels, pa.string()).take(pa.array(number.reshape(-1)))


def _label(kind: ValueKind, grid: Decimal, low: float, high: float) -> str:
    ends = [_multiple(grid, bound) if math.isfinite(bound) else None for bound in (low, high)]
    match ends:
        case None, None:
            return TOP_LABEL
        case None, Decimal() as end:
            return f"< {_text(kind, end)}"
        case Decimal() as start, None:
            return f">= {_text(kind, start)}"
        case Decimal() as start, Decimal() as end:
            if kind in (ValueKind.INTEGER, ValueKind.DATE):
                return f"[{_text(kind, start)}, {_text(kind, end - 1)}]"
            return f"[{_text(kind, start)}, {_text(kind, end)})"
    raise AssertionError("an interval has two ends")


def _multiple(grid: Decimal, bound: float) -> Decimal:
    """The exact multiple of the grid: 0.3 for 0.1, where 64-bit floats give 0.30000000000000004."""
    with decimal.localcontext(prec=_PRECISION):
        return round(bound / float(grid)) * grid


def _text(kind: ValueKind, bound: Decimal) -> str:
    match kind:
        case ValueKind.DATE:
            return str(np.datetime64(int(bound), "D"))
        case ValueKind.TIMESTAMP:
            time = str(np.datetime64(int(bound * 10**6), "us"))
            return time.rstrip("0").rstrip(".") if "." in time else time
        case _:
            # A Decimal's format without an exponent; it keeps the sign of a zero.
            text = f"{bound + 0:f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
