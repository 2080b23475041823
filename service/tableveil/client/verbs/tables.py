"""The tables of the server's database: what is there, what it holds, loading more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import grpc

from tableveil.client.connection import DEFAULT_ADDRESS, Connection
from tableveil.v1 import policy_pb2, table_service_pb2
from tableveil.v1.table_service_pb2_grpc import TableServiceStub

if TYPE_CHECKING:
    import pyarrow as pa


class TableVerbs(Connection):
    """What can be done with tables."""

    def __init__(self, address: str = DEFAULT_ADDRESS) -> None:
        super().__init__(address)
        self._tables = TableServiceStub(self._channel)

    def list_tables(self) -> Iterator[table_service_pb2.TableInfo]:
        """All tables and views by schema and name, fetched as they are read."""
        for page in self._pages(self._tables.ListTables, table_service_pb2.ListTablesRequest()):
            yield from page.tables

    def describe_table(self, table: policy_pb2.TableReference, values: int = 0) -> table_service_pb2.TableDescription:
        """What the table holds, with up to `values` of the most frequent values of each column."""
        request = table_service_pb2.DescribeTableRequest(table=table, values=values)
        return self._ask(self._tables.DescribeTable, request).description

    def list_loads(self) -> Iterator[table_service_pb2.Load]:
        """All loads, newest first, fetched as they are read."""
        for page in self._pages(self._tables.ListLoads, table_service_pb2.ListLoadsRequest()):
            yield from page.loads

    def load(
        self, start: table_service_pb2.LoadStart, rows: pa.RecordBatchReader | None = None
    ) -> table_service_pb2.LoadTableResponse:
        """Loads all rows or none: those of `start.file`, which is on the server, or else `rows`."""
        if rows is None:
            return self._load([table_service_pb2.LoadTableRequest(start=start)])
        from tableveil.client.loads import LoadRequests

        return self._load(LoadRequests(start, rows))

    def load_file(
        self,
        start: table_service_pb2.LoadStart,
        file: table_service_pb2.ServerFile,
        progress: Callable[[int], None] | None = None,
    ) -> table_service_pb2.LoadTableResponse:
        """Loads a file of this machine, all of it or nothing; `progress` is told how many rows were sent.

        Raises:
            InvalidError: The file cannot be read, or its rows do not fit the table.
        """
        from tableveil.client.loads import file_requests

        with file_requests(start, file, progress) as requests:
            return self._load(requests)

    def _load(self, requests: Iterable[table_service_pb2.LoadTableRequest]) -> table_service_pb2.LoadTableResponse:
        try:
            return self._tables.LoadTable(iter(requests))
        except grpc.RpcError as error:
            failure = getattr(requests, "failure", None)
            # What ended the messages says more than that they ended.
            raise failure or self._error_of(error) from None
