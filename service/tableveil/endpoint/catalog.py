"""The tables by which clients find tables, types, and facts about an endpoint, as Flight SQL specifies them."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from google.protobuf.message import Message

from tableveil.endpoint.grammar import FUNCTIONS
from tableveil.endpoint.information import CATALOG, PublishedTable
from tableveil.endpoint.query_process import LARGEST_ROW
from tableveil.endpoint.statement import MOST_CHARACTERS
from tableveil.errors import InvalidError
from tableveil.flight_sql import flight_sql_pb2 as sql
from tableveil.serving.version import installed_version

_CHILDREN = (
    pa.field("string_value", pa.string()),
    pa.field("bool_value", pa.bool_()),
    pa.field("bigint_value", pa.int64()),
    pa.field("int32_bitmask", pa.int32()),
    pa.field("string_list", pa.list_(pa.string())),
    pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32()))),
)

_WIDE = 2
"""The place of numbers of 64 bits."""

_TABLE = "TABLE"
_LONGEST_PATTERN = 1_000


def _schema(**types: pa.DataType) -> pa.Schema:
    """Columns that are never NULL, unless they are of catalogs and schemas, or names of keys."""
    ends = ("catalog_name", "db_schema_name", "key_name")
    return pa.schema([pa.field(name, type_, nullable=name.endswith(ends)) for name, type_ in types.items()])


_TEXT, _CODE, _NUMBER, _YES = pa.string(), pa.uint8(), pa.int32(), pa.bool_()
_CATALOGS = pa.schema([pa.field("catalog_name", _TEXT, nullable=False)])
_SCHEMAS = pa.schema([("catalog_name", _TEXT), pa.field("db_schema_name", _TEXT, nullable=False)])
_TABLE_TYPES = _schema(table_type=_TEXT)
_TABLES = _schema(catalog_name=_TEXT, db_schema_name=_TEXT, table_name=_TEXT, table_type=_TEXT)
_TABLES_WITH_COLUMNS = _TABLES.append(pa.field("table_schema", pa.binary(), nullable=False))
_KEY = ("catalog_name", "db_schema_name", "table_name", "column_name")
_PRIMARY_KEYS = _schema(**dict.fromkeys((*_KEY, "key_name"), _TEXT), key_sequence=_NUMBER)
_FOREIGN_KEYS = _schema(
    **dict.fromkeys((*(f"pk_{name}" for name in _KEY), *(f"fk_{name}" for name in _KEY)), _TEXT),
    **{"key_sequence": _NUMBER, "fk_key_name": _TEXT, "pk_key_name": _TEXT},
    **{"update_rule": _CODE, "delete_rule": _CODE},
)
_FACTS = _schema(info_name=pa.uint32(), value=pa.dense_union(_CHILDREN))
_TYPE_INFO = {
    **{"type_name": _TEXT, "data_type": _NUMBER, "column_size": _NUMBER, "literal_prefix": _TEXT},
    **{"literal_suffix": _TEXT, "create_params": pa.list_(pa.field("item", _TEXT, nullable=False))},
    **{"nullable": _NUMBER, "case_sensitive": _YES, "searchable": _NUMBER, "unsigned_attribute": _YES},
    **{"fixed_prec_scale": _YES, "auto_increment": _YES, "local_type_name": _TEXT, "minimum_scale": _NUMBER},
    **{"maximum_scale": _NUMBER, "sql_data_type": _NUMBER, "datetime_subcode": _NUMBER},
    **{"num_prec_radix": _NUMBER, "interval_precision": _NUMBER},
}
_NEVER = "type_name data_type nullable case_sensitive searchable fixed_prec_scale sql_data_type"
_TYPES_TOLD = pa.schema([pa.field(name, of, nullable=name not in _NEVER.split()) for name, of in _TYPE_INFO.items()])

_Tables = Sequence[PublishedTable]


def _schemas(command: sql.CommandGetDbSchemas, tables: _Tables) -> pa.Table:
    schemas = sorted({table.schema for table in _matching(command, tables)})
    return pa.table([[CATALOG] * len(schemas), schemas], schema=_SCHEMAS)


def _all_tables(command: sql.CommandGetTables, tables: _Tables) -> pa.Table:
    name = _pattern(command.table_name_filter_pattern if command.HasField("table_name_filter_pattern") else "%")
    is_wanted = not command.table_types or _TABLE in command.table_types
    read_tables = [table for table in _matching(command, tables) if is_wanted and name.fullmatch(table.name)]
    found = [(CATALOG, table.schema, table.name, _TABLE) for table in read_tables]
    columns = [[row[place] for row in found] for place in range(len(_TABLES))]
    if not command.include_schema:
        return pa.table(columns, schema=_TABLES)
    return pa.table([*columns, [table.described for table in read_tables]], schema=_TABLES_WITH_COLUMNS)


_CASE_INSENSITIVE, _NULLS_AT_END = 1, 3

Fact = str | bool | int | list[str] | dict[int, list[int]]

# No Substrait, CancelQuery, DDL, transactions, updates, FOR UPDATE, LIKE in lists, columns that are never NULL.
_FALSE = (5, 9, 500, 501, 502, 519, 524, 527, 536, 537, 556, 563, 565, 566, *range(572, 577))
# SQL, read only; tables selectable; aliases; NULL || 'x' is NULL; expressions in ORDER BY; ESCAPE; the catalog first.
_TRUE = (3, 4, 506, 515, 516, 518, 520, 521, 523, 532, 539)
# Transactions, time limits of handles, which hold nothing, and kinds of result sets that there are none of.
_ZERO = (8, 100, 101, 533, 534, 535, 568, 570, 571)

FACTS: dict[int, Fact] = {
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_ZERO, 0),
    **{0: "Tableveil", 1: installed_version(), 2: pa.__version__},
    **{503: _CASE_INSENSITIVE, 504: '"', 505: _CASE_INSENSITIVE, 507: _NULLS_AT_END},
    **{508: [], 509: sorted(FUNCTIONS), 510: [], 511: [], 512: [], 513: "\\", 514: "", 517: {}},
    **{522: 0b11, 525: 0b11, 526: 0b1, 528: 2, 538: 0b1111, 540: 0b11},  # GROUP BY, grammars, joins, subqueries, UNION
    **{529: "schema", 530: "", 531: "catalog"},
    **{564: 0b1, 567: 0b10, 569: 0b10},  # no transactions; rows are read once, and forwards
}

LIMITS = {**dict.fromkeys((*range(541, 556), *range(557, 563)), 0), 555: LARGEST_ROW, 557: MOST_CHARACTERS}
"""Limits, which are numbers of 64 bits; 0 means that there is none, or that it is not known.

