"""The aggregates of classes, which replace the values of their records."""

import decimal
import math
from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.aggregation.aggregates import Aggregates, CommonLabels, Numbers, Ranges
from tableveil.aggregation.aggregates import MemberValues as MemberCodes
from tableveil.backend import Session, alias, cast, column, table, text
from tableveil.dictionary import AggregatedDictionary
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.labelled import TOP_LABEL
from tableveil.release.plan import ReleasePlan
from tableveil.verification.written import AGGREGATES

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


_STEPS = {"TIMESTAMP_S": 1, "TIMESTAMP_MS": 10**3}
"""Steps per second, for types with other than a million."""


def stage_aggregates(session: Session, plan: ReleasePlan, keys: Mapping[str, pa.Array]) -> None:
    """Makes the table of the released classes' aggregates, with their `keys`."""
    query = exp.select(*(column(name, "staged") for name in keys)).from_(table("staged"))
    columns = dict(keys)
    for j, (dictionary, aggregates) in enumerate(plan.recoding.aggregates):
        columns[f"a{j}"] = _aggregates(session, dictionary, aggregates, plan.kept)
        replacing: exp.Expr = column(f"a{j}", "staged")
        if isinstance(aggregates, MemberCodes):
            same = exp.EQ(this=replacing, expression=column("code", f"d{j}"))
            query = query.join(table(dictionary.table_name, alias=f"d{j}"), on=same)
            replacing = _coded(dictionary, column("value", f"d{j}"))
        query = query.select(alias(cast(replacing, dictionary.released_type), f"a{j}"))
    with session.relation("staged", pa.table(columns)):
        session.stage(AGGREGATES, query)


def aggregate_of(plan: ReleasePlan, dictionary: AggregatedDictionary) -> exp.Expr:
    """The aggregate that replaces the values of a column, for rows that are joined to their class's aggregates."""
    return column(f"a{plan.aggregated_columns.index(dictionary)}", AGGREGATES)


def _aggregates(
    session: Session, dictionary: AggregatedDictionary, aggregates: Aggregates, kept: NDArray[np.bool_]
) -> pa.Array:
    """Per released class its aggregate, in a type that the database casts to the released one; for `MODE` codes."""
    match aggregates:
        case Numbers(values):
            return _numbers(dictionary, values[kept])
        case MemberCodes(codes):
            return pa.array(codes[kept])
        case Ranges(low, high):
            grid = dictionary.values.aggregation.grid
            assert grid is not None, "ends of intervals are rounded"
            return interval_labels(dictionary.column.kind, grid, low[kept], high[kept])
        case CommonLabels(levels, groups):
            return _common_labels(session, dictionary, levels[kept], groups[kept])


def _numbers(dictionary: AggregatedDictionary, values: NDArray[np.float64]) -> pa.Array:
    """Averages of dates and timestamps are rounded to the nearest value of their type, halves to the even one."""
    match dictionary.column.kind:
        case ValueKind.DATE:
            return pa.array(np.rint(values).astype(np.int32)).cast(pa.date32())
        case ValueKind.TIMESTAMP:
            steps = _STEPS.get(dictionary.column.type, 10**6)
            microseconds = np.rint(values * steps).astype(np.int64) * (10**6 // steps)
            return pa.array(microseconds).cast(pa.timestamp("us"))
        case _:
            # A zero has no sign: equal values must not look different.
            return pa.array(values + 0.0)


def _coded(dictionary: AggregatedDictionary, value: exp.Expr) -> exp.Expr:
    """The value of a member, or the bound of the coding that it lies beyond."""
    aggregation, type_ = dictionary.values.aggregation, dictionary.column.type
    beyond = []
    for coding, comparison in ((aggregation.bottom_coding, exp.LT), (aggregation.top_coding, exp.GT)):
        if coding:
            bound = cast(text(coding), type_)
            beyond.append(exp.If(this=comparison(this=value.copy(), expression=bound), true=bound.copy()))
    return exp.Case(ifs=beyond, default=value) if beyond else value


def _common_labels(
    session: Session, dictionary: AggregatedDictionary, levels: NDArray[np.int32], groups: NDArray[np.int32]
) -> pa.Array:
    hierarchy = dictionary.values.levels
    assert hierarchy is not None, "nominal columns have a hierarchy"
    values = exp.select(cast(column("value"), "VARCHAR")).from_(table(dictionary.table_name)).order_by("code")
    labels = [tuple(text for (text,) in session.rows(values)), *hierarchy.labels]
    # Numbered through all levels, one after the other.
    starts = np.cumsum([0, *map(len, labels)])
    every = pa.array([label for of_level in labels for label in of_level], pa.string())
    return every.take(pa.array(starts[levels] + groups))
