"""Samples of rows in a warehouse: a few values of each column are collected, and hashed in the embedded database.

All values of a column that has few are hashed as those of a table in the database are, so that either is known again in
the other. The engine's own hash chooses some of more values, and of the rows: those are known again in the same kind
of engine only.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, column, number, parameter, row_hash, table
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Column, Source
from tableveil.source.sketch import ROWS, Kept, Sketch, hash_of, keyed, plain, scale_of

LONGEST = 256
"""Texts of more characters are not sampled."""


def sketch_elsewhere(
    session: WarehouseSession, source: Source, records: int, estimated: Sequence[float], key: bytes
) -> Sketch:
    """The sketch of a source of so many records; `estimated` has its columns' aggregates from `estimates`."""
    secret = hmac.new(key, b"sketch", hashlib.sha256).hexdigest()
    distinct = dict(zip((each.name for each in source.columns), map(int, estimated[::2]), strict=True))
    varying = [each for each in source.columns if distinct[each.name] > 1]
    # Bytes are no text, as which their values would come.
    kept = [
        _of_column(session, source, each, scale_of(distinct[each.name]), secret)
        for each in varying
        if each.type != "BLOB"
    ]
    if len(varying) > 1:
        kept.append(_of_rows(session, source, varying, scale_of(records), secret))
    spans = dict(zip((each.name for each in source.columns), estimated[1::2], strict=True))
    samples = keyed(session.embedded, [each for each in kept if each.varies], spans, secret)
    # Nobody looked at rows: people are known by values alone.
    return Sketch(records, tuple(replace(each, filled=None) for each in samples))


def _of_column(session: WarehouseSession, source: Source, found: Column, scale: int, secret: str) -> Kept:
    """One scan counts the values, or those that the engine's hash chooses: few are grouped then."""
    value = plain(found)
    if found.kind is ValueKind.TEXT:
        value = _if(exp.LTE(this=exp.Length(this=value.copy()), expression=number(LONGEST)), value)
    of_source = exp.select(alias(value, "v")).from_(source.table("source"))
    if scale:
        hashed = of_source.select(alias(_chosen(found), "h")).subquery("hashed")
        # A condition would be computed below the subquery, with the hash once more in each part of it.
        values = exp.select(*(alias(_if(_below(column("h"), scale), column(name)), name) for name in "vh")).from_(
            hashed
        )
    else:
        values = of_source.select(alias(cast(exp.null(), "BIGINT"), "h"))
    query = exp.select("v", "h", alias(exp.Count(this=exp.Star()), "n")).from_(values.subquery("sampled"))
    of_values = exp.select(
        alias(hash_of(column("v"), found), "keyed"),
        alias(cast(column("n"), "BIGINT"), "n"),
        alias(exp.Coalesce(this=column("h"), expressions=[number(0)]), "h"),
    ).from_(_collected(session, query.group_by("v", "h"), secret))
    if scale:
        of_values = of_values.where(column("h").is_(exp.null()).not_())
    arrays = session.embedded.arrays(of_values, [secret])
    # Spellings of one value have one hash.
    hashes, places = np.unique(arrays["keyed"].astype(np.uint64), return_inverse=True)
    records = np.bincount(places, arrays["n"], len(hashes)).astype(np.int64)
    deciding = np.zeros(len(hashes), np.uint64)
    deciding[places] = arrays["h"].astype(np.uint64)
    return Kept(found.name, scale, hashes, records, deciding if scale else None)


def _of_rows(session: WarehouseSession, source: Source, columns: Sequence[Column], scale: int, secret: str) -> Kept:
    """A sample of the rows, for any order of their columns."""
    # Numbers below 2^31: the sum of all columns' fits into 64 bits.
    parts = [exp.Mod(this=exp.Paren(this=_chosen(each)), expression=number(2**31 - 1)) for each in columns]
    total: exp.Expr = parts[0]
    for part in parts[1:]:
        total = exp.Add(this=total, expression=part)
    summed = exp.select(alias(cast(total, "BIGINT"), "total")).from_(source.table("source"))
    hashed = exp.select(alias(row_hash(parameter(1), column("total")), "h")).from_(summed.subquery("summed"))
    chosen = exp.select(alias(_if(_below(column("h"), scale), column("h")) if scale else column("h"), "h"))
    query = exp.select(column("h"), alias(exp.Count(this=exp.Star()), "n"))
    query = query.from_(chosen.from_(hashed.subquery("hashed")).subquery("chosen")).group_by(column("h"))
    of_rows = exp.select(alias(row_hash(parameter(1), column("h")), "keyed"), column("h"), column("n"))
    of_rows = of_rows.from_(_collected(session, query, secret)).where(column("h").is_(exp.null()).not_())
    arrays = session.embedded.arrays(of_rows, [secret])
    return Kept(
        ROWS,
        scale,
        arrays["keyed"].astype(np.uint64),
        arrays["n"].astype(np.int64),
        arrays["h"].astype(np.uint64) if scale else None,
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
    session.collect("sketched_values", query, [secret] if query.find(exp.Parameter) else [])
    return table("sketched_values")
