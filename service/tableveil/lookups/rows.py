"""Rows of a table or view, in types that Arrow has."""

from __future__ import annotations

from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, table

ROWS_PER_BATCH = 8192

# DuckDB would replace their values by others of equal bits: without time zones, without the largest numbers. A number
# of more than 38 digits fails the read instead of coming out wrong.
_WITHOUT_ARROW = {
    "HUGEINT": "DECIMAL(38,0)",
    "UHUGEINT": "VARCHAR",
    "TIME WITH TIME ZONE": "VARCHAR",
    "BIT": "VARCHAR",
    "UUID": "VARCHAR",
}
"""Types that Arrow lacks, with the types they are read as."""


def readable(session: Session, schema: str, name: str) -> exp.Select:
    """The query for all columns of a table or view, in types that Arrow has."""
    # By its full name: the schema may have the database's name.
    full = table(name, schema, session.catalog)
    read = [
        alias(cast(column(found), _WITHOUT_ARROW[type_]), found) if type_ in _WITHOUT_ARROW else column(found)
        for found, type_ in session.described(exp.select("*").from_(full))
    ]
    return exp.select(*read).from_(full)
