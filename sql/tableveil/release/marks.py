"""Marks of public objects, which show whether an object was changed after it was written."""

from __future__ import annotations

import hashlib

from sqlglot import exp

from tableveil.backend import WarehouseSession, column, row_hash, table


def mark(session: WarehouseSession, schema: str, name: str) -> str:
    """SHA-256 in hexadecimal over the columns, types, number and hashes of the rows of a table or view, in any order.

    The hashes are the engine's: marks made by different versions of DuckDB cannot be compared.
    """
    # By its full name: a job's own temporary table may have the short name.
    found = table(name, schema, session.catalog)
    columns = session.described(exp.select("*").from_(found))
    hashed = row_hash(*(column(column_name) for column_name, _ in columns))
    totals = exp.select(exp.Count(this=exp.Star()), exp.Sum(this=hashed), exp.BitwiseXorAgg(this=hashed.copy()))
    row = session.row(totals.from_(found))
    return hashlib.sha256(repr((columns, row)).encode()).hexdigest()
