"""The one place where a statement becomes text."""

from __future__ import annotations

from sqlglot import exp

DIALECT = "duckdb"


def render(statement: exp.Expr) -> str:
    """The statement in the database's dialect."""
    return statement.sql(dialect=DIALECT)
