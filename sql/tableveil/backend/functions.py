"""Functions of the engine as trees, for statements that are no text."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp


def row_hash(*values: exp.Expr) -> exp.Expr:
    """A number of 64 bits, computed from all values together; NULL counts as a value."""
    return _call("hash", *values)


def is_finite(value: exp.Expr) -> exp.Expr:
    """Whether a number or a time is neither infinite nor NaN; NULL for NULL."""
    return _call("isfinite", value)


def month_start(value: exp.Expr) -> exp.Expr:
    """The first day of a date's month."""
    return _call("date_trunc", exp.Literal.string("month"), value)


def listed(entries: exp.Expr, position: exp.Expr) -> exp.Expr:
    """The entry of a list at a position, from 1 on; NULL if there is none."""
    return _call("list_extract", entries, position)


def rows_of_query() -> exp.Table:
    """The rows of a query in a FROM clause; its text is bound, so that no log has it."""
    return exp.Table(this=_call("query", exp.Placeholder()))


def joined_by(separator: str, values: Iterable[exp.Expr]) -> exp.Expr:
    """The texts one after another, with a separator between them; NULLs are left out."""
    return _call("concat_ws", exp.Literal.string(separator), *values)


def in_parts(value: exp.Expr, delimiter: str) -> exp.Expr:
    """The list of the parts of a text between occurrences of a delimiter."""
    return exp.Split(this=value, expression=exp.Literal.string(delimiter))


def json_members(value: exp.Expr) -> exp.Expr:
    """The list of the members of a JSON array, as texts; of the text itself if it is no array, and none of null."""
    is_array = exp.and_(_call("json_valid", value), exp.EQ(this=_call("json_type", value.copy()), expression=_ARRAY))
    members = _call("json_extract_string", value.copy(), exp.Literal.string("$[*]"))
    text = exp.func("NULLIF", value.copy(), exp.Literal.string("null"))
    return exp.Case(ifs=[exp.If(this=is_array, true=members)], default=exp.Array(expressions=[text]))


_ARRAY = exp.Literal.string("ARRAY")


def _call(function: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=list(arguments))
