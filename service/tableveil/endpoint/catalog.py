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

_CATALOGS = pa.schema([pa.field("catalog_name", pa.string(), nullable=False)])
_SCHEMAS = pa.schema([("catalog_name", pa.string()), pa.field("db_schema_name", pa.string(), nullable=False)])
_TABLE_TYPES = pa.schema([pa.field("table_type", pa.string(), nullable=False)])
_TABLES = pa.schema(
    [
        ("catalog_name", pa.string()),
        ("db_schema_name", pa.string()),
        pa.field("table_name", pa.string(), nullable=False),
        pa.field("table_type", pa.string(), nullable=False),
    ]
)
_TABLES_WITH_COLUMNS = _TABLES.append(pa.field("table_schema", pa.binary(), nullable=False))
_PRIMARY_KEYS = pa.schema(
    [
        ("catalog_name", pa.string()),
        ("db_schema_name", pa.string()),
        pa.field("table_name", pa.string(), nullable=False),
        pa.field("column_name", pa.string(), nullable=False),
        ("key_name", pa.string()),
        pa.field("key_sequence", pa.int32(), nullable=False),
    ]
)
_FOREIGN_KEYS = pa.schema(
    [
        ("pk_catalog_name", pa.string()),
        ("pk_db_schema_name", pa.string()),
        pa.field("pk_table_name", pa.string(), nullable=False),
        pa.field("pk_column_name", pa.string(), nullable=False),
        ("fk_catalog_name", pa.string()),
        ("fk_db_schema_name", pa.string()),
        pa.field("fk_table_name", pa.string(), nullable=False),
        pa.field("fk_column_name", pa.string(), nullable=False),
        pa.field("key_sequence", pa.int32(), nullable=False),
        ("fk_key_name", pa.string()),
        ("pk_key_name", pa.string()),
        pa.field("update_rule", pa.uint8(), nullable=False),
        pa.field("delete_rule", pa.uint8(), nullable=False),
    ]
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
    columns = [
        [CATALOG] * len(read_tables),
        [table.schema for table in read_tables],
        [table.name for table in read_tables],
        [_TABLE] * len(read_tables),
    ]
    if not command.include_schema:
        return pa.table(columns, schema=_TABLES)
    described = [table.described for table in read_tables]
    return pa.table([*columns, described], schema=_TABLES_WITH_COLUMNS)


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
