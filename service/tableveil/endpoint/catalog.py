"""The tables by which clients find catalogs, schemas, tables and types of tables, as Flight SQL specifies them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
from google.protobuf.message import Message

from tableveil.endpoint import sql_info, xdbc_types
from tableveil.endpoint.published import PublishedTable
from tableveil.endpoint.statement import CATALOG
from tableveil.errors import InvalidError
from tableveil.flight_sql import flight_sql_pb2 as sql

_TABLE = "TABLE"
_LONGEST_PATTERN = 1_000


def _schema(**types: pa.DataType) -> pa.Schema:
    """Columns that are never NULL, unless they are of catalogs and schemas, or names of keys."""
    ends = ("catalog_name", "db_schema_name", "key_name")
    return pa.schema([pa.field(name, type_, nullable=name.endswith(ends)) for name, type_ in types.items()])


_TEXT, _CODE = pa.string(), pa.uint8()
_CATALOGS = pa.schema([pa.field("catalog_name", _TEXT, nullable=False)])
_SCHEMAS = pa.schema([("catalog_name", _TEXT), pa.field("db_schema_name", _TEXT, nullable=False)])
_TABLE_TYPES = _schema(table_type=_TEXT)
_TABLES = _schema(catalog_name=_TEXT, db_schema_name=_TEXT, table_name=_TEXT, table_type=_TEXT)
_TABLES_WITH_COLUMNS = _TABLES.append(pa.field("table_schema", pa.binary(), nullable=False))
_KEY = ("catalog_name", "db_schema_name", "table_name", "column_name")
_PRIMARY_KEYS = _schema(**dict.fromkeys((*_KEY, "key_name"), _TEXT), key_sequence=pa.int32())
_FOREIGN_KEYS = _schema(
    **dict.fromkeys((*(f"pk_{name}" for name in _KEY), *(f"fk_{name}" for name in _KEY)), _TEXT),
    **{"key_sequence": pa.int32(), "fk_key_name": _TEXT, "pk_key_name": _TEXT},
    **{"update_rule": _CODE, "delete_rule": _CODE},
)

_Tables = Sequence[PublishedTable]


def _catalogs(_: sql.CommandGetCatalogs, __: _Tables) -> pa.Table:
    return pa.table([[CATALOG]], schema=_CATALOGS)


def _schemas(command: sql.CommandGetDbSchemas, tables: _Tables) -> pa.Table:
    schemas = sorted({table.schema for table in _matching(command, tables)})
    return pa.table([[CATALOG] * len(schemas), schemas], schema=_SCHEMAS)


def _table_types(_: sql.CommandGetTableTypes, __: _Tables) -> pa.Table:
    return pa.table([[_TABLE]], schema=_TABLE_TYPES)


def _all_tables(command: sql.CommandGetTables, tables: _Tables) -> pa.Table:
    name = _pattern(command.table_name_filter_pattern if command.HasField("table_name_filter_pattern") else "%")
    read_tables = [table for table in _matching(command, tables) if name.fullmatch(table.name)]
    if command.table_types and _TABLE not in command.table_types:
        read_tables = []
    found = [(CATALOG, table.schema, table.name, _TABLE) for table in read_tables]
    columns = [[row[place] for row in found] for place in range(len(_TABLES))]
    if not command.include_schema:
        return pa.table(columns, schema=_TABLES)
    return pa.table([*columns, [table.described for table in read_tables]], schema=_TABLES_WITH_COLUMNS)


def _no_primary_keys(_: sql.CommandGetPrimaryKeys, __: _Tables) -> pa.Table:
    return _PRIMARY_KEYS.empty_table()


def _no_foreign_keys(_: Message, __: _Tables) -> pa.Table:
    return _FOREIGN_KEYS.empty_table()


def _sql_info(command: sql.CommandGetSqlInfo, _: _Tables) -> pa.Table:
    return sql_info.sql_info(command.info)


def _xdbc_types(command: sql.CommandGetXdbcTypeInfo, _: _Tables) -> pa.Table:
    return xdbc_types.xdbc_types(command.data_type if command.HasField("data_type") else None)


COMMANDS: dict[type[Message], Callable[..., pa.Table]] = {
    sql.CommandGetCatalogs: _catalogs,
    sql.CommandGetDbSchemas: _schemas,
    sql.CommandGetTableTypes: _table_types,
    sql.CommandGetTables: _all_tables,
    sql.CommandGetPrimaryKeys: _no_primary_keys,
    sql.CommandGetExportedKeys: _no_foreign_keys,
    sql.CommandGetImportedKeys: _no_foreign_keys,
    sql.CommandGetCrossReference: _no_foreign_keys,
    sql.CommandGetSqlInfo: _sql_info,
    sql.CommandGetXdbcTypeInfo: _xdbc_types,
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
