"""Positions of numbers, dates and timestamps as 64-bit floats, for aggregating; and values without one."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, cast, number, text, try_cast
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.notation import Notation
from tableveil.policy import AggregateFunction, Aggregation
from tableveil.source import Column
from tableveil.source.tables import shown_type

NOTATIONS = {
    ValueKind.INTEGER: Notation.INTEGER,
    ValueKind.DECIMAL: Notation.NUMBER,
    ValueKind.FLOAT: Notation.NUMBER,
    ValueKind.DATE: Notation.DATE,
    ValueKind.TIMESTAMP: Notation.TIMESTAMP,
}
"""The kinds of columns whose values have positions, with the notation of their bounds."""

MOST_STEPS = 2**45
"""The most steps of a grid from 0 to a position: a quotient of them has seven binary digits after the point."""

LARGEST = 1e140
"""Up to this number, the squares of the numbers of more records than any table has can be summed."""

_DAY = 86_400
_UNITS = {
    ValueKind.INTEGER: (Fraction(1), "whole numbers"),
    ValueKind.DATE: (Fraction(1), "whole days"),
    ValueKind.TIMESTAMP: (Fraction(1, 10**6), "seconds, in whole microseconds"),
}
"""The number that the grid of an interval must be a multiple of."""

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The years from 1 to 9999, in days since 1970-01-01."""


def position_of(value: exp.Expr, kind: ValueKind) -> exp.Expr:
    """The position of a value: numbers as they are, dates in days and timestamps in seconds since 1970-01-01.

    The position of an infinite date is NaN.
    """
    if kind in (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT):
        return cast(value, "DOUBLE")
    # DuckDB 2.0.1 would take TIMESTAMP_S for nanoseconds, of which a year 9999 has too many.
    seconds = exp.TimeToUnix(this=cast(value, "TIMESTAMP"))
    position = exp.Div(this=seconds, expression=number(_DAY)) if kind is ValueKind.DATE else seconds
    return exp.Coalesce(this=position, expressions=[cast(text("nan"), "DOUBLE")])


def check_kind(aggregation: Aggregation, source_column: Column, field: str) -> list[Fault]:
    """The fault of a column without positions, or without numbers if the aggregate needs numbers."""
    name, kind = shortened(source_column.name), source_column.kind
    if kind not in NOTATIONS:
        actual = f"NUMERIC for {name}, a column of type {shown_type(source_column.type)}"
        hint = "ORDINAL aggregates values by their order, NOMINAL by a hierarchy."
        return [Fault(f"{field}.scale", actual, "a column of numbers, dates or timestamps", hint)]
    if aggregation.function is AggregateFunction.GEOMETRIC_MEAN and kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
        actual = f"GEOMETRIC_MEAN of {name}, a column of type {shown_type(source_column.type)}"
        return [Fault(f"{field}.function", actual, "a column of numbers, because dates have no zero")]
    return []


def read_codings(
    session: Session, aggregation: Aggregation, source_column: Column, field: str
) -> tuple[tuple[float, float], list[Fault]]:
    """The positions of bottom and top coding, infinite without coding, and the faults of these."""
    faults = []
    positions = {"bottom_coding": -math.inf, "top_coding": math.inf}
    for name in positions:
        coding: str = getattr(aggregation, name)
        if coding:
            position, unfit = _read_coding(session, coding, source_column, f"{field}.{name}")
            faults += unfit
            positions[name] = math.nan if position is None else position
    bottom, top = positions.values()
    if bottom > top:
        expected = f"a bound not below the bottom_coding, {shortened(aggregation.bottom_coding)}"
        faults.append(Fault(f"{field}.top_coding", shortened(aggregation.top_coding), expected))
    return (bottom, top), faults


