"""Columns whose values are aggregated inside classes or clusters instead of being generalized."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Scale(StrEnum):
    """The meaning of distances between the values of a column: of numbers, of ranks, or by its hierarchy."""

    NUMERIC = "NUMERIC"
    ORDINAL = "ORDINAL"
    NOMINAL = "NOMINAL"


class AggregateFunction(StrEnum):
    """The aggregate that replaces the values of a cluster.

    `MEDIAN` is the lower of two middle values of an ordinal column, and their mean for a numeric one. If values are
    equally frequent, `MODE` is the first of them in the column's order. `INTERVAL` holds all values, and `COMMON_LABEL`
    is the lowest label of the hierarchy that all have: both are true of every member.
    """

    MEAN = "MEAN"
    MEDIAN = "MEDIAN"
    MODE = "MODE"
    GEOMETRIC_MEAN = "GEOMETRIC_MEAN"
    INTERVAL = "INTERVAL"
    COMMON_LABEL = "COMMON_LABEL"


FITTING = {
    Scale.NUMERIC: (
        AggregateFunction.MEAN,
        AggregateFunction.MEDIAN,
        AggregateFunction.MODE,
        AggregateFunction.GEOMETRIC_MEAN,
        AggregateFunction.INTERVAL,
    ),
    Scale.ORDINAL: (AggregateFunction.MEDIAN, AggregateFunction.MODE),
    Scale.NOMINAL: (AggregateFunction.MODE, AggregateFunction.COMMON_LABEL),
}
"""The functions that a scale allows."""


@dataclass(frozen=True, slots=True)
class Aggregation:
    """How the values of a quasi-identifier are aggregated instead of being generalized.

    `grid` is the width to whose multiples the ends of an `INTERVAL` are rounded outwards, in the column's unit (days
    for dates, seconds for timestamps). Values below `bottom_coding` and above `top_coding`, in the column's own
    notation, count as these; empty: no coding.
    """

    function: AggregateFunction = AggregateFunction.MEAN
    scale: Scale = Scale.NUMERIC
    grid: Decimal | None = None
    bottom_coding: str = ""
    top_coding: str = ""

    def __str__(self) -> str:
        parts = [self.function.replace("_", " ").lower()]
        parts += [f"rounded to multiples of {self.grid:f}"] if self.grid is not None else []
        parts += [f"from {self.bottom_coding}"] if self.bottom_coding else []
        parts += [f"up to {self.top_coding}"] if self.top_coding else []
        return ", ".join(parts)


def without_codings(words: str) -> str:
    """The words of an aggregation without its codings, which come last: they are often the ends of the values."""
    return words.partition(", from ")[0].partition(", up to ")[0]
