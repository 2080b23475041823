"""The process of one query: it checks the statement, and runs it in a database of its own in memory.

A statement may take time and memory that DuckDB neither counts nor gives up: in binding, in making long texts. The
process limits itself, and ends at once when the endpoint closes the pipe.

All of them are copies of one process, `python -m tableveil.endpoint.query_process N DIRECTORY`: it reads from the
socket with the number N, and opens nothing itself. Once the endpoint is gone, killed or not, it removes the directory
into which queries spilled.
"""

import base64
import gc
import json
import os
import resource
import shutil
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from tableveil.answers import MACROS, SPREAD_SCHEMAS, WIDTH_BUCKET
from tableveil.backend import arrow_type, cleared, folded
from tableveil.endpoint.duckdb_tree import require_same
from tableveil.endpoint.grammar import FILTERED, quoted
from tableveil.endpoint.information import CATALOG, create_views, described
from tableveil.endpoint.labels import LookInFiles, ReleaseTable, Values
from tableveil.endpoint.spread import MOST_ROWS, SpreadAnswer, estimated_tables, without_limit
from tableveil.endpoint.statement import CheckedStatement, alias_of, check
from tableveil.errors import BusyError, InternalError, InvalidError, NotFoundError, TableveilError

_LENGTH = struct.Struct(">I")

Message = dict[str, Any]
"""A JSON object."""

Types = Sequence[DuckDBPyType]
"""The types of the columns of an answer."""


class Ended(Exception):
    """The other side closed the pipe, or its process is gone."""


def send(pipe: BinaryIO, message: Message) -> None:
    """Writes an object."""
    data = json.dumps(message).encode()
    pipe.write(_LENGTH.pack(len(data)) + data)


