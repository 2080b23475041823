"""The checksum of rows: equal rows in any order, in a table or in a copy of it, have the same.

A row becomes a text: for each column, in the order of the table, `-` for NULL, else the number of characters of the
value, a colon and the value, as the database casts it to text in UTC. The checksum is the SHA-256 of the names of the
columns in this form, and of the SHA-256 of every row in hexadecimal, in ascending order.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, cast, column, sql, text

ROWS_PER_BATCH = 65_536


def checksum(session: Session, rows: exp.Table) -> str:
    """The checksum of a table's or view's rows."""
    names = [name for name, _ in session.described(exp.select("*").from_(rows))]
    return combined(names, session.batches(row_digests(names, rows), ROWS_PER_BATCH))


def row_digests(names: Sequence[str], rows: exp.Expr) -> exp.Select:
    """A query for the digests of rows, in order."""
    texts = [cast(column(name), "VARCHAR") for name in names]
    parts = [exp.Coalesce(this=_measured(part), expressions=[text("-")]) for part in texts]
    return sql("SELECT sha256($parts) AS digest FROM $rows ORDER BY digest", parts=_joined(parts), rows=rows)


def combined(names: Sequence[str], digests: Iterable[pa.RecordBatch]) -> str:
    """The checksum of rows with these columns and digests."""
    digest = hashlib.sha256("".join(f"{len(name)}:{name}" for name in names).encode())
    for batch in digests:
        (hashes,) = batch.columns
        _, offsets, data = hashes.buffers()
        if len(hashes):
            # A slice of a column keeps the buffers of the whole.
            ends = np.frombuffer(offsets, np.int32)[hashes.offset :][: len(hashes) + 1]
            digest.update(memoryview(data)[int(ends[0]) : int(ends[-1])])
    return digest.hexdigest()


def _measured(value: exp.Expr) -> exp.Expr:
    return _joined([cast(exp.Length(this=value), "VARCHAR"), text(":"), value.copy()])


def _joined(parts: Sequence[exp.Expr]) -> exp.Expr:
    return reduce(lambda joined, part: exp.DPipe(this=joined, expression=part, safe=True), parts)
