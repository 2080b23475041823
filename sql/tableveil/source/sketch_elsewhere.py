"""Samples of rows in a warehouse: a few values of each column are collected, and hashed in the embedded database.

All values of a column that has few are hashed as those of a table in the database are, so that either is known again in
the other. The engine's own hash chooses some of more values, and of the rows: those are known again in the same kind
of engine only.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, column, expression, sql, table
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
        value = expression(f"CASE WHEN length($value) <= {LONGEST} THEN $value END", value=value)
    values = "SELECT $value AS v, CAST(NULL AS BIGINT) AS h FROM $rows"
    if scale:
        # A condition would be computed below the subquery, with the hash once more in each part of it.
        values = (
            f"SELECT CASE WHEN {_below(scale)} THEN v END AS v, CASE WHEN {_below(scale)} THEN h END AS h "
            "FROM (SELECT $value AS v, $chosen AS h FROM $rows) AS hashed"
        )
    query = f"SELECT v, h, count(*) AS n FROM ({values}) AS sampled GROUP BY v, h"
    sampled = sql(query, value=value, chosen=_chosen(found), rows=source.table("source"))
    of_values = "SELECT $hash AS keyed, CAST(n AS BIGINT) AS n, coalesce(h, 0) AS h FROM $rows"
    if scale:
        of_values += " WHERE h IS NOT NULL"
    rows = _collected(session, sampled, secret)
    arrays = session.embedded.arrays(sql(of_values, hash=hash_of(column("v"), found), rows=rows), [secret])
    # Spellings of one value have one hash.
    hashes, places = np.unique(arrays["keyed"].astype(np.uint64), return_inverse=True)
    records = np.bincount(places, arrays["n"], len(hashes)).astype(np.int64)
    deciding = np.zeros(len(hashes), np.uint64)
    deciding[places] = arrays["h"].astype(np.uint64)
    return Kept(found.name, scale, hashes, records, deciding if scale else None)


def _of_rows(session: WarehouseSession, source: Source, columns: Sequence[Column], scale: int, secret: str) -> Kept:
    """A sample of the rows, for any order of their columns."""
    # Numbers below 2^31: the sum of all columns' fits into 64 bits.
    parts = [expression(f"($hash) % {2**31 - 1}", hash=_chosen(each)) for each in columns]
    total = reduce(lambda before, part: exp.Add(this=before, expression=part), parts)
    chosen = f"CASE WHEN {_below(scale)} THEN h END" if scale else "h"
    query = (
        f"SELECT h, count(*) AS n FROM (SELECT {chosen} AS h FROM (SELECT hash($1, total) AS h FROM "
        "(SELECT CAST($total AS BIGINT) AS total FROM $rows) AS summed) AS hashed) AS chosen GROUP BY h"
    )
    rows = _collected(session, sql(query, total=total, rows=source.table("source")), secret)
    of_rows = "SELECT hash($1, h) AS keyed, h, n FROM $rows WHERE h IS NOT NULL"
    arrays = session.embedded.arrays(sql(of_rows, rows=rows), [secret])
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


def _below(scale: int) -> str:
    """Whether a hash is kept; an engine's may have a sign, and then only those without are."""
    return f"h BETWEEN 0 AND {2 ** (64 - scale) - 1}"


def _collected(session: WarehouseSession, query: exp.Query, secret: str) -> exp.Expr:
    session.collect("sketched_values", query, [secret] if query.find(exp.Parameter) else [])
    return table("sketched_values")
