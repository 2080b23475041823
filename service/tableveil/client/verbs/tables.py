"""The tables of the server's database: listing them, describing them, loading more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import grpc

from tableveil.client.connection import Connection
from tableveil.client.listing import Listing
from tableveil.client.names import LOADS, Name, resource_name, source_reference, table_reference
from tableveil.errors import InvalidError
from tableveil.v1 import policy_pb2, table_service_pb2
from tableveil.v1.table_service_pb2_grpc import TableServiceStub

if TYPE_CHECKING:
    from tableveil.client.loads import GuessedFormat, StoredRows

_PARQUET_SUFFIXES = {".parquet", ".pq"}

Table: TypeAlias = "str | policy_pb2.TableReference"
FileFormat: TypeAlias = "table_service_pb2.CsvFormat | table_service_pb2.ParquetFormat"


class SupportsArrowStream(Protocol):
    """A source of rows through Arrow's PyCapsule interface, such as tables, readers, relations and data frames."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows."""


class TableVerbs(Connection):
    """Verbs about tables."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._tables = TableServiceStub(self._channel)

    def list_tables(self, schema: str = "") -> Listing[table_service_pb2.TableInfo]:
        """The tables and views of a schema, or all, by schema and name, fetched as they are read."""
        request = table_service_pb2.ListTablesRequest(schema=schema)
        return self._listed(self._tables.ListTables, request, lambda page: page.tables)

    def describe_table(self, table: Table, values: int = 0) -> table_service_pb2.TableDescription:
        """The contents of the table, with up to `values` of the most frequent values of each column."""
        request = table_service_pb2.DescribeTableRequest(table=source_reference(table), values=values)
        return self._ask(self._tables.DescribeTable, request)

    def get_load(self, load: Name) -> table_service_pb2.Load:
        """A load that was done, by its name or number."""
        request = table_service_pb2.GetLoadRequest(name=resource_name(LOADS, load))
        return self._ask(self._tables.GetLoad, request)

    def list_loads(self, table: Table | None = None) -> Listing[table_service_pb2.Load]:
        """Loads into a table, or all, newest first, fetched as they are read."""
        request = table_service_pb2.ListLoadsRequest(table=None if table is None else table_reference(table))
        return self._listed(self._tables.ListLoads, request, lambda page: page.loads)

    def truncate_table(self, table: Table) -> int:
        """Removes all rows of a table, and returns their number."""
        request = table_service_pb2.TruncateTableRequest(table=table_reference(table))
        return self._ask(self._tables.TruncateTable, request).removed_rows

    def erase_persons(
        self, table: Table, persons: Iterable[str], person_column: str = ""
    ) -> table_service_pb2.ErasePersonsResponse:
        """Removes the rows of people, and tells which releases hold them.

        `persons` are values of the column, which is by default the one that policies for the table name.
        """
        request = table_service_pb2.ErasePersonsRequest(
            table=table_reference(table), person_column=person_column, persons=persons
        )
        return self._ask(self._tables.ErasePersons, request)

    def drop_table(self, table: Table) -> int:
        """Removes a table, and returns the number of its rows."""
        request = table_service_pb2.DropTableRequest(table=table_reference(table))
        return self._ask(self._tables.DropTable, request).removed_rows

    def load(
        self,
        rows: SupportsArrowStream,
        table: Table,
        *,
        append: bool = False,
        replace: bool = False,
        columns_changed: bool = False,
        request_id: str = "",
    ) -> table_service_pb2.LoadTableResponse:
        """Loads rows into a table, all of them or none.

        Args:
            rows: A `pyarrow.Table`, a `RecordBatchReader`, a DuckDB relation, a data frame, or any other Arrow stream.
            table: `TABLE`, `SCHEMA.TABLE` or, for names with dots, a reference.
            append: Whether to append to the table instead of creating it.
            replace: Whether to put the rows in place of the table's, if there is one.
            columns_changed: Whether a table to replace gets the columns and types of the rows, without constraints.
            request_id: A name for the load: a repeated load with it loads nothing twice.
        """
        import pyarrow as pa

        from tableveil.client.loads import LoadRequests

        if not hasattr(rows, "__arrow_c_stream__"):
            expected = "what Arrow reads, such as a data frame or pyarrow.Table.from_pylist(rows)"
            raise TypeError(f"rows: found a {type(rows).__name__}; expected {expected}")
        return self._load(
            LoadRequests(
                _start(table, append, replace, columns_changed, request_id), pa.RecordBatchReader.from_stream(rows)
            )
        )

    def load_file(
        self,
        path: str | Path,
        table: Table,
        how: FileFormat | None = None,
        *,
        append: bool = False,
        replace: bool = False,
        columns_changed: bool = False,
        request_id: str = "",
        progress: Callable[[int], None] | None = None,
        most_columns: int = 4000,
        show_lines: bool = False,
        shown: Callable[[StoredRows], None] | None = None,
    ) -> table_service_pb2.LoadTableResponse:
        """Loads a local file, all of it or nothing; `progress` is called with the number of rows sent.

        `how` is by default Parquet for a file that ends in .parquet or .pq, and CSV with a header for any other. The
        server may allow fewer columns than `most_columns`. Errors have values of the file only if `show_lines`. Once
        it is loaded, `shown` is called with the first rows that were sent, as the table's columns store them.

        Raises:
            InvalidError: The file cannot be read, or its rows do not fit the table.
        """
        from tableveil.client.loads import file_requests, stored_rows

        start = _start(table, append, replace, columns_changed, request_id)
        with file_requests(start, _file(path, how), progress, most_columns, show_lines) as requests:
            loaded = self._load(requests)
        if not loaded.repeated:
            loaded.notes.extend(requests.notes)
        if shown is not None and not loaded.repeated:
            shown(stored_rows(requests.first, loaded.load.columns))
        return loaded

    @staticmethod
    def guess_csv_format(
        path: str | Path,
        stated: table_service_pb2.CsvFormat | None = None,
        kept: Collection[str] = (),
        most_columns: int = 4000,
        replaces: bool = False,
    ) -> GuessedFormat:
        """How a local CSV file seems to be written, for `load_file`.

        Fields of `stated` that `kept` names are not guessed: delimiter and quote where they are not empty, and
        `encoding`, `header`, `null_texts`, `decimal_comma`, `date_format`, `timestamp_format`, `century_pivots`,
        `skip_lines`, `trimmed`, `thousands`.

        Raises:
            InvalidError: The file cannot be read.
            GuardedError: It is empty, and its rows are for `replaces`: to replace others.
        """
        from tableveil.client.loads import guessed_format

        return guessed_format(str(path), stated or table_service_pb2.CsvFormat(), kept, most_columns, replaces)

    def load_server_file(
        self,
        path: str | Path,
        table: Table,
        how: FileFormat | None = None,
        *,
        append: bool = False,
        replace: bool = False,
        columns_changed: bool = False,
        request_id: str = "",
    ) -> table_service_pb2.LoadTableResponse:
        """Loads a file of the server's machine that lies below one of its `--load-directory`, as `load_file` does."""
        start = _start(table, append, replace, columns_changed, request_id)
        start.file.CopyFrom(_file(path, how))
        return self._load([table_service_pb2.LoadTableRequest(start=start)])

    def load_postgresql(
        self,
        url: str,
        table: Table,
        *,
        source_table: str = "",
        query: str = "",
        append: bool = False,
        replace: bool = False,
        columns_changed: bool = False,
        request_id: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> table_service_pb2.LoadTableResponse:
        """Loads a table of PostgreSQL, or the rows of a query there, in one snapshot: all of it or nothing.

        The client connects, by libpq's ways: `url` is `postgresql://…` without a password.

        Raises:
            InvalidError: PostgreSQL refuses, or a column's type or values cannot be loaded as they are.
            UnreachableError: PostgreSQL is not reached, or ends in the middle.
        """
        from tableveil.client.loads import LoadRequests
        from tableveil.client.postgresql import postgresql_rows, source_name

        with postgresql_rows(url, source_table, query) as rows:
            start = _start(table, append, replace, columns_changed, request_id)
            start.client_source = source_name(url, source_table, query)
            requests = LoadRequests(start, rows, progress=progress)
            try:
                return self._load(requests)
            finally:
                # The connection must not be closed while another thread reads from it.
                requests.end()

    def _load(self, requests: Iterable[table_service_pb2.LoadTableRequest]) -> table_service_pb2.LoadTableResponse:
        try:
            return self._tables.LoadTable(iter(requests))
        except grpc.RpcError as error:
            failure = getattr(requests, "failure", None)
            # The error that ended the messages says more than the call's.
            raise failure or self._error_of(error) from None


def is_parquet(path: str | Path) -> bool:
    """Whether a file has a Parquet file's name."""
    return Path(path).suffix.lower() in _PARQUET_SUFFIXES


def is_postgresql(source: str) -> bool:
    """Whether rows are named by an URL of PostgreSQL."""
    return source.startswith(("postgresql://", "postgres://"))


def _start(
    table: Table, append: bool, replace: bool, columns_changed: bool, request_id: str
) -> table_service_pb2.LoadStart:
    if append and replace:
        raise InvalidError.of("LOAD_INVALID", "mode", "append and replace", "one of them")
    mode = table_service_pb2.LOAD_MODE_APPEND if append else table_service_pb2.LOAD_MODE_CREATE
    mode = table_service_pb2.LOAD_MODE_REPLACE if replace else mode
    return table_service_pb2.LoadStart(
        table=table_reference(table), mode=mode, request_id=request_id, columns_changed=columns_changed
    )


def _file(path: str | Path, how: FileFormat | None) -> table_service_pb2.ServerFile:
    if how is None:
        how = table_service_pb2.ParquetFormat() if is_parquet(path) else table_service_pb2.CsvFormat()
    if isinstance(how, table_service_pb2.ParquetFormat):
        return table_service_pb2.ServerFile(path=str(path), parquet=how)
    return table_service_pb2.ServerFile(path=str(path), csv=how)
