"""The engine's functions that sqlglot has no class for. Only this module knows how DuckDB spells them."""

from __future__ import annotations

from sqlglot import exp


def row_hash(*values: exp.Expr) -> exp.Expr:
    """A number of 64 bits, computed from all values together; NULL counts as a value."""
    return _call("hash", *values)


def is_finite(value: exp.Expr) -> exp.Expr:
    """Whether a number or a time is neither infinite nor NaN; NULL for NULL."""
    return _call("isfinite", value)


def in_composed_form(value: exp.Expr) -> exp.Expr:
    """The text in Unicode's normalization form C."""
    return _call("nfc_normalize", value)


def rows_of_query() -> exp.Table:
    """The rows of a query in a FROM clause; its text is bound, so that no log has it."""
    return exp.Table(this=_call("query", exp.Placeholder()))


def _call(function: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=list(arguments))
