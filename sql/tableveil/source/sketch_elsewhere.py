"""Samples of rows in a warehouse: a few values of each column are collected, and hashed in the embedded database.

All values of a column that has few are hashed as those of a table in the database are, so that either is known again in
the other. The engine's own hash chooses some of more values, and of the rows: those are known again in the same kind
of engine only.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, collected, column, number, parameter, row_hash, table
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Column, Source
from tableveil.source.sketch import ROWS, Kept, Sketch, hash_of, keyed, plain, scale_of

LONGEST = 256
"""Texts of more characters are not sampled."""

_AT_ONCE = 6
"""Columns in one scan: of each, twice the most values may come."""


def sketch_elsewhere(
    session: WarehouseSession, source: Source, records: int, estimated: Sequence[float], key: bytes
) -> Sketch:
    """The sketch of a source of so many records; `estimated` has its columns' aggregates from `estimates`."""
    secret = hmac.new(key, b"sketch", hashlib.sha256).hexdigest()
    distinct = dict(zip((each.name for each in source.columns), map(int, estimated[::2]), strict=True))
    varying = [each for each in source.columns if distinct[each.name] > 1]
    kept: list[Kept] = []
    # Bytes are no text, as which their values would come.
    sampled = [each for each in varying if each.type != "BLOB"]
    for start in range(0, len(sampled), _AT_ONCE):
        some = sampled[start : start + _AT_ONCE]
        scales = [scale_of(distinct[each.name]) for each in some]
        kept += _of_columns(session, source, some, scales, secret)
    if len(varying) > 1:
        kept.append(_of_rows(session, source, varying, scale_of(records), secret))
    spans = dict(zip((each.name for each in source.columns), estimated[1::2], strict=True))
    return Sketch(records, keyed(session.embedded, [each for each in kept if each.varies], spans, secret))


def _of_columns(
    session: WarehouseSession, source: Source, columns: Sequence[Column], scales: Sequence[int], secret: str
) -> Iterator[Kept]:
    """One scan counts the values of all columns, each by itself."""
    values, sets = [], []
    for i, (each, scale) in enumerate(zip(columns, scales, strict=True)):
        value, chosen = plain(each), _chosen(each)
        if each.kind is ValueKind.TEXT:
            value = _if(exp.LTE(this=exp.Length(this=value.copy()), expression=number(LONGEST)), value)
        if scale:
            value, chosen = _if(_below(chosen, scale), value), _if(_below(chosen, scale), chosen)
            values.append(alias(chosen, f"h{i}"))
        values.append(alias(value, f"v{i}"))
        sets.append([f"v{i}", f"h{i}"] if scale else [f"v{i}"])
    names = [name for found in sets for name in found]
    query = exp.select(
        *map(column, names),
        *(alias(exp.Grouping(expressions=[column(f"v{i}")]), f"g{i}") for i in range(len(columns))),
        alias(exp.Count(this=exp.Star()), "n"),
    ).from_(exp.select(*values).from_(source.table("source")).subquery("sampled"))
    tuples = [exp.Tuple(expressions=[column(name) for name in found]) for found in sets]
    query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=tuples)]))
    session.embedded.stage("sampled_values", exp.select("*").from_(_collected(session, query, secret)))
    for i, (each, scale) in enumerate(zip(columns, scales, strict=True)):
        hashed = exp.select(
            alias(hash_of(column(f"v{i}"), each), "h"),
            alias(cast(column("n"), "BIGINT"), "n"),
            *([alias(cast(column(f"h{i}"), "BIGINT"), "chosen")] if scale else []),
        ).from_(table("sampled_values"))
        hashed = hashed.where(exp.EQ(this=column(f"g{i}"), expression=number(0)))
        if scale:
            hashed = hashed.where(column(f"h{i}").is_(exp.null()).not_())
        found = session.embedded.arrays(hashed, [secret])
        # Spellings of one value have one hash.
        hashes, places = np.unique(found["h"].astype(np.uint64), return_inverse=True)
        of_records = np.bincount(places, found["n"], len(hashes)).astype(np.int64)
        deciding = None
        if scale:
            deciding = np.zeros(len(hashes), np.uint64)
            deciding[places] = found["chosen"].astype(np.uint64)
        yield Kept(each.name, scale, hashes, of_records, deciding)
    session.embedded.execute("DROP TABLE temp.main.sampled_values")


def _of_rows(session: WarehouseSession, source: Source, columns: Sequence[Column], scale: int, secret: str) -> Kept:
    """A sample of the rows, for any order of their columns."""
    # Numbers below 2^31: the sum of all columns' fits into 64 bits.
    parts = [exp.Mod(this=exp.Paren(this=_chosen(each)), expression=number(2**31 - 1)) for each in columns]
    total: exp.Expr = parts[0]
    for part in parts[1:]:
        total = exp.Add(this=total, expression=part)
    summed = exp.select(alias(cast(total, "BIGINT"), "total")).from_(source.table("source"))
    chosen = exp.select(alias(row_hash(parameter(1), column("total")), "h")).from_(summed.subquery("summed"))
    query = exp.select(column("h"), alias(exp.Count(this=exp.Star()), "n")).from_(chosen.subquery("chosen"))
    query = query.group_by(column("h"))
    if scale:
        query = query.where(_below(column("h"), scale))
    of = _collected(session, query, secret)
    hashed = exp.select(alias(row_hash(parameter(1), column("h")), "keyed"), column("h"), column("n"))
    found = session.embedded.arrays(hashed.from_(of), [secret])
    return Kept(
        ROWS,
        scale,
        found["keyed"].astype(np.uint64),
        found["n"].astype(np.int64),
        found["h"].astype(np.uint64) if scale else None,
    )


def _chosen(found: Column) -> exp.Expr:
    """The engine's keyed hash of a value."""
    return hash_of(plain(found), found)


def _below(hashed: exp.Expr, scale: int) -> exp.Expr:
    """Whether a hash is kept; an engine's may have a sign, and then only those without are."""
    return exp.Between(this=hashed.copy(), low=number(0), high=number(2 ** (64 - scale) - 1))


def _if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value.copy())])


def _collected(session: WarehouseSession, query: exp.Query, secret: str) -> exp.Expr:
    session.view("sampled_elsewhere", query, [secret] if query.find(exp.Parameter) else [])
    found = collected(session, "sketched_values", exp.select("*").from_(table("sampled_elsewhere")))
    session.forget("sampled_elsewhere")
    return found
