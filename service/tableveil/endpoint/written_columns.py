"""Columns as a statement has them: their places in its text, and names and values as they may be written."""

from __future__ import annotations

from sqlglot import exp


def place_of(column: exp.Expr) -> tuple[int, int] | None:
    """The first character of a column in the text, and the one after its last."""
    if not isinstance(column, exp.Column):
        return None
    # sqlglot puts a table before a column that was written without one.
    parts = [part for part in column.parts if isinstance(part, exp.Identifier) and "start" in part.meta]
    if not parts:
        return None
    return int(parts[0].meta["start"]), int(parts[-1].meta["end"]) + 1


def quoted(name: str) -> str:
    """A name as an identifier in quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal_text(value: exp.Expr) -> str | None:
    """The text of a value that is written down; None if it is none, or a number that is cast to another one."""
    is_cast = False
    while isinstance(value, (exp.Paren, exp.Cast)):
        is_cast = is_cast or isinstance(value, exp.Cast)
        value = value.this
    literal = value.this if isinstance(value, exp.Neg) else value
    if not isinstance(literal, exp.Literal) or (is_cast and not literal.is_string):
        return None
    return f"-{literal.name}" if isinstance(value, exp.Neg) else literal.name
