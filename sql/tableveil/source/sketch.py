"""Keyed samples of a source's values and rows, by which people are known again in another table.

A sample keeps the hashes below a threshold, as FracMinHash does (Irber et al. 2022, doi:10.1101/2022.01.11.475838). The
hash alone decides whether a value is kept, so a value that two tables share is in both samples or in neither. That
estimates the share of either table in the other, whatever their sizes. Min-hash keeps as many values of each table
instead, and few of a small table's values are among the least of a large one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, number, row_hash, text, try_cast
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Column, Source

MOST_VALUES = 2**15
"""About how many values of a column, or rows, a sample keeps at most; all of them where there are no more."""

ROWS = ""
"""In place of a column's name: the sample is of whole rows."""

LEVEL_SHIFT = 56
"""Below the highest bits of a kept value, which say up to which scale it stays in the sample."""

# Columns that one scan estimates. What DuckDB takes to plan them grows with their square.
_AT_ONCE = 100

_READ_AS_TEXT = (ValueKind.TEXT, ValueKind.BOOLEAN, ValueKind.TIME, ValueKind.OTHER)

# The sum of the hashes of so many columns fits into 63 bits.
_ROW_SHIFT = 14


@dataclass(frozen=True, slots=True)
class Sample:
    """Of a column or of the rows: one in 2^scale of the different values, keyed, each with its number of records.

    The highest 8 bits of one of the `values` are the largest scale at which it is still kept, the others a keyed hash.
    `density` is the share of the whole numbers between least and largest that are values; 0 in columns of other kinds.
    """

    column: str
    scale: int
    values: NDArray[np.uint64]
    records: NDArray[np.int64]
    density: float = 0.0


@dataclass(frozen=True, slots=True)
class Sketch:
    """The samples of a source of so many records: of its rows, and of each column that varies."""

    records: int
    samples: tuple[Sample, ...]


def sketch(session: Session, source: Source, records: int, key: bytes) -> Sketch:
    """The sketch of a source of so many records."""
    secret = hmac.new(key, b"sketch", hashlib.sha256).hexdigest()
    samples = []
    for found, (distinct, span) in zip(source.columns, _estimates(session, source), strict=True):
        sample = _of_column(session, source, found, _scale(distinct), secret)
        # A column in which all records are alike tells nothing, and one that was added must not change the rows.
        if sample.scale or len(sample.values) > 1:
            samples.append(replace(sample, density=_density(sample, span)))
    varying = [source.column(sample.column) for sample in samples]
    if len(varying) > 1:
        samples.append(_of_rows(session, source, varying, _scale(records), secret))
    return Sketch(records, tuple(samples))


def _estimates(session: Session, source: Source) -> list[tuple[int, float]]:
    """Of each column about how many values it has, and over how many whole numbers they spread; 0 if they are none."""
    found: list[tuple[int, float]] = []
    for start in range(0, len(source.columns), _AT_ONCE):
        wanted: list[exp.Expr] = []
        for each in source.columns[start : start + _AT_ONCE]:
            span: exp.Expr = number(0)
            if each.kind is ValueKind.INTEGER:
                least, most = (cast(end(this=column(each.name)), "DOUBLE") for end in (exp.Min, exp.Max))
                span = exp.Coalesce(this=exp.Sub(this=most, expression=least) + number(1), expressions=[number(0)])
            # Of hashes: NULL is a value as well.
            wanted += [exp.ApproxDistinct(this=row_hash(column(each.name))), span]
        row = session.row(exp.select(*(alias(e, f"e{i}") for i, e in enumerate(wanted))).from_(source.table()))
        found += zip(row[::2], row[1::2], strict=True)
    return found


def _density(sample: Sample, span: float) -> float:
    if not span:
        return 0.0
    # The number of values is estimated where only a sample is kept: then what may be without gaps counts as such.
    distinct = float(len(sample.values)) * 2.0**sample.scale * (1.03 if sample.scale else 1.0)
    return min(1.0, distinct / span)


