"""Labels of numbers, days and times as a line to draw from, and drawn values in the type of their column."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tableveil.estimates import NumberLine, RangeLabels
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.labelled import TOP_LABEL
from tableveil.source import Column

Floats = NDArray[np.float64]

_MOST = 2.0**53
"""Whole numbers up to here are told apart by their bounds."""

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
_SECONDS_PER_DAY = 86_400
_EPOCH = datetime.datetime(1970, 1, 1)
_LAST_DAY, _LAST_SECOND = (datetime.datetime(9999, 12, 31, 23, 59, 59) - _EPOCH).days, 253_402_300_799
_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ReleasedBounds:
    """A label with its bounds as the public table of labels has them, and its number of records."""

    label: str
    records: int
    low: Any
    high: Any
    high_included: bool | None


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedNumbers:
    """A column whose labels have bounds: its line of numbers, days or seconds, and its type."""

    line: NumberLine
    column: Column

    @property
    def typical_width(self) -> float | None:
        """How wide half of the labels that stand for several values are at most, by records; None for all of them open.

        It is in days or seconds for dates and times.
        """
        labels = self.line.labels
        wide = np.isfinite(labels.low) & np.isfinite(labels.high) & ~self.line.exact
        widths, records = (labels.high - labels.low)[wide], labels.counts[wide]
        if not records.sum():
            return None
        order = np.argsort(widths)
        return float(widths[order][np.searchsorted(np.cumsum(records[order]), records.sum() / 2)])

    def array(self, codes: NDArray[np.int64], drawn: Floats) -> pa.Array:
        """Drawn values, of labels by their codes, as the column is written; NULL for NaN."""
        missing = np.isnan(drawn)
        there = codes[~missing]
        exact, low, high = (of[there] for of in (self.line.exact, self.line.low, self.line.high))
        values, kind = drawn[~missing], self.column.kind
        written: NDArray[Any]
        if kind is ValueKind.INTEGER:
            bits = _BITS.get(self.column.type.removeprefix("U"), 64)
            most = 2.0 ** (bits if self.column.type.startswith("U") else bits - 1) - 1
            written, type_ = np.clip(values, -_MOST, min(most, _MOST)).astype(np.int64), pa.int64()
        elif kind is ValueKind.DATE:
            written, type_ = np.minimum(values, _LAST_DAY).astype(np.int32), pa.date32()
        elif kind is ValueKind.TIMESTAMP:
            # Times to the second look as others do.
            seconds = np.where(exact, values, np.minimum(np.maximum(np.floor(values), low), _LAST_SECOND))
            written, type_ = np.round(seconds * 1e6).astype(np.int64), pa.timestamp("us")
        else:
            written, type_ = _fitting(self.column, values, exact, low, high), pa.float64()
        whole = np.zeros(len(drawn), written.dtype)
        whole[~missing] = written
        array = pa.array(whole, mask=missing)
        return array.cast(type_)


def _fitting(column: Column, values: Floats, exact: NDArray[np.bool_], low: Floats, high: Floats) -> Floats:
    """Values that the column's type holds, and that lie in their labels there as well."""
    if column.kind is ValueKind.DECIMAL:
        grid = 10.0 ** _scale(column)
        return np.where(exact, values, np.maximum(np.floor(values * grid) / grid, low))
    if column.type == "FLOAT":
        narrow = values.astype(np.float32)
        narrow = np.where(~exact & (narrow >= high), np.nextafter(narrow, np.float32(-np.inf)), narrow)
        return np.where(~exact & (narrow < low), np.nextafter(narrow, np.float32(np.inf)), narrow).astype(np.float64)
    return values


def _scale(column: Column) -> int:
    """The digits behind the point of a DECIMAL(p,s)."""
    return int(column.type.rstrip(")").rpartition(",")[2])


def estimated_numbers(column: Column, bounds: ValueKind, labels: Sequence[ReleasedBounds]) -> EstimatedNumbers | None:
    """The column, if public bounds of this kind say what each of its labels stands for; `labels` are by their ranks.

    Labels without bounds, but for `*`, are others than numbers.
    """
    if bounds is ValueKind.INTEGER and column.kind is not bounds:
        return None
    if any(of.low is None and of.high is None and of.label != TOP_LABEL for of in labels):
        return None
    unit = _SECONDS_PER_DAY if column.kind is ValueKind.DATE else 1
    step = int(column.kind in (ValueKind.INTEGER, ValueKind.DATE))
    low, high = (
        np.array([_point(end, infinite, unit) for end in ends], np.float64)
        for ends, infinite in (([of.low for of in labels], -np.inf), ([of.high for of in labels], np.inf))
    )
    if bounds in (ValueKind.INTEGER, ValueKind.DATE):
        # The greatest is a value itself, or the day of some.
        high = high + (1 if step else _SECONDS_PER_DAY)
    finite = np.concatenate([low, high])
    finite = finite[np.isfinite(finite)]
    if len(finite) and np.abs(finite).max() > _MOST / 1e6 ** (column.kind is ValueKind.TIMESTAMP):
        return None
    if column.kind is ValueKind.DECIMAL:
        scaled = finite * 10.0 ** _scale(column)
        if len(finite) and (np.abs(scaled).max() > _MOST or np.abs(scaled - np.round(scaled)).max() > 1e-3):
            return None
    counts = np.array([of.records for of in labels], np.int64)
    return EstimatedNumbers(NumberLine(RangeLabels(low, high, counts, step)), column)


def _point(end: Any, infinite: float, unit: int) -> float:
    if end is None:
        return infinite
    if isinstance(end, datetime.datetime):
        return (end - _EPOCH) // _MICROSECOND / 1e6 / unit
    return float(end)
