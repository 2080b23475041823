"""Rows of a table or view, in types that Arrow has."""

from sqlglot import exp

from tableveil.backend import WITHOUT_ARROW, Session, alias, cast, column, table

ROWS_PER_BATCH = 8192


def readable(session: Session, schema: str, name: str) -> exp.Select:
    """The query for all columns of a table or view, in types that Arrow has."""
    # By its full name: the schema may have the database's name.
    full = table(name, schema, session.catalog)
    read = [
        alias(cast(column(source_column), WITHOUT_ARROW[type_]), source_column)
        if type_ in WITHOUT_ARROW
        else column(source_column)
        for source_column, type_ in session.described(exp.select("*").from_(full))
    ]
    return exp.select(*read).from_(full)
