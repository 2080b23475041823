"""Finds the columns of a source that number people, by a sample of its rows; docs/explanations/people.md says how."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, column, number, row_hash
from tableveil.drafting import Meaning, is_number_of_people, meaning_of
from tableveil.hierarchy import ValueKind
from tableveil.risk.recurring import (
    FEW_VALUES,
    FEWEST_VALUES,
    MOST_ROWS_OF_FEW,
    Hint,
    PairsAlike,
    SampledColumn,
    recurrences,
)
from tableveil.source.model import Column, Source

MOST_ROWS = 2**16
"""Larger tables are sampled: rows by a hash of theirs, and for each column of many values all rows of some values."""

ROWS = 2**15
"""About so many rows are sampled, and half of them for each column of many values."""

MOST_SAMPLED = 2**19
"""More rows are never read: a value that is chosen may have most rows."""

_MOST_COLUMNS = 16
"""The most columns of many values that are sampled by these."""

_LEAST_DIFFERENT = 0.5
"""The share of sampled rows that differ, below which a sample of rows judges no column."""

_ROWS_EACH = 4
"""So many rows of each value let a sample of rows judge a column."""

_HINTS = {Meaning.SEX: Hint.SEX, Meaning.BIRTH: Hint.BIRTH, Meaning.AGE: Hint.AGE}
_NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT)


@dataclass(frozen=True, slots=True)
class Numbering:
    """A column that numbers people, the columns in which its rows agree and how far, and its different values.

    Without `agreeing`, only its name says so. `exact` if the values were counted; else they are estimated.
    """

    column: str
    agreeing: tuple[tuple[str, PairsAlike], ...]
    different: int
    exact: bool


def columns_numbering_people(
    session: WarehouseSession, source: Source, records: int, decide: Collection[str], estimated: Mapping[str, int]
) -> list[Numbering]:
    """The columns of a source of so many records that number people of whom some have several.

    Args:
        session: One statement is run in it.
        source: The source.
        records: Its number of records.
        decide: The columns in which people differ, such as quasi-identifiers: dates among them decide nothing.
        estimated: The estimated numbers of different values; needed for more than `MOST_ROWS` records.
    """
    if records < FEWEST_VALUES or not source.columns:
        return []
    sampled = records > MOST_ROWS
    by_values = _by_values(source.columns, records, estimated) if sampled else {}
    wanted = [alias(row_hash(column(each.name)), f"h{i}") for i, each in enumerate(source.columns)]
    wanted += [
        alias(exp.Coalesce(this=cast(column(each.name), "DOUBLE"), expressions=[number(0)]), f"n{i}")
        for i, each in enumerate(source.columns)
        if each.kind in _NUMBERS
    ]
    wanted.append(alias(row_hash(exp.null()), "nothing"))
    query = exp.select(*wanted, copy=False).from_(source.table(), copy=False)
    if sampled:
        # The columns of most values tell the rows apart as well as all of them.
        telling = sorted(estimated, key=lambda name: -estimated[name])[:_ROWS_EACH]
        of_row = row_hash(*(column(name) for name in telling))
        query = query.select(alias(of_row, "sampled"), copy=False)
        chosen = [_below(of_row.copy(), ROWS / records)]
        chosen += [_below(row_hash(column(name)), share) for name, share in by_values.items()]
        query = query.where(exp.or_(*chosen, copy=False), copy=False).limit(MOST_SAMPLED)
    arrays = session.arrays(query)
    hashes = [arrays[f"h{i}"].astype(np.uint64) for i in range(len(source.columns))]
    order = _order(hashes)
    rows = _judging(source.columns, hashes, arrays, by_values, order, records) if sampled else None
    nothing = arrays["nothing"].astype(np.uint64)
    columns = []
    for i, each in enumerate(source.columns):
        # 0 has the hash 0 in DuckDB, and here it means NULL.
        values = np.where(hashes[i] == nothing, np.uint64(0), np.maximum(hashes[i], np.uint64(1)))[order]
        meaning = meaning_of(each.name)
        columns.append(
            SampledColumn(
                values,
                np.nan_to_num(arrays[f"n{i}"].astype(np.float64))[order] if f"n{i}" in arrays else None,
                _HINTS.get(meaning) if meaning is not None else None,
                each.name in decide and each.kind not in (ValueKind.DATE, ValueKind.TIMESTAMP),
            )
        )
    everything = np.arange(len(order))
    recurring = recurrences(columns, rows or [everything] * len(columns))
    agreeing = {one.position: tuple((source.columns[j].name, how) for j, how in one.agreeing) for one in recurring}
    different = [estimated[each.name] if sampled else columns[i].different for i, each in enumerate(source.columns)]
    return [
        Numbering(each.name, agreeing.get(i, ()), different[i], not sampled)
        for i, each in enumerate(source.columns)
        if (different[i] >= FEW_VALUES or records <= different[i] * MOST_ROWS_OF_FEW)
        and (i in agreeing or _recurs_by_name(each, columns[i], different[i]))
    ]


def _recurs_by_name(of: Column, sampled: SampledColumn, different: int) -> bool:
    """Whether the column is called a number of people, and has some of its values in several rows."""
    return (
        of.kind in (ValueKind.INTEGER, ValueKind.TEXT, ValueKind.OTHER)
        and is_number_of_people(of.name)
        and different >= FEWEST_VALUES
        and sampled.different < np.count_nonzero(sampled.hashes)
    )


def _by_values(columns: Sequence[Column], records: int, estimated: Mapping[str, int]) -> dict[str, float]:
    """The columns of so many values that a sample of rows has too few of each, with the share of values to be read."""
    many = [each.name for each in columns if estimated[each.name] * _ROWS_EACH > ROWS]
    # Values that nearly all recur come before those of single rows.
    many.sort(key=lambda name: estimated[name])
    return dict.fromkeys(many[:_MOST_COLUMNS], ROWS / 2 / records)


def _limit(share: float) -> int:
    """The largest of the share of hashes that are chosen: those are at most half of all, and have no sign anywhere."""
    return min(int(share * 2**64), 2**63 - 1)


def _below(hashed: exp.Expr, share: float) -> exp.Expr:
    return exp.Between(this=hashed, low=number(0), high=number(_limit(share)))


def _order(hashes: Sequence[NDArray[np.uint64]]) -> NDArray[np.intp]:
    """An order of the rows that depends on all their values, and on nothing else."""
    joint = np.zeros(len(hashes[0]), np.uint64)
    for each in hashes:
        joint = (joint ^ each) * np.uint64(0x9E3779B97F4A7C15)
        joint ^= joint >> np.uint64(32)
    return np.argsort(joint, kind="stable")


def _judging(
    columns: Sequence[Column],
    hashes: Sequence[NDArray[np.uint64]],
    arrays: Mapping[str, NDArray[np.generic]],
    by_values: Mapping[str, float],
    order: NDArray[np.intp],
    records: int,
) -> list[NDArray[np.intp]]:
    """For each column its rows, as places in the order: of chosen values all rows, or the sampled ones."""
    limits = {name: np.uint64(_limit(share)) for name, share in by_values.items()}
    chosen = arrays["sampled"].astype(np.uint64)[order]
    of_rows = chosen <= np.uint64(_limit(ROWS / records))
    if len(np.unique(chosen[of_rows])) < _LEAST_DIFFERENT * np.count_nonzero(of_rows):
        # Equal rows are chosen together, and would seem to be of one person.
        of_rows[:] = False
    return [
        np.flatnonzero(source_column[order] <= limits[each.name] if each.name in limits else of_rows)
        for each, source_column in zip(columns, hashes, strict=True)
    ]