def _scale(distinct: int) -> int:
    return max(0, (distinct - 1) // MOST_VALUES).bit_length()


def _of_column(session: Session, source: Source, found: Column, scale: int, secret: str) -> Sample:
    value, records = _plain(found), exp.Count(this=exp.Star())
    if scale:
        return _sample(session, found.name, source.table(), _spelled_alike(value, found), records, scale, secret)
    # Few values are hashed then, rather than all records.
    grouped = exp.select(alias(value, "v"), alias(records, "n")).from_(source.table()).group_by(value.copy())
    hashed, total = _spelled_alike(column("v"), found), exp.Sum(this=column("n"))
    return _sample(session, found.name, grouped.subquery("grouped"), hashed, total, scale, secret)


def _of_rows(session: Session, source: Source, columns: Sequence[Column], scale: int, secret: str) -> Sample:
    """Rows are alike whatever the order of their columns."""
    hashes = [
        cast(exp.BitwiseRightShift(this=_spelled_alike(_plain(c), c), expression=number(_ROW_SHIFT)), "BIGINT")
        for c in columns[: 2**_ROW_SHIFT]
    ]
    total = hashes[0]
    for each in hashes[1:]:
        total = exp.Add(this=total, expression=each)
    return _sample(session, ROWS, source.table(), total, exp.Count(this=exp.Star()), scale, secret)


def _sample(
    session: Session, name: str, rows: exp.Expr, value: exp.Expr, records: exp.Expr, scale: int, secret: str
) -> Sample:
    """The hashes of `value` below the threshold, in one scan, replaced by what only the key can make of them."""
    # sqlglot would copy the whole tree at every step, which takes longer than to sketch a small table.
    below = exp.LTE(this=column("h"), expression=cast(text(str(2 ** (64 - scale) - 1)), "UBIGINT"))
    hashed = exp.select(alias(row_hash(exp.Placeholder(), value), "h"), exp.Star(), copy=False)
    hashed = hashed.from_(rows, copy=False)
    kept = exp.select(column("h"), alias(cast(records, "BIGINT"), "n"), copy=False)
    kept = kept.from_(hashed.subquery("hashed", copy=False), copy=False)
    kept = kept.where(below, copy=False).group_by(column("h"), copy=False)
    # DuckDB's hash is not cryptographic; SHA-256 of the secret and the hash is. 14 digits tell the kept ones apart.
    digits = exp.Left(
        this=exp.SHA2(this=exp.DPipe(this=exp.Placeholder(), expression=column("h"))), expression=number(14)
    )
    keyed = cast(exp.DPipe(this=text("0x"), expression=digits), "UBIGINT")
    wanted = exp.select(column("h"), alias(keyed, "k"), column("n"), copy=False)
    wanted = wanted.from_(kept.subquery("kept", copy=False), copy=False)
    arrays = session.arrays(wanted, [secret, secret])
    hashes, values = arrays["h"].astype(np.uint64), arrays["k"].astype(np.uint64)
    thresholds = np.array([2 ** (64 - level) - 1 for level in range(64, 0, -1)], np.uint64)
    levels = (64 - np.searchsorted(thresholds, hashes)).astype(np.uint64)
    return Sample(name, scale, levels << np.uint64(LEVEL_SHIFT) | values, arrays["n"].astype(np.int64))


def _plain(found: Column) -> exp.Expr:
    value = column(found.name)
    return cast(value, "VARCHAR") if found.kind in _READ_AS_TEXT and found.type != "VARCHAR" else value


def _spelled_alike(value: exp.Expr, found: Column) -> exp.Expr:
    """The hash of a value such that it is that of an equal value of another type, also of one written as text."""
    if found.kind in _READ_AS_TEXT:
        # Casts that fail take long: most are not tried.
        may_be_number = exp.LT(this=value.copy(), expression=text(":"))
        as_number = exp.Case(ifs=[exp.If(this=may_be_number, true=try_cast(value.copy(), "DOUBLE"))])
        may_be_time = exp.Like(this=value.copy(), expression=text("____-__-__%"))
        as_time = exp.Case(ifs=[exp.If(this=may_be_time, true=try_cast(value.copy(), "TIMESTAMP"))])
        return exp.Case(
            ifs=[
                exp.If(this=_is_there(as_number), true=row_hash(_rounded(as_number))),
                exp.If(this=_is_there(as_time), true=row_hash(as_time)),
            ],
            default=row_hash(value),
        )
    if found.kind is ValueKind.INTEGER:
        return row_hash(cast(value, "DOUBLE"))
    if found.kind in (ValueKind.DECIMAL, ValueKind.FLOAT):
        return row_hash(_rounded(cast(value, "DOUBLE")))
    if found.kind in (ValueKind.DATE, ValueKind.TIMESTAMP) and found.type != "TIMESTAMP WITH TIME ZONE":
        # A date may be beyond all timestamps: it is NULL then.
        return row_hash(try_cast(value, "TIMESTAMP"))
    # With a time zone, what a cast gives depends on the session's; the hash is that of the same time in UTC.
    return row_hash(value)


def _is_there(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))


def _rounded(double: exp.Expr) -> exp.Expr:
    """0.1 is not the same FLOAT and DOUBLE, while whole numbers are known to more digits than a FLOAT has."""
    whole = exp.EQ(this=double.copy(), expression=exp.Trunc(this=double.copy()))
    single = exp.Coalesce(this=cast(try_cast(double.copy(), "FLOAT"), "DOUBLE"), expressions=[double.copy()])
    return exp.Case(ifs=[exp.If(this=whole, true=double.copy())], default=single)
