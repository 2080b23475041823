"""Spark's types in the vocabulary of columns, which is DuckDB's spelling, and Arrow's as Spark takes them."""

from __future__ import annotations

import pyarrow as pa

_NAMES = {
    "string": "VARCHAR",
    "int": "INTEGER",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
}
_ALIKE = {"tinyint", "smallint", "bigint", "float", "double", "boolean", "date"}

_COLLATED = "string collate "


def column_type(spark: str) -> str:
    """The type of a column by Spark's short name of it; nested and other types keep their name, and are refused."""
    if spark in _NAMES:
        return _NAMES[spark]
    if spark in _ALIKE or spark.startswith("decimal("):
        return spark.upper()
    if spark.startswith(_COLLATED):
        return f"VARCHAR COLLATE {spark.removeprefix(_COLLATED)}"
    # Spark has both only where a column is declared; expressions are text.
    if spark.startswith(("char(", "varchar(")):
        return "VARCHAR"
    return spark


_SIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.timestamp("s"): pa.timestamp("us"),
    pa.timestamp("ms"): pa.timestamp("us"),
}


def lent(table: pa.Table) -> pa.Table:
    """The table in types that Spark has."""
    fields = [field.with_type(_SIGNED.get(_plain(field.type), _plain(field.type))) for field in table.schema]
    return table.cast(pa.schema(fields))


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_
