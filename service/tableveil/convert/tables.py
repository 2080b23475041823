"""References to tables, both directions."""

from collections.abc import Iterator

from tableveil.errors import InvalidError, shortened
from tableveil.policy import TableReference
from tableveil.v1 import policy_pb2

DEFAULT_SCHEMA = "main"

BOUND_TO = "Its source was bound to {}. Bind it anew, to the load that is meant: --source-load."

UNBOUND = "no load: only the source of a policy is bound to one"


def table_from_proto(message: policy_pb2.TableReference) -> TableReference:
    """The reference in a message, with the default schema filled in; `InvalidError` if it is bound to a load."""
    for field, name in loads_of(message):
        raise InvalidError.of("LOAD_UNUSED", f"table.{field}", shortened(name), UNBOUND)
    return unbound(message)


def unbound(message: policy_pb2.TableReference) -> TableReference:
    """The reference in a message that may be bound to a load, without that load."""
    return TableReference(message.catalog, message.schema or DEFAULT_SCHEMA, message.table)


def loads_of(message: policy_pb2.TableReference) -> Iterator[tuple[str, str]]:
    """The fields of a reference that name loads, and these names."""
    if message.load:
        yield "load", message.load
    yield from ((f"loads[{i}]", name) for i, name in enumerate(message.loads))


def without_loads(policy: policy_pb2.Policy) -> tuple[policy_pb2.Policy, str]:
    """The policy as it is used again, when its tables have other rows, and the loads that bound it, in words."""
    again = policy_pb2.Policy()
    again.CopyFrom(policy)
    for field in ("load", "loads"):
        again.source.ClearField(field)
    if not again.source.ByteSize():
        again.ClearField("source")
    return again, ", ".join(name for _, name in loads_of(policy.source))


def table_to_proto(table: TableReference) -> policy_pb2.TableReference:
    """The message for a table's name."""
    return policy_pb2.TableReference(catalog=table.catalog, schema=table.schema, table=table.table)
