"""The one place where a statement becomes text."""

from sqlglot import exp

DIALECT = "duckdb"


def render(statement: exp.Expr) -> str:
    """The statement in the database's dialect.

    Copying the tree would take as long as rendering it. sqlglot changes a few kinds of nodes while it renders them,
    none of which are built here: `tests/sql/test_golden.py` renders each statement twice.
    """
    return statement.sql(dialect=DIALECT, copy=False)
