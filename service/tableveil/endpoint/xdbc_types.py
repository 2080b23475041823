"""The types of columns, by the numbers that JDBC and ODBC have for types."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

_NULLABLE = 1
_ANY_OPERATOR, _NO_PATTERN = 3, 2
_DATETIME = 9


@dataclass(frozen=True, slots=True)
class _Type:
    """A type; `size` is its digits, bits or characters, and `radix` tells digits from bits, if it has either."""

    name: str
    number: int
    size: int | None
    radix: int | None = None
    scale: int | None = None
    quote: str | None = None
    subcode: int | None = None


_TYPES = (
    _Type("BOOLEAN", -7, 1),
    _Type("TINYINT", -6, 3, 10, 0),
    _Type("UTINYINT", -6, 3, 10, 0),
    _Type("BIGINT", -5, 19, 10, 0),
    _Type("UBIGINT", -5, 20, 10, 0),
    _Type("BLOB", -3, None, quote="'"),
    _Type("DECIMAL", 3, 38, 10, 38),
    _Type("HUGEINT", 3, 38, 10, 0),
    _Type("INTEGER", 4, 10, 10, 0),
    _Type("UINTEGER", 4, 10, 10, 0),
    _Type("SMALLINT", 5, 5, 10, 0),
    _Type("USMALLINT", 5, 5, 10, 0),
    _Type("FLOAT", 7, 24, 2),
    _Type("DOUBLE", 8, 53, 2),
    _Type("VARCHAR", 12, None, quote="'"),
    _Type("DATE", 91, 10, quote="'", subcode=1),
    _Type("TIME", 92, 15, quote="'", subcode=2),
    _Type("TIMESTAMP", 93, 26, scale=6, quote="'", subcode=3),
    _Type("TIMESTAMP WITH TIME ZONE", 93, 29, scale=6, quote="'", subcode=5),
)
"""In the order of their numbers, and then of their names."""

_TEXT, _NUMBER, _YES = pa.string(), pa.int32(), pa.bool_()
_NEVER_NULL = (
    *("type_name", "data_type", "nullable", "case_sensitive", "searchable", "fixed_prec_scale", "sql_data_type"),
)
_COLUMNS = {
    **{"type_name": _TEXT, "data_type": _NUMBER, "column_size": _NUMBER, "literal_prefix": _TEXT},
    **{"literal_suffix": _TEXT, "create_params": pa.list_(pa.field("item", _TEXT, nullable=False))},
    **{"nullable": _NUMBER, "case_sensitive": _YES, "searchable": _NUMBER, "unsigned_attribute": _YES},
    **{"fixed_prec_scale": _YES, "auto_increment": _YES, "local_type_name": _TEXT, "minimum_scale": _NUMBER},
    **{"maximum_scale": _NUMBER, "sql_data_type": _NUMBER, "datetime_subcode": _NUMBER},
    **{"num_prec_radix": _NUMBER, "interval_precision": _NUMBER},
}
SCHEMA = pa.schema([pa.field(name, type_, nullable=name not in _NEVER_NULL) for name, type_ in _COLUMNS.items()])


def xdbc_types(number: int | None) -> pa.Table:
    """The types of that number, or all of them."""
    return pa.Table.from_pylist([_row(one) for one in _TYPES if number in (None, one.number)], schema=SCHEMA)


def _row(one: _Type) -> dict[str, object]:
    is_text = one.name == "VARCHAR"
    return {
        "type_name": one.name,
        "data_type": one.number,
        "column_size": one.size,
        "literal_prefix": one.quote,
        "literal_suffix": one.quote,
        "nullable": _NULLABLE,
        "case_sensitive": is_text,
        "searchable": _ANY_OPERATOR if is_text else _NO_PATTERN,
        "unsigned_attribute": one.name.startswith("U") if one.radix else None,
        "fixed_prec_scale": False,
        "minimum_scale": 0 if one.scale is not None else None,
        "maximum_scale": one.scale,
        "sql_data_type": _DATETIME if one.subcode is not None else one.number,
        "datetime_subcode": one.subcode,
        "num_prec_radix": one.radix,
    }