The JDBC driver wants the transactions' isolation (562) as such a number, too, and older ones fail if a fact is missing.
"""


def _sql_info(wanted: Collection[int]) -> pa.Table:
    """The wanted facts, all of them if none is named; numbers without a fact are left out."""
    facts = {number: fact for number, fact in {**FACTS, **LIMITS}.items() if not wanted or number in wanted}
    children: list[list[Any]] = [[] for _ in _CHILDREN]
    types, offsets = [], []
    for number, fact in facts.items():
        place = _WIDE if number in LIMITS else {str: 0, bool: 1, int: 3, list: 4, dict: 5}[type(fact)]
        types.append(place)
        offsets.append(len(children[place]))
        children[place].append(list(fact.items()) if isinstance(fact, dict) else fact)
    arrays = [pa.array(child, field.type) for child, field in zip(children, _CHILDREN, strict=True)]
    names = [field.name for field in _CHILDREN]
    values = pa.UnionArray.from_dense(pa.array(types, pa.int8()), pa.array(offsets, pa.int32()), arrays, names)
    return pa.Table.from_arrays([pa.array(list(facts), pa.uint32()), values], schema=_FACTS)


_NULLABLE, _ANY_OPERATOR, _NO_PATTERN, _DATETIME = 1, 3, 2, 9


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
    *(_Type(*of, 10, 0) for of in (("TINYINT", -6, 3), ("UTINYINT", -6, 3), ("BIGINT", -5, 19), ("UBIGINT", -5, 20))),
    _Type("BLOB", -3, None, quote="'"),
    _Type("DECIMAL", 3, 38, 10, 38),
    _Type("HUGEINT", 3, 38, 10, 0),
    *(_Type(*of, 10, 0) for of in (("INTEGER", 4, 10), ("UINTEGER", 4, 10), ("SMALLINT", 5, 5), ("USMALLINT", 5, 5))),
    _Type("FLOAT", 7, 24, 2),
    _Type("DOUBLE", 8, 53, 2),
    _Type("VARCHAR", 12, None, quote="'"),
    _Type("DATE", 91, 10, quote="'", subcode=1),
    _Type("TIME", 92, 15, quote="'", subcode=2),
    _Type("TIMESTAMP", 93, 26, scale=6, quote="'", subcode=3),
    _Type("TIMESTAMP WITH TIME ZONE", 93, 29, scale=6, quote="'", subcode=5),
)
"""In the order of their numbers, and then of their names."""


def _types(number: int | None) -> pa.Table:
    """The types of that number, or all of them."""
    return pa.Table.from_pylist([_row(one) for one in _TYPES if number in (None, one.number)], schema=_TYPES_TOLD)


def _row(one: _Type) -> dict[str, object]:
    is_text = one.name == "VARCHAR"
    return {
        **{"type_name": one.name, "data_type": one.number, "column_size": one.size, "nullable": _NULLABLE},
        **{"literal_prefix": one.quote, "literal_suffix": one.quote, "case_sensitive": is_text},
        **{"searchable": _ANY_OPERATOR if is_text else _NO_PATTERN, "fixed_prec_scale": False},
        "unsigned_attribute": one.name.startswith("U") if one.radix else None,
        **{"minimum_scale": 0 if one.scale is not None else None, "maximum_scale": one.scale},
        "sql_data_type": _DATETIME if one.subcode is not None else one.number,
        **{"datetime_subcode": one.subcode, "num_prec_radix": one.radix},
    }


COMMANDS: dict[type[Message], Callable[..., pa.Table]] = {
    sql.CommandGetCatalogs: lambda *_: pa.table([[CATALOG]], schema=_CATALOGS),
    sql.CommandGetDbSchemas: _schemas,
    sql.CommandGetTableTypes: lambda *_: pa.table([[_TABLE]], schema=_TABLE_TYPES),
    sql.CommandGetTables: _all_tables,
    sql.CommandGetPrimaryKeys: lambda *_: _PRIMARY_KEYS.empty_table(),
    sql.CommandGetExportedKeys: lambda *_: _FOREIGN_KEYS.empty_table(),
    sql.CommandGetImportedKeys: lambda *_: _FOREIGN_KEYS.empty_table(),
    sql.CommandGetCrossReference: lambda *_: _FOREIGN_KEYS.empty_table(),
    sql.CommandGetSqlInfo: lambda command, _: _sql_info(command.info),
    sql.CommandGetXdbcTypeInfo: lambda command, _: _types(command.data_type if command.HasField("data_type") else None),
}
"""The answer to each command, from the command and the tables that its caller may read."""


def _matching(command: sql.CommandGetDbSchemas | sql.CommandGetTables, tables: _Tables) -> list[PublishedTable]:
    if command.HasField("catalog") and command.catalog != CATALOG:
        return []
    schema = _pattern(command.db_schema_filter_pattern if command.HasField("db_schema_filter_pattern") else "%")
    return [table for table in tables if schema.fullmatch(table.schema)]


def _pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of SQL's LIKE, in which a backslash takes the meaning from the next character."""
    if len(pattern) > _LONGEST_PATTERN:
        actual, expected = f"a pattern of {len(pattern):,} characters", f"at most {_LONGEST_PATTERN:,}"
        raise InvalidError.of("COMMAND_INVALID", "pattern", actual, expected)
    fixed = [""]
    for part in re.findall(r"\\.|.", pattern, re.DOTALL):
        if part == "%":
            fixed.append("")
        else:
            fixed[-1] += "." if part == "_" else re.escape(part[-1])
    # The first place of each part is as good as any other: with plain .*, a match would try all of them, in a time
    # that is exponential in the number of parts.
    first, *others = fixed
    text = first + "".join(f"(?>.*?{part})" for part in others[:-1]) + "".join(f".*{part}" for part in others[-1:])
    return re.compile(text, re.IGNORECASE | re.DOTALL)
