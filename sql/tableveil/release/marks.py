"""Marks of public objects, which show whether an object was changed after it was written."""

import hashlib
from collections.abc import Sequence

from sqlglot import exp

from tableveil.backend import WarehouseSession, column, number, row_hash, table, united


def mark(session: WarehouseSession, schema: str, name: str) -> str:
    """SHA-256 in hexadecimal over the columns, types, number and hashes of the rows of a table or view, in any order.

    The hashes are the engine's: marks made by different versions of DuckDB cannot be compared.
    """
    return marks(session, schema, [name])[name]


def marks(session: WarehouseSession, schema: str, names: Sequence[str]) -> dict[str, str]:
    """The mark of each of these tables and views."""
    # By their full names: a job's own temporary table may have the short name.
    objects = [table(name, schema, session.catalog) for name in names]
    columns, totals = dict(zip(names, session.described_tables(objects), strict=True)), []
    for i, name in enumerate(names):
        hashed = row_hash(*(column(column_name) for column_name, _ in columns[name]))
        sums = (exp.Count(this=exp.Star()), exp.Sum(this=hashed), exp.BitwiseXorAgg(this=hashed.copy()))
        totals.append(exp.select(number(i), *sums).from_(objects[i]))
    rows = {names[i]: (*row,) for i, *row in session.rows(united(totals))}
    return {name: hashlib.sha256(repr((columns[name], rows[name])).encode()).hexdigest() for name in names}