def _read_coding(session: Session, coding: str, source_column: Column, field: str) -> tuple[float | None, list[Fault]]:
    notation = NOTATIONS[source_column.kind]
    asked = notation.read(coding)
    if asked is None:
        return None, [Fault(field, shortened(coding), notation.value)]
    typed = try_cast(text(coding), source_column.type)
    held, position = session.row(exp.select(cast(typed, "VARCHAR"), position_of(typed.copy(), source_column.kind)))
    lost = source_column.kind is ValueKind.DECIMAL and held is not None and Fraction(held) != asked
    if held is None or lost or not math.isfinite(position):
        return None, [Fault(field, shortened(coding), f"a value that the type {shown_type(source_column.type)} holds")]
    return float(position), []


def check_positions(
    aggregation: Aggregation, source_column: Column, positions: NDArray[np.float64], field: str
) -> Iterator[Fault]:
    """The fault of values without a position; positions are those before coding."""
    name, kind = shortened(source_column.name), source_column.kind
    finite = np.isfinite(positions)
    strange = int((~finite).sum())
    if strange:
        actual = f"{strange} values of {name} that are infinite or no numbers"
        yield Fault(f"{field}.scale", actual, "finite values", "Make them NULL, or correct them.")
    beyond, expected = _beyond(kind, positions[finite])
    if beyond:
        hint = "Correct them, or say ORDINAL: then only their order matters."
        yield Fault(f"{field}.scale", f"{beyond} values of {name} out of range", expected, hint)


def _beyond(kind: ValueKind, positions: NDArray[np.float64]) -> tuple[int, str]:
    """How many values are too far from zero, and the expected range."""
    match kind:
        case ValueKind.INTEGER:
            return int((np.abs(positions) >= 2.0**53).sum()), "whole numbers between -2^53 and 2^53"
        case ValueKind.DATE | ValueKind.TIMESTAMP:
            days = positions if kind is ValueKind.DATE else positions // _DAY
            outside = (days < _FIRST_DAY) | (days > _LAST_DAY)
            return int(outside.sum()), "dates in the years from 1 to 9999"
        case _:
            return int((np.abs(positions) > LARGEST).sum()), "numbers between -1e140 and 1e140"


def check_function(
    aggregation: Aggregation, source_column: Column, positions: NDArray[np.float64], field: str
) -> Iterator[Fault]:
    """The fault of values that do not fit the aggregate; positions are those after coding."""
    name = shortened(source_column.name)
    if aggregation.function is AggregateFunction.GEOMETRIC_MEAN:
        without = int((positions <= 0).sum())
        if without:
            actual = f"GEOMETRIC_MEAN of {name}, which has {without} values that are not above 0"
            yield Fault(f"{field}.function", actual, "values above 0", "Use MEAN, or a bottom_coding above 0.")
    if aggregation.grid is not None:
        grid = Fraction(aggregation.grid)
        unit, wording = _UNITS.get(source_column.kind, (grid, ""))
        if grid % unit:
            actual = f"{aggregation.grid} for {name}, a column of type {shown_type(source_column.type)}"
            yield Fault(f"{field}.grid", actual, f"a width in {wording}")
        elif len(positions) and np.abs(positions).max() > MOST_STEPS * grid:
            actual = f"{aggregation.grid} for {name}, which is too small for its largest values"
            yield Fault(f"{field}.grid", actual, "at most 2^45 steps from 0 to the largest value", "Use a wider one.")
        elif _leaves_the_calendar(source_column.kind, grid, positions):
            actual = f"{aggregation.grid} for {name}"
            yield Fault(f"{field}.grid", actual, "a width whose multiples around all values are in the years 1 to 9999")


def _leaves_the_calendar(kind: ValueKind, grid: Fraction, positions: NDArray[np.float64]) -> bool:
    """Whether ends of intervals have no date; multiples count from 1970-01-01."""
    if kind not in (ValueKind.DATE, ValueKind.TIMESTAMP) or not len(positions):
        return False
    day = 1 if kind is ValueKind.DATE else _DAY
    low = Fraction(positions.min()) // grid * grid
    high = (Fraction(positions.max()) // grid + 1) * grid
    return low < _FIRST_DAY * day or high > _LAST_DAY * day
