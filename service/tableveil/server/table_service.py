"""Tables and loads over gRPC."""

from collections.abc import Iterator
from functools import partial

import grpc

from tableveil.convert.loads import (
    description_to_proto,
    erasure_to_proto,
    listed_table_to_proto,
    load_request_from_proto,
    load_to_proto,
    loaded_to_proto,
    most_values,
)
from tableveil.convert.names import load_number, table_from_proto
from tableveil.convert.pages import read_table_token, table_token
from tableveil.errors import InvalidError
from tableveil.server.call import control_of
from tableveil.server.incoming import IncomingRows
from tableveil.server.paging import own_token, page_of, page_of_numbered
from tableveil.server.servicer_parts import ServicerParts
from tableveil.state.loads import Removal, RemovalKind
from tableveil.v1 import policy_pb2, table_service_pb2_grpc
from tableveil.v1 import table_service_pb2 as v1

MOST_PERSONS = 1_000_000


class TableService(table_service_pb2_grpc.TableServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._tables = parts.stores.tables
        self._loads = parts.stores.loads
        self._removals = parts.stores.removals
        self._checks = parts.checks
        self._running = parts.loads

    def ListTables(  # noqa: N802
        self, request: v1.ListTablesRequest, context: grpc.ServicerContext
    ) -> v1.ListTablesResponse:
        """A page of tables."""
        tables, token = page_of(
            read_table_token(own_token(request)),
            request,
            partial(self._tables.page, schema=request.schema),
            listed_table_to_proto,
            lambda last: table_token((last.schema, last.name)),
        )
        return v1.ListTablesResponse(tables=tables, next_page_token=token)

    def DescribeTable(  # noqa: N802
        self, request: v1.DescribeTableRequest, context: grpc.ServicerContext
    ) -> v1.TableDescription:
        """Reads the table until it is done, or the client is gone."""
        control = control_of(context)
        values = most_values(request.values)
        with self._checks.taken():
            description = self._tables.describe(table_from_proto(request.table), values, control)
        return description_to_proto(description)

    def LoadTable(  # noqa: N802
        self, request_iterator: Iterator[v1.LoadTableRequest], context: grpc.ServicerContext
    ) -> v1.LoadTableResponse:
        """Loads the rows or the file in the messages; a client that goes away before the end leaves nothing."""
        control = control_of(context)
        with self._running.taken():
            first = next(request_iterator, None)
            if first is None or first.WhichOneof("part") != "start":
                raise InvalidError.of("LOAD_INVALID", "start", "nothing", "the start of a load, in the first message")
            request = load_request_from_proto(first.start)
            loaded = self._loads.load(request, lambda: IncomingRows(request_iterator), control)
        return loaded_to_proto(loaded)

    def TruncateTable(  # noqa: N802
        self, request: v1.TruncateTableRequest, context: grpc.ServicerContext
    ) -> v1.TruncateTableResponse:
        """Removes all rows; a client that goes away before the end leaves them there."""
        removed = self._removed(RemovalKind.TRUNCATE, request.table, context)
        return v1.TruncateTableResponse(removed_rows=removed.rows)

    def DropTable(  # noqa: N802
        self, request: v1.DropTableRequest, context: grpc.ServicerContext
    ) -> v1.DropTableResponse:
        """Removes the table; a client that goes away before the end leaves it there."""
        removed = self._removed(RemovalKind.DROP, request.table, context)
        return v1.DropTableResponse(removed_rows=removed.rows)

    def ErasePersons(  # noqa: N802
        self, request: v1.ErasePersonsRequest, context: grpc.ServicerContext
    ) -> v1.ErasePersonsResponse:
        """Erases people; a client that goes away before the end leaves them there."""
        control = control_of(context)
        if not 0 < len(request.persons) <= MOST_PERSONS:
            raise InvalidError.of("PERSONS_INVALID", "persons", f"{len(request.persons):,}", f"1 to {MOST_PERSONS:,}")
        with self._running.taken():
            target = table_from_proto(request.table)
            return erasure_to_proto(self._removals.erase(target, request.person_column, request.persons, control))

    def _removed(self, kind: RemovalKind, named: policy_pb2.TableReference, context: grpc.ServicerContext) -> Removal:
        control = control_of(context)
        with self._running.taken():
            return self._removals.remove(kind, table_from_proto(named), control)

    def GetLoad(  # noqa: N802
        self, request: v1.GetLoadRequest, context: grpc.ServicerContext
    ) -> v1.Load:
        """A load."""
        return load_to_proto(self._loads.get(load_number(request.name)))

    def ListLoads(  # noqa: N802
        self, request: v1.ListLoadsRequest, context: grpc.ServicerContext
    ) -> v1.ListLoadsResponse:
        """A page of loads."""
        into = table_from_proto(request.table) if request.HasField("table") else None
        loads, token = page_of_numbered("loads", request, partial(self._loads.page, into=into), load_to_proto)
        return v1.ListLoadsResponse(loads=loads, next_page_token=token)
