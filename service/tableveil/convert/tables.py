"""References to tables, both directions."""

from __future__ import annotations

from tableveil.errors import InvalidError, shortened
from tableveil.policy import TableReference
from tableveil.v1 import policy_pb2

DEFAULT_SCHEMA = "main"

UNBOUND = "no load: only the source of a policy is bound to one"


def table_from_proto(message: policy_pb2.TableReference) -> TableReference:
    """The reference in a message, with the default schema filled in; `InvalidError` if it is bound to a load."""
    if message.load:
        raise InvalidError.of("LOAD_UNUSED", "table.load", shortened(message.load), UNBOUND)
    return unbound(message)


def unbound(message: policy_pb2.TableReference) -> TableReference:
    """The reference in a message that may be bound to a load, without that load."""
    return TableReference(message.catalog, message.schema or DEFAULT_SCHEMA, message.table)


def table_to_proto(table: TableReference) -> policy_pb2.TableReference:
    """The message for a table's name."""
    return policy_pb2.TableReference(catalog=table.catalog, schema=table.schema, table=table.table)
