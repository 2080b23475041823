"""References to tables, both directions."""

from __future__ import annotations

from tableveil.policy import TableReference
from tableveil.v1 import policy_pb2

DEFAULT_SCHEMA = "main"


def table_from_proto(message: policy_pb2.TableReference) -> TableReference:
    """The reference in a message, with the default schema filled in."""
    return TableReference(message.catalog, message.schema or DEFAULT_SCHEMA, message.table)


def table_to_proto(table: TableReference) -> policy_pb2.TableReference:
    """The message for a table's name."""
    return policy_pb2.TableReference(catalog=table.catalog, schema=table.schema, table=table.table)
