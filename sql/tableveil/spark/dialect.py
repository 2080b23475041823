"""Statements in Spark's SQL: trees and texts are DuckDB's, as everywhere, until they are rendered here."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

from tableveil.errors import InternalError
from tableveil.spark.hashed import hashed_first

_DUCKDB = "duckdb"

_HOLDING = {
    exp.DType.UTINYINT: "SMALLINT",
    exp.DType.USMALLINT: "INT",
    exp.DType.UINT: "BIGINT",
    exp.DType.UBIGINT: "DECIMAL(20, 0)",
    exp.DType.INT128: "DECIMAL(38, 0)",
}
"""Types that Spark lacks, and those of its own that hold their values."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A statement as Spark reads it, with its parameters by name or by position."""

    text: str
    arguments: dict[str, Any] | list[Any]


def rendered(statement: exp.Expr | str, parameters: Sequence[object], catalog: str) -> Rendered:
    """The statement in Spark's dialect; full names begin with the `catalog`, which Spark does not know.

    Raises:
        InternalError: it calls a function that has no counterpart in Spark.
    """
    tree = sqlglot.parse_one(statement, dialect=_DUCKDB) if isinstance(statement, str) else statement
    numbered = tree.find(exp.Parameter) is not None
    text = hashed_first(tree).transform(lambda node: _translated(node, catalog)).sql(dialect="spark")
    values = [_bound(value) for value in parameters]
    return Rendered(text, {f"p{i}": value for i, value in enumerate(values, 1)} if numbered else values)


def _bound(value: object) -> object:
    """A list as JSON of texts, which a cast of the parameter reads."""
    if not isinstance(value, list):
        return value
    return json.dumps([None if entry is None else str(entry) for entry in value])


def _translated(node: exp.Expr, catalog: str) -> exp.Expr:
    match node:
        case exp.Table() if node.catalog == catalog:
            node.set("catalog", None)
        case exp.Parameter():
            return exp.Placeholder(this=f"p{node.name}")
        case exp.Cast(this=exp.Parameter() as bound, to=exp.DataType(this=exp.DType.ARRAY)):
            # As one text: each entry of a list would be an expression.
            texts = [exp.Placeholder(this=f"p{bound.name}"), exp.Literal.string("ARRAY<STRING>")]
            entries = node.args["to"].transform(lambda node: _translated(node, catalog))
            return exp.Cast(this=exp.Anonymous(this="from_json", expressions=texts), to=entries)
        case exp.TryCast():
            # sqlglot writes CAST otherwise, which fails at a text that is no number.
            node.set("safe", True)
        case exp.DataType() if node.this in _HOLDING:
            return exp.DataType.build(_HOLDING[node.this], dialect="spark")
        case exp.GenerateSeries() if isinstance(node.parent, exp.Table | exp.From):
            # A table of numbers: sqlglot writes the function that makes a list.
            return exp.Anonymous(this="range", expressions=[node.args["end"]])
        case exp.Create() if node.args.get("kind") == "TABLE" and not node.args.get("properties"):
            written = exp.FileFormatProperty(this=exp.var("PARQUET"))
            node.set("properties", exp.Properties(expressions=[written]))
        case exp.Sum() if isinstance(node.this, exp.Anonymous):
            # The sum of hashes would not fit into their own type, and ANSI mode fails then.
            node.set("this", exp.cast(node.this, "DECIMAL(38, 0)"))
        case exp.Anonymous():
            name = node.name.lower()
            if name not in _FUNCTIONS:
                raise InternalError("FUNCTION_UNSUPPORTED", f"Spark has no counterpart of the function {name}")
            # sqlglot does not go on into what replaces a node.
            return _FUNCTIONS[name](
                [value.transform(lambda node: _translated(node, catalog)) for value in node.expressions]
            )
    return node


def _hash(values: Sequence[exp.Expr]) -> exp.Expr:
    """`xxhash64` passes over NULLs: whether each value is one is hashed with it. `hash` has 32 bits only."""
    parts = [part for value in values for part in (value.copy().is_(exp.null()), value)]
    return exp.Anonymous(this="xxhash64", expressions=parts)


def _finite(values: Sequence[exp.Expr]) -> exp.Expr:
    """NULL for NULL; a time is always finite in Spark, and its cast to a number too."""
    (value,) = values
    number = exp.cast(value, "DOUBLE")
    infinite = [exp.cast(exp.Literal.string(text), "DOUBLE") for text in ("Infinity", "-Infinity", "NaN")]
    return exp.In(this=number, expressions=infinite).not_()


def _listed(values: Sequence[exp.Expr]) -> exp.Expr:
    entries, position = values
    return exp.Anonymous(this="try_element_at", expressions=[entries, exp.cast(position, "INT")])


_FUNCTIONS: Mapping[str, Callable[[Sequence[exp.Expr]], exp.Expr]] = {
    "hash": _hash,
    "isfinite": _finite,
    "list_extract": _listed,
}
"""Functions that sqlglot has no class for, as Spark computes them; the embedded database computes the others."""