def receive(pipe: BinaryIO) -> Message:
    """Reads an object; raises `Ended` if the pipe ends before it does."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    message: Message = json.loads(_exactly(pipe, length))
    return message


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise Ended
    return data


ROWS_IN_BATCH = 65_536
LARGEST_BATCH = 4 * 2**20
"""Bytes of a batch, unless a single row is larger: clients refuse messages beyond 16 MiB unless told otherwise."""
LARGEST_ROW = 16 * 2**20
LARGEST_SCHEMA = 2**20
"""Bytes of a row and of a schema: the endpoint holds them in memory, and that of all queries is its own."""

TOO_MUCH_MEMORY = 3
"""The exit code of a process that ended itself because it exceeded its memory."""

FAILED = 1
"""The exit code of a process that ended without an answer for another reason."""

UNCOUNTED = 1.5
"""How much more memory a process may have than its database: that does not count everything."""

HINT = "tableveil.hint"
"""The key of the hint in the metadata of a schema."""

MOST_BOUND = 1_000
"""The most rows of parameters of one statement, which is planned and run for each."""

_DEEPEST_CALLS = 5_000
_SECONDS_BETWEEN_LOOKS = 0.02

# Their errors tell what is wrong with the statement, with values that the caller may read.
_TOLD = (
    *(duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException, duckdb.ConversionException),
    *(duckdb.OutOfRangeException, duckdb.InvalidInputException, duckdb.TypeMismatchException, duckdb.SyntaxException),
    *(duckdb.InvalidTypeException, duckdb.NotImplementedException),
)


def file_of(directory: Path | str, release: int) -> str:
    """The file of a published release."""
    return f"{directory}/releases-{release}.duckdb"


def main() -> None:
    """Forks a process for each pair of pipes that arrives, until the endpoint is gone."""
    # A terminal sends them to all processes; the endpoint ends this one by closing the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    exit_codes: dict[int, int] = {}
    signal.signal(signal.SIGCHLD, lambda *_: _tell(exit_codes))
    os.umask(0o077)
    sys.setrecursionlimit(_DEEPEST_CALLS)
    # pyarrow would load it for small tasks, in each process anew.
    sys.modules["pandas"] = None  # type: ignore[assignment]
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as endpoint:
        while True:
            settings, pipes, _, _ = socket.recv_fds(endpoint, 65_536, 3)
            if not settings:
                shutil.rmtree(sys.argv[2], ignore_errors=True)
                return
            requests, results, exit_code = pipes
            # The process may end before its pipe is noted.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
            exit_codes[process := os.fork()] = exit_code
            if process == 0:
                endpoint.close()
                for pipe in exit_codes.values():
                    os.close(pipe)
                _run(settings.decode().split("\0"), requests, results)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            os.close(requests)
            os.close(results)


def _tell(exit_codes: dict[int, int]) -> None:
    """Writes the exit codes of processes that ended to their pipes, less than 0 if a signal ended them."""
    while exit_codes:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process == 0:
            return
        with os.fdopen(exit_codes.pop(process), "wb", buffering=0) as pipe, suppress(BrokenPipeError):
            pipe.write(str(os.waitstatus_to_exitcode(status)).encode())


def _run(settings: list[str], requests: int, results: int) -> None:
    """Answers one request, and ends the process, whatever happens."""
    code = FAILED
    try:
        _answer(settings, requests, results)
        code = 0
    except MemoryError:
        code = TOO_MUCH_MEMORY
    finally:
        # Closing the database would only take time.
        os._exit(code)


def _answer(settings: list[str], requests: int, results: int) -> None:
    limits = dict(zip(("memory_limit", "threads", "temp_directory", "max_temp_directory_size"), settings, strict=True))
    no_files = ("python_enable_replacements", "autoload_known_extensions", "autoinstall_known_extensions")
    connection = duckdb.connect(config={**limits, **dict.fromkeys(no_files, "false")})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    # They stay open: closing a pipe waits for the thread that reads it.
    pipe, answers = os.fdopen(requests, "rb"), os.fdopen(results, "wb", buffering=0)
    request = receive(pipe)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Beyond the second limit the kernel would kill it, as it does for lack of memory.
    resource.setrlimit(resource.RLIMIT_CPU, (request["cpu_seconds"], request["cpu_seconds"] + 1))
    threading.Thread(target=_end_with, args=[pipe], daemon=True).start()
    threading.Thread(target=_watch, args=[_resident() + int(request["bytes"] * UNCOUNTED)], daemon=True).start()
    try:
        answered = _described(connection, request) if "file" in request else _queried(connection, request, answers)
    except (TableveilError, duckdb.Error, pa.ArrowException, OSError) as failure:
        error = failure if isinstance(failure, TableveilError) else _told(failure, request)
        answered = {"kind": type(error).__name__, "code": error.code, "message": error.message}
    send(answers, answered)


def _described(connection: duckdb.DuckDBPyConnection, request: Message) -> Message:
    """The tables of a published file, with their schemas."""
    _attach(connection, "file", request["file"])
    tables = list(described(connection))
    _lock(connection)

    def columns_of(schema: str, name: str, told: Mapping[str, Mapping[bytes, str]]) -> str:
        columns = _columns(_query(connection, f'FROM "file".{quoted(schema)}.{quoted(name)}'))
        return _base64(pa.schema([field.with_metadata(told[field.name]) for field in columns]))

    return {"tables": [(schema, name, comment, columns_of(schema, name, of)) for schema, name, comment, of in tables]}


def _queried(connection: duckdb.DuckDBPyConnection, request: Message, answers: BinaryIO) -> Message:
    """Writes the account of the statement; if its rows are wanted, that they begin, and then these."""

    def attach(number: int) -> str:
        _attach(connection, alias_of(number), file_of(request["directory"], number))
        return alias_of(number)

    tables = {(schema, name): number for schema, name, number in request["tables"]}

    def bound(count: int, names: Sequence[str]) -> Sequence[Values] | None:
        return _values(connection, request["parameters"], count, names) if request["parameters"] else None

    in_files = LookInFiles(connection, attach, bound)
    withdrawn = {(schema, name): day for schema, name, day in request["withdrawn"]}
    checked = check(request["statement"], tables, in_files, withdrawn, lenient=request["lenient"])
    connection.execute(f"ATTACH ':memory:' AS {CATALOG}; USE {CATALOG}")
    for table in checked.tables:
        _create_view(connection, table, f"{in_files.attach(table.release)}.{quoted(table.schema)}")
    if checked.informed:
        create_views(connection, request["information"])
    # All functions take as long as a small query.
    for macro in (*MACROS, *FILTERED.values(), WIDTH_BUCKET):
        if macro.name in checked.text.lower():
            connection.execute(macro.created())
    _lock(connection)
    require_same(connection, checked)
    unknown: Values | None = dict.fromkeys(checked.names) if checked.names else [None] * checked.parameters or None
    asked = _Asked(connection, checked, in_files.rows or [unknown])
    account = {"releases": sorted(checked.releases), "parameters": checked.parameters, "names": checked.names}
    if checked.parameters and in_files.rows is None:
        if request["rows"]:
            raise InvalidError.of("PARAMETERS_MISSING", "parameters", "none", f"{checked.parameters}, bound to it")
        # JDBC takes a statement without columns for a change, and few columns depend on the values.
        try:
            return {**account, "schema": _base64(_hinted(asked.schema(), checked))}
        except duckdb.Error:
            return {**account, "schema": None}
    if not request["rows"]:
        schema = asked.spread(run=False)[0] if request.get("spread") else _hinted(asked.schema(), checked)
        return {**account, "schema": _base64(schema)}
    # It may take long until the rows begin.
    send(answers, {**account, "schema": None})
    schema, batches = asked.spread(run=True) if request.get("spread") else asked.answers()
    _base64(schema)
    send(answers, {"rows": 0})
    count = 0
    with pa.ipc.new_stream(answers, schema) as stream:
        for batch in () if in_files.rows == [] else batches:
            count += batch.num_rows
            for part in parts(pa.record_batch(cleared(batch).columns, schema=schema)):
                stream.write_batch(part)
    return {"rows": count}


@dataclass(frozen=True)
class _Asked:
    """A statement that is asked for each of these rows of parameters."""

    connection: duckdb.DuckDBPyConnection
    checked: CheckedStatement
    rows: Sequence[Values | None]

    @cached_property
    def _types(self) -> Types | None:
        """The types of columns that hold the answers to several rows: NULL has none."""
        if len(self.rows) < 2 or self.checked.described:
            return None
        relations = (self.connection.sql(self.checked.text, params=values) for values in self.rows)
        each = dict.fromkeys(", ".join(f"CAST(NULL AS {type_})" for type_ in of.types) for of in relations)
        return self.connection.sql(" UNION ALL ".join(f"SELECT {nulls}" for nulls in each)).types

    def schema(self) -> pa.Schema:
        """The schema of the rows; nothing runs."""
        values = self.rows[0]
        if not self.checked.described:
            return _columns(_query(self.connection, self.checked.text, values, self._types))
        # ANALYZE would run the statement.
        statement = self.checked.statement.replace("EXPLAIN ANALYZE", "EXPLAIN", 1)
        if self.checked.described == "SUMMARIZE":
            return _columns(self.connection.sql(f"FROM ({statement})", params=values))
        reader: pa.RecordBatchReader = self.connection.execute(statement, values).to_arrow_reader()
        return reader.schema

    def answers(self) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
        """The schema and the rows."""
        readers = map(self._reader, self.rows)
        first = next(readers)
        return _hinted(first.schema, self.checked), chain.from_iterable(chain([first], readers))

    def _reader(self, values: Values | None) -> pa.RecordBatchReader:
        whole = self.connection.execute(self.checked.statement, values) if self.checked.described else None
        answer: Any = whole or _query(self.connection, self.checked.text, values, self._types)
        return answer.to_arrow_reader(ROWS_IN_BATCH)

    def spread(self, *, run: bool) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
        """The schema with the spread of numbers, and the rows if it shall `run`."""
        estimated, spread = estimated_tables(self.checked), SpreadAnswer(self.checked, self.schema())
        schema = spread.schema.with_metadata({HINT: spread.words})
        if not run:
            return schema, ()
        under_each = [self._tables(self.checked.text)]
        for place in SPREAD_SCHEMAS:
            for table in estimated:
                _create_view(self.connection, table, f"{alias_of(table.release)}.{quoted(place)}")
            under_each.append(self._tables(without_limit(self.checked.text)))
        found = [spread.table(of) for of in zip(*under_each, strict=True)]
        return schema, pa.concat_tables(found).to_batches()

    def _tables(self, text: str) -> list[pa.Table]:
        asked = (_query(self.connection, text, values, self._types).limit(MOST_ROWS + 1) for values in self.rows)
        return [query.to_arrow_reader(ROWS_IN_BATCH).read_all() for query in asked]


def _hinted(schema: pa.Schema, checked: CheckedStatement) -> pa.Schema:
    """The schema, which tells what to write if the statement takes labels for values."""
    return schema.with_metadata({HINT: checked.hint}) if checked.hint else schema


def _columns(query: duckdb.DuckDBPyRelation) -> pa.Schema:
    # With no rows, columns of one name get other names.
    fields = zip(query.columns, query.limit(0).to_arrow_reader().schema, strict=True)
    return pa.schema([field.with_name(name) for name, field in fields])


def _query(
    connection: duckdb.DuckDBPyConnection, text: str, values: Values | None = None, as_types: Types | None = None
) -> duckdb.DuckDBPyRelation:
    """The query, with its columns in types that Arrow has, or in those for other rows of parameters as well."""
    relation = connection.sql(text, params=values)
    types, wanted = list(map(str, relation.types)), list(map(arrow_type, as_types or relation.types))
    if types == wanted:
        return relation
    places = [f"c{place}" for place in range(len(types))]
    columns = ", ".join(
        (f"CAST({place} AS {to})" if to != type_ else place) + f" AS {quoted(name)}"
        for place, name, type_, to in zip(places, relation.columns, types, wanted, strict=True)
    )
    return connection.sql(f"SELECT {columns} FROM (\n{text}\n) AS result({', '.join(places)})", params=values)


def parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts that clients accept; raises `BusyError` for a row that is larger than any."""
    count = -(-batch.nbytes // LARGEST_BATCH)
    if count <= 1 or batch.num_rows <= 1:
        if batch.nbytes > LARGEST_ROW:
            raise _too_large(f"a row of more than {LARGEST_ROW:,} bytes")
        yield batch
        return
    half = batch.num_rows // 2
    yield from parts(batch.slice(0, half))
    yield from parts(batch.slice(half))


def _attach(connection: duckdb.DuckDBPyConnection, alias: str, file: str) -> None:
    try:
        connection.execute(f"ATTACH {quoted(file, chr(39))} AS {alias} (READ_ONLY)")
    except duckdb.IOException:
        actual = "a release that was replaced or withdrawn meanwhile"
        raise NotFoundError.of("RELEASE_GONE", "statement", actual, "releases that are there", "Try again.") from None


def _create_view(connection: duckdb.DuckDBPyConnection, table: ReleaseTable, place: str) -> None:
    """Makes the view by which statements find a table, of the table of that name in some place."""
    schema, name = f"{CATALOG}.{quoted(table.schema)}", quoted(table.name)
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    connection.execute(f"CREATE OR REPLACE VIEW {schema}.{name} AS FROM {place}.{name}")


def _lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Nothing is attached, loaded or set from here on."""
    connection.execute("SET GLOBAL enable_external_access = false")
    connection.execute("SET GLOBAL lock_configuration = true")


def _values(
    connection: duckdb.DuckDBPyConnection, encoded: str, expected: int, names: Sequence[str]
) -> Sequence[Values]:
    """The rows of parameters, by their names if these have any: those of the sent columns, or in their order."""
    try:
        bound_table = pa.ipc.open_stream(base64.b64decode(encoded)).read_all()
        # Arrow trusts the offsets that it is sent: others would read from this process, instead of from the values.
        bound_table.validate(full=True)
        rows, columns = bound_table.num_rows, bound_table.num_columns
        fits = rows <= MOST_BOUND and columns == expected
        lists = [column.to_pylist() for column in bound_table.columns] if fits else []
        values = list(map(list, zip(*lists, strict=True))) if lists else [[]] * min(rows, MOST_BOUND)
        if lists and rows:
            connection.executemany(f"SELECT {', '.join('?' * columns)}", values)
    except MemoryError:
        raise
    except Exception:
        # pyarrow, Python and DuckDB have many errors for values of types that they do not convert.
        damaged, whole = "values that cannot be read", "whole values of Arrow, of types that DuckDB has"
        raise InvalidError.of("PARAMETERS_INVALID", "parameters", damaged, whole) from None
    if not fits:
        size = f"{rows:,} rows of {columns} parameters"
        hint = "Execute the statement for some of the rows, or join VALUES of them." if columns == expected else ""
        expected_rows = f"at most {MOST_BOUND:,} rows of {expected}"
        raise InvalidError.of("PARAMETERS_INVALID", "parameters", size, expected_rows, hint)
    if not names:
        return values
    sent, wanted = list(map(folded, bound_table.column_names)), list(map(folded, names))
    places = list(map(sent.index, wanted)) if set(sent) == set(wanted) else range(columns)
    return [dict(zip(names, (row[place] for place in places), strict=True)) for row in values]


def _told(error: Exception, request: Message) -> TableveilError:
    """The error for the caller, without a path, and without the text that DuckDB was given."""
    # DuckDB calls views lists of values where they have no column of a name.
    message = " ".join(str(error).partition("\n\nLINE ")[0].split()).replace("Values list", "Table")
    paths = [request["directory"] if "directory" in request else str(Path(request["file"]).parent)]
    if isinstance(error, duckdb.OutOfMemoryException):
        return BusyError.of("OUT_OF_MEMORY", "statement", "more memory or disk than a query may take", "a smaller one")
    if isinstance(error, _TOLD) and not any(path in message for path in paths):
        return InvalidError.of("STATEMENT_FAILED", "statement", message[:500], "a statement that runs")
    return InternalError("QUERY_FAILED", f"the query failed ({type(error).__name__})")


def _base64(schema: pa.Schema) -> str:
    serialized = schema.serialize()
    if serialized.size > LARGEST_SCHEMA:
        raise _too_large(f"columns whose names and types take more than {LARGEST_SCHEMA:,} bytes")
    return base64.b64encode(serialized).decode()


def _too_large(found: str) -> BusyError:
    return BusyError.of("RESULT_TOO_LARGE", "statement", found, "a smaller result")


def _end_with(pipe: Any) -> None:
    """Ends the process when the endpoint closes the pipe: nobody waits for the rows any more."""
    pipe.read(1)
    os._exit(0)


_MEMORY = Path("/proc/self/statm")


def _watch(most_bytes: int) -> None:
    while _resident() <= most_bytes:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(TOO_MUCH_MEMORY)


def _resident() -> int:
    return int(_MEMORY.read_text().split()[1]) * resource.getpagesize() if _MEMORY.exists() else 0


if __name__ == "__main__":
    main()
