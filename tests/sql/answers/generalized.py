"""Random records with labels of mixed width, as local recoding gives them, beside their true values."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import numpy as np

from tableveil.hierarchy import Point, ValueKind, read_bounds
from tableveil.release.aggregated import interval_labels

START = datetime.date(2020, 1, 1)
DAYS = (START - datetime.date(1970, 1, 1)).days
TYPES = {
    ValueKind.INTEGER: "BIGINT",
    ValueKind.FLOAT: "DOUBLE",
    ValueKind.DATE: "DATE",
    ValueKind.TIMESTAMP: "TIMESTAMP",
}
_WHOLE = (ValueKind.INTEGER, ValueKind.DATE)
_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Column:
    """Positions on a grid, as values of a kind."""

    kind: ValueKind
    grid: Decimal
    at: Callable[[int], Any]


COLUMNS = {
    "whole numbers": Column(ValueKind.INTEGER, Decimal(1), lambda step: step - 40),
    "numbers": Column(ValueKind.FLOAT, Decimal("0.25"), lambda step: step / 4 - 10),
    "days": Column(ValueKind.DATE, Decimal(1), lambda step: START + datetime.timedelta(step)),
    "times": Column(
        ValueKind.TIMESTAMP,
        Decimal(_SECONDS),
        lambda step: datetime.datetime.combine(START, datetime.time()) + datetime.timedelta(seconds=_SECONDS * step),
    ),
}
STEPS = 120


def fill(connection: duckdb.DuckDBPyConnection, column: Column, seed: int, records: int = 200) -> None:
    """Makes the table `released` of labels and their bounds, with the true values and groups of the records.

    A label covers its record's value: it is the value, an interval, open at an end, or `*`. A value that is missing has
    the label NULL, or `*`.
    """
    random = Random(seed)
    rows = []
    for record in range(records):
        step = random.randrange(STEPS)
        missing = random.random() < 0.05
        label: str | None = _label(random, column, step)
        if missing:
            label = random.choice([None, "*"])
        bounds = read_bounds(column.kind, label) if label is not None else None
        ends = (bounds.low, bounds.high) if bounds else (None, None)
        value = None if missing else column.at(step)
        rows.append((record, random.randrange(4), value, label, *map(_plain, ends)))
    type_ = TYPES[column.kind]
    connection.execute(
        f"CREATE OR REPLACE TABLE released (record INTEGER, part INTEGER, truth {type_}, label VARCHAR, "
        f"label_from {type_}, label_to {type_})"
    )
    connection.executemany("INSERT INTO released VALUES (?, ?, ?, ?, ?, ?)", rows)


def _label(random: Random, column: Column, step: int) -> str:
    # The last groups have no open ends.
    width = random.choice([1, 2, 5, 10, 24, 50])
    low = step - random.randrange(width)
    shape = random.random()
    if shape < 0.02:
        return "*"
    if shape < 0.15:
        return _exact(column, step)
    ends = [float(_position(column, low)), float(_position(column, low + width))]
    if shape < 0.17:
        ends[0] = -np.inf
    elif shape < 0.19:
        ends[1] = np.inf
    (label,) = interval_labels(column.kind, column.grid, np.array([ends[0]]), np.array([ends[1]])).to_pylist()
    # The last interval of a rule includes the maximum.
    if label.endswith(")") and random.random() < 0.3:
        label = label[:-1] + "]"
    return str(label)


def _position(column: Column, step: int) -> Decimal:
    match column.kind:
        case ValueKind.INTEGER:
            return Decimal(step - 40)
        case ValueKind.FLOAT:
            return Decimal(step) / 4 - 10
        case ValueKind.DATE:
            return Decimal(DAYS + step)
        case _:
            return Decimal(DAYS) * 86_400 + _SECONDS * step


def _exact(column: Column, step: int) -> str:
    value = column.at(step)
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else str(value)


def _plain(point: Point | None) -> Any:
    return float(point) if isinstance(point, Decimal) else point
