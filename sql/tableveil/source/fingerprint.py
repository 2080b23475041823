"""The keyed fingerprint of a table's rows: tells whether they changed, and nothing else to who lacks the key."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tableveil.backend import Session, alias, call, cast, column, number, try_cast
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Column, Source
from tableveil.source.query import take_snapshot

_DIGEST_BITS = 31
"""Of each value's hash, so that what is summed is an INTEGER: whole hashes take longer."""

# Digests made in one scan. What DuckDB takes to plan them grows with their square.
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is kept of a source's records to know them again.

    `rows` is of all of them with their columns' names and types; `columns` has a digest of each column's values, in the
    order of the source's columns, which is the same whatever the column's name, place, and type of the same kind; of a
    source that is only compared with its release it has none.
    """

    rows: str
    columns: tuple[str, ...] = ()


def fingerprint(session: Session, source: Source, key: bytes) -> str:
    """HMAC-SHA-256 in hexadecimal over columns, types, number of rows and the rows' hashes, whatever their order.

    The hashes are DuckDB's 64-bit ones, seeded with a digest of the key; their sum and exclusive or change with any
    row. That finds accidents and concurrent writers; it is no defence against one who forges rows and has the key.
    A query is run for it, and its rows are kept, for whatever the session reads of the source afterwards.
    """
    if source.query is not None:
        take_snapshot(session, source)
    return _of_rows(source.columns, _totals(session, source.with_all().table(), source.columns, [], key), key)


def full_fingerprint(session: Session, source: Source, key: bytes) -> Fingerprint:
    """The fingerprint, and of each column an HMAC-SHA-256 over the number of records and the sum of the values' hashes.

    Both are of one scan. A query is run as above. Without the key a digest cannot be compared with that of any guess,
    however few values the column may have; it does tell that two columns have the same values as often.
    """
    if source.query is not None:
        take_snapshot(session, source)
    rows = source.with_all().table()
    records, total, mixed, *sums = _totals(session, rows, source.columns, source.columns[:_AT_ONCE], key)
    for start in range(_AT_ONCE, len(source.columns), _AT_ONCE):
        further = [call("sum", _hash_of(found)) for found in source.columns[start : start + _AT_ONCE]]
        sums += session.row(exp.select(*further).from_(rows.copy()))
    digests = tuple(
        hmac.new(key, repr(("column", records, found)).encode(), hashlib.sha256).hexdigest() for found in sums
    )
    return Fingerprint(_of_rows(source.columns, (records, total, mixed), key), digests)


def population_fingerprint(session: Session, source: Source, key: bytes) -> str:
    """The same of the population's rows, on which a release depends too; an empty text without a population."""
    population = source.population
    if population is None:
        return ""
    return _of_rows(population.columns, _totals(session, population.table(), population.columns, [], key), key)


def _totals(
    session: Session, rows: exp.Expr, columns: Sequence[Column], summed: Sequence[Column], key: bytes
) -> tuple[Any, ...]:
    """The number of rows, the sum and the exclusive or of their hashes, and the sum of the `summed` columns' hashes."""
    seed = hashlib.sha256(b"rows" + key).hexdigest()
    # Bound, not written out: the texts of failing statements are logged.
    hashes = [alias(call("hash", exp.Placeholder(), *(column(c.name) for c in columns)), "h")]
    hashes += [alias(_hash_of(found), f"h{i}") for i, found in enumerate(summed)]
    totals = [exp.Count(this=exp.Star()), call("sum", column("h")), call("bit_xor", column("h"))]
    totals += [call("sum", column(f"h{i}")) for i in range(len(summed))]
    return session.row(exp.select(*totals).from_(exp.select(*hashes).from_(rows).subquery("hashed")), [seed])


def _hash_of(found: Column) -> exp.Expr:
    whole = call("hash", _whatever_type(found))
    return cast(exp.BitwiseRightShift(this=whole, expression=number(64 - _DIGEST_BITS)), "INTEGER")


def _whatever_type(found: Column) -> exp.Expr:
    """The column's values such that they are equal to those of a column of another type of their kind."""
    value = column(found.name)
    if found.kind is ValueKind.INTEGER:
        return cast(value, "DOUBLE")
    if found.kind in (ValueKind.DECIMAL, ValueKind.FLOAT):
        # 0.1 is not the same FLOAT and DOUBLE, while whole numbers are known to more digits than a FLOAT has.
        double = cast(value, "DOUBLE")
        whole = exp.EQ(this=double, expression=call("trunc", double.copy()))
        single = exp.Coalesce(this=cast(try_cast(double.copy(), "FLOAT"), "DOUBLE"), expressions=[double.copy()])
        return exp.Case(ifs=[exp.If(this=whole, true=double.copy())], default=single)
    if found.kind in (ValueKind.DATE, ValueKind.TIMESTAMP) and found.type != "TIMESTAMP WITH TIME ZONE":
        # A date may be beyond all timestamps: it is NULL then.
        return try_cast(value, "TIMESTAMP")
    # With a time zone, what a cast gives depends on the session's; the hash is that of the same time in UTC.
    return value if found.kind in (ValueKind.DATE, ValueKind.TIMESTAMP) else cast(value, "VARCHAR")


def _of_rows(columns: Sequence[Column], totals: tuple[Any, ...], key: bytes) -> str:
    parts = ([(c.name, c.type) for c in columns], totals)
    return hmac.new(key, repr(parts).encode(), hashlib.sha256).hexdigest()
