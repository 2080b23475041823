"""The checksum of rows: equal rows in any order, in a table or in a copy of it, have the same.

A row becomes a text: for each column, in the order of the table, `-` for NULL, else the number of characters of the
value, a colon and the value, as the database casts it to text in UTC. The checksum is the SHA-256 of the names of the
columns in this form, and of the SHA-256 of every row in hexadecimal, in ascending order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, text

ROWS_PER_BATCH = 65_536


def checksum(session: Session, rows: exp.Table) -> str:
    """The checksum of a table's or view's rows."""
    names = [name for name, _ in session.described(exp.select("*").from_(rows))]
    return combined(names, session.batches(row_digests(names, rows), ROWS_PER_BATCH))


def row_digests(names: Sequence[str], rows: exp.Expr) -> exp.Select:
    """A query for the digests of rows, in order."""
    texts = [cast(column(name), "VARCHAR") for name in names]
    parts = [exp.Coalesce(this=_measured(part), expressions=[text("-")]) for part in texts]
    digest = exp.SHA2(this=_joined(parts), length=exp.Literal.number(256))
    return exp.select(alias(digest, "digest")).from_(rows, copy=False).order_by(column("digest"), copy=False)


def combined(names: Sequence[str], digests: Iterable[pa.RecordBatch]) -> str:
    """The checksum of rows with these columns and digests."""
    digest = hashlib.sha256("".join(f"{len(name)}:{name}" for name in names).encode())
    for batch in digests:
        (found_digests,) = batch.columns
        _, offsets, data = found_digests.buffers()
        if len(found_digests):
            # A slice of a column keeps the buffers of the whole.
            ends = np.frombuffer(offsets, np.int32)[found_digests.offset :][: len(found_digests) + 1]
            digest.update(memoryview(data)[int(ends[0]) : int(ends[-1])])
    return digest.hexdigest()


def _measured(value: exp.Expr) -> exp.Expr:
    return _joined([cast(exp.Length(this=value), "VARCHAR"), text(":"), value.copy()])


def _joined(parts: Sequence[exp.Expr]) -> exp.Expr:
    joined, *others = parts
    for part in others:
        joined = exp.DPipe(this=joined, expression=part, safe=True)
    return joined
