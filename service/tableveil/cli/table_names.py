"""Tables as the command line names them."""

from tableveil.client.names import table_reference
from tableveil.v1 import policy_pb2


def named_table(name: str, schema: str | None) -> policy_pb2.TableReference:
    """The table of that name in the schema; without one, the part before the first dot is the schema."""
    if schema is not None:
        return policy_pb2.TableReference(schema=schema, table=name)
    return table_reference(name)
