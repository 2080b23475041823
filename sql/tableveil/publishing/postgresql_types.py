"""The types of PostgreSQL in which released columns arrive, one for one."""

import re
from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import cast, column, text
from tableveil.backend.render import DIALECT

_SAME = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(("TINYINT", "UTINYINT", "SMALLINT"), "smallint"),
    **dict.fromkeys(("USMALLINT", "INTEGER"), "integer"),
    **dict.fromkeys(("UINTEGER", "BIGINT"), "bigint"),
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "VARCHAR": "text",
    "BLOB": "bytea",
    "DATE": "date",
    "TIME": "time without time zone",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"), "timestamp without time zone"),
    "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
    "INTERVAL": "interval",
    "JSON": "json",
}

_LISTED = ("BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR")
"""The types of elements whose lists arrive as arrays."""

# Arrow lacks integers of 128 bits.
_AS_DECIMAL = {"UBIGINT": "DECIMAL(20,0)", "HUGEINT": "DECIMAL(38,0)"}

_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")

MOST_BYTES = 63
"""The longest name of PostgreSQL, and the longest label of an enum."""


@dataclass(frozen=True, slots=True)
class Arriving:
    """A column on its way: its type as PostgreSQL spells it, none if it is to be made of `labels`; the values sent."""

    name: str
    type: str
    labels: tuple[str, ...]
    sent: exp.Expr
    may_be_infinite: bool


def arriving(name: str, type_: str) -> Arriving | None:
    """The column as it arrives; None if PostgreSQL has no type for all of its values."""
    value: exp.Expr = column(name)
    base = type_.removesuffix("[]")
    labels: tuple[str, ...] = ()
    if type_ in _AS_DECIMAL:
        type_ = _AS_DECIMAL[type_]
        value = cast(value, type_)
    if type_ == "UUID":
        digits = exp.Replace(this=cast(value, "VARCHAR"), expression=text("-"), replacement=text(""))
        value, sql_type = exp.Unhex(this=digits), "uuid"
    elif decimal := _DECIMAL.fullmatch(type_):
        sql_type = f"numeric({decimal[1]},{decimal[2]})"
    elif type_.startswith("ENUM("):
        kind = exp.DataType.build(type_, dialect=DIALECT)
        labels, sql_type = tuple(label.name for label in kind.expressions), ""
        if any(len(label.encode()) > MOST_BYTES for label in labels):
            return None
    elif type_ in _SAME:
        sql_type = _SAME[type_]
    elif base in _LISTED:
        sql_type = f"{_SAME[base]}[]"
    else:
        return None
    return Arriving(name, sql_type, labels, value, sql_type.startswith(("date", "timestamp")))
