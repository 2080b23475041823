"""Tables: the list, and one of them to understand before anything is decided."""

from __future__ import annotations

from starlette.responses import Response

from tableveil.console.visit import Visit
from tableveil.v1 import policy_pb2

_VALUES = 5


def listed(visit: Visit) -> Response:
    """Tables that the visitor may see, by schema."""
    schema = visit.asked("schema")
    return visit.page("tables.html", tables=visit.first(visit.client.list_tables(schema)), schema=schema)


def one(visit: Visit) -> Response:
    """The columns of a table with their commonest values."""
    # Any text may be a name: a part of a path could not have a slash.
    table = policy_pb2.TableReference(schema=visit.asked("schema"), table=visit.asked("table"))
    return visit.page("table.html", table=visit.client.describe_table(table, _VALUES))
