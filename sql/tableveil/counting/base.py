"""The base histogram: the distinct combinations of quasi-identifier codes with their numbers of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, conjunction, create_table, number, table
from tableveil.classes import KeyLayout
from tableveil.dictionary import Dictionary
from tableveil.source import Source

TABLE = "base_histogram"


@dataclass(frozen=True, slots=True)
class BaseHistogram:
    """The temporary table `base_histogram`: columns `c0`, `c1`, … (codes) and `n` (records).

    `records` counts all of the source, `combinations` the table's rows; `withheld` records are in rows that have a NULL
    which the policy suppresses.
    """

    dictionaries: tuple[Dictionary, ...]
    records: int
    combinations: int
    withheld: int

    def searchable(self) -> exp.Select:
        """The rows that are not withheld, without a select list yet."""
        return exp.select().from_(table(TABLE, alias="base")).where(_not_withheld(self.dictionaries))


def build_base(session: Session, source: Source, dictionaries: Sequence[Dictionary]) -> BaseHistogram:
    """Counts the distinct combinations in one pass over the source; it spills if they do not fit into memory."""
    radices = [len(dictionary.levels.groups[0]) for dictionary in dictionaries]
    layout = KeyLayout.of(radices)
    packed = exp.select().from_(source.table("source"))
    keys: list[list[exp.Expr]] = [[] for _ in range(layout.words)]
    for j, dictionary in enumerate(dictionaries):
        packed, code = joined_code(packed, dictionary, "source", f"d{j}", level=0)
        keys[layout.word[j]].append(exp.Mul(this=cast(code, "BIGINT"), expression=number(layout.stride[j])))
    words = [alias(_sum(parts), f"w{word}") for word, parts in enumerate(keys)]
    packed = packed.select(*words)
    counted = (
        exp.select(*(column(f"w{word}") for word in range(layout.words)), alias(exp.Count(this=exp.Star()), "n"))
        .from_(packed.subquery("packed"))
        .group_by(*(column(f"w{word}") for word in range(layout.words)))
    )
    codes = [alias(unpacked(layout, j), f"c{j}") for j in range(len(dictionaries))]
    unpack = exp.select(*codes, column("n")).from_(counted.subquery("counted"))
    session.execute(create_table(table(TABLE), unpack, temporary=True))
    totals = exp.select(
        exp.Count(this=exp.Star()),
        exp.Coalesce(this=exp.Sum(this=column("n")), expressions=[number(0)]),
        exp.Coalesce(
            this=exp.Filter(this=exp.Sum(this=column("n")), expression=exp.Where(this=_not_withheld(dictionaries))),
            expressions=[number(0)],
        ),
    ).from_(table(TABLE, alias="base"))
    combinations, records, searchable = session.row(totals)
    return BaseHistogram(tuple(dictionaries), int(records), combinations, int(records) - int(searchable))


def class_size_histogram(session: Session) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sizes of the source's classes at level 0, ascending, and how many classes have each."""
    query = (
        exp.select(alias(column("n"), "size"), alias(exp.Count(this=exp.Star()), "classes"))
        .from_(table(TABLE))
        .group_by(column("n"))
        .order_by(column("n"))
    )
    arrays = session.arrays(query)
    return arrays["size"].astype(np.int64), arrays["classes"].astype(np.int64)


def joined_code(
    query: exp.Select, dictionary: Dictionary, of: str, as_: str, level: int
) -> tuple[exp.Select, exp.Expr]:
    """The query joined to the dictionary under the alias `as_`, and each row's group number at the level.

    NULL matches no dictionary row in an equality; its group, the one of the last code, is filled in.
    """
    value = exp.EQ(this=column(dictionary.column.name, of), expression=column("value", as_))
    joined = query.join(table(dictionary.table_name, alias=as_), on=value, join_type="LEFT")
    group: exp.Expr = column(dictionary.group_name(level), as_)
    if dictionary.levels.null_code is not None:
        null_group = int(dictionary.levels.groups[level][dictionary.levels.null_code])
        group = exp.Coalesce(this=group, expressions=[number(null_group)])
    return joined, group


def unpacked(layout: KeyLayout, attribute: int) -> exp.Expr:
    """The group number of an attribute out of the key words `w0`, `w1`, …, in the smallest type that holds it."""
    radix = max(layout.radices[attribute], 1)
    shifted = exp.IntDiv(this=column(f"w{layout.word[attribute]}"), expression=number(layout.stride[attribute]))
    type_ = "UTINYINT" if radix <= 2**8 else "USMALLINT" if radix <= 2**16 else "UINTEGER"
    return cast(exp.Mod(this=exp.paren(shifted), expression=number(radix)), type_)


def _sum(parts: Sequence[exp.Expr]) -> exp.Expr:
    total = parts[0]
    for part in parts[1:]:
        total = exp.Add(this=total, expression=part)
    return total


def _not_withheld(dictionaries: Sequence[Dictionary]) -> exp.Expr:
    return conjunction(
        exp.NEQ(this=column(f"c{j}", "base"), expression=number(dictionary.levels.null_code))
        for j, dictionary in enumerate(dictionaries)
        if dictionary.withholds and dictionary.levels.null_code is not None
    )
