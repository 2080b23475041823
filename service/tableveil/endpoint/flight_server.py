"""Flight SQL over pyarrow's Flight: statements, prepared statements, and what there is.

A handle holds the statement itself, with its parameters once they are bound. So the endpoint remembers nothing between
two calls, and another one on the same directory may answer the next; each call checks the statement again.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError, Message
from pyarrow import flight

from tableveil.backend import folded
from tableveil.endpoint.calls import HEADERS, Calls, EndpointCall, UnsupportedError
from tableveil.endpoint.catalog import COMMANDS
from tableveil.endpoint.information import CATALOG, DEFAULT_SCHEMA, INFORMATION
from tableveil.endpoint.published import Published
from tableveil.endpoint.query_process import parts
from tableveil.endpoint.query_processes import QueryProcess, QueryProcesses, encoded, schema_from
from tableveil.endpoint.remembered import Remembered
from tableveil.endpoint.running import RunningQueries, RunningQuery
from tableveil.endpoint.settings import EndpointSettings
from tableveil.endpoint.statement import MOST_CHARACTERS
from tableveil.errors import BusyError, InvalidError
from tableveil.flight_sql import flight_sql_pb2 as sql

LARGEST_PARAMETERS = 2**20
"""Bytes of bound parameters: they travel in handles."""

_DAMAGED = (pa.ArrowException, ValueError, TypeError, KeyError, NotImplementedError, OSError)
"""The errors of pyarrow for messages that are not Arrow's, or are of parts that it does not read."""

_MOST_REMEMBERED, _LARGEST_REMEMBERED = 1_000, 2**16

_LARGEST_COMMAND = 8 * MOST_CHARACTERS + 2 * LARGEST_PARAMETERS

_ACTIONS = (
    ("CreatePreparedStatement", "Checks a statement, and gives a handle for it."),
    ("ClosePreparedStatement", "Forgets a handle."),
    ("SetSessionOptions", "Takes the catalog and the schema that there are in any case."),
    ("CloseSession", "Ends a session, of which nothing is kept."),
)

_FIXED = {"catalog": CATALOG, "schema": DEFAULT_SCHEMA}
"""The options of a session, whose values are what they are in each."""

_NO_OPTION, _NO_VALUE = 1, 2

_SESSION_CLOSED = b"\x08\x01"
"""Flight's CloseSessionResult, whose status is CLOSED; Flight SQL's messages do not have it."""

_REQUESTS = (*COMMANDS, sql.CommandStatementQuery, sql.TicketStatementQuery, sql.CommandPreparedStatementQuery)

_MESSAGES: dict[str, type[Message]] = {
    cast(Any, message).DESCRIPTOR.full_name: message
    for message in (*_REQUESTS, sql.ActionCreatePreparedStatementRequest, sql.ActionClosePreparedStatementRequest)
}

METHODS = (*(message.__name__ for message in _REQUESTS), *(name for name, _ in _ACTIONS))
"""The names of what is asked for, as the audit and the metrics have them."""


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """A statement with its parameters, encoded, if they are bound; and whether a `spread` of estimates is wanted."""

    query: str
    parameters: str | None = None
    spread: bool = False

    @classmethod
    def of(cls, handle: bytes) -> BoundStatement:
        """The statement in a handle; raises `InvalidError` if it is none of ours."""
        try:
            query, parameters, *spread = json.loads(handle)
            if isinstance(query, str) and (parameters is None or isinstance(parameters, str)):
                return cls(query, parameters, spread == [True])
        except (ValueError, TypeError, RecursionError):
            pass
        raise InvalidError.of("HANDLE_INVALID", "handle", "bytes that are no handle", "a handle of this endpoint")

    @property
    def handle(self) -> bytes:
        """It, for the client."""
        return json.dumps([self.query, self.parameters, *[True] * self.spread]).encode()


class FlightSql(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """Listens from the start."""

    def __init__(
        self,
        calls: Calls,
        published: Published,
        processes: QueryProcesses,
        queries: RunningQueries,
        settings: EndpointSettings,
        transport: Mapping[str, Any],
    ) -> None:
        self._calls = calls
        self._published = published
        self._processes = processes
        self._queries = queries
        self._limits = settings.limits
        self._lenient = settings.lenient
        self._schemas: Remembered[dict[str, Any]] = Remembered(_MOST_REMEMBERED)
        super().__init__(**transport)

    def get_flight_info(
        self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor
    ) -> flight.FlightInfo:
        """The schema of an answer, and the ticket for its rows. The query runs when the ticket is used."""
        command = _command(descriptor.command)
        with self._calls.passed(context, _name(command)) as call:
            match command:
                case sql.CommandStatementQuery():
                    statement = BoundStatement(command.query)
                case sql.CommandPreparedStatementQuery():
                    statement = BoundStatement.of(command.prepared_statement_handle)
                case None:
                    raise _unknown("a command of Flight SQL")
                case _:
                    # Answers about no tables have the same schema.
                    return _info(COMMANDS[type(command)](command, ()).schema, descriptor, bytes(descriptor.command))
            statement = replace(statement, spread=context.get_middleware(HEADERS).wants_spread)
            schema, _ = self._described(statement, call, context)
            ticket = _packed(sql.TicketStatementQuery(statement_handle=statement.handle))
            return _info(schema or pa.schema([]), descriptor, ticket)

    def get_schema(self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor) -> flight.SchemaResult:
        """The schema of an answer."""
        return flight.SchemaResult(self.get_flight_info(context, descriptor).schema)

    def do_get(self, context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.FlightDataStream:
        """The rows, as the client takes them."""
        command = _command(ticket.ticket)
        with ExitStack() as opened:
            call = opened.enter_context(self._calls.passed(context, _name(command)))
            if not isinstance(command, sql.TicketStatementQuery):
                if command is None or type(command) not in COMMANDS:
                    raise _unknown("a ticket of this endpoint")
                answer = COMMANDS[type(command)](command, self._published.tables(call.reader.releases).tables)
                accepted = [part for batch in answer.to_batches() for part in parts(batch)]
                return flight.GeneratorStream(answer.schema, iter(accepted))
            statement = BoundStatement.of(command.statement_handle)
            process = opened.enter_context(self._asked(statement, call, context, rows=True))
            call.releases = tuple(process.answer()["releases"])
            process.answer()
            self._calls.begin(call)
            reader = process.batches()
            rows = self._rows(process, reader, call, opened.pop_all())
            # From here on the generator ends the call, also if nobody ever asks it for rows.
            next(rows)
            return flight.GeneratorStream(reader.schema, rows)

    def do_action(self, context: flight.ServerCallContext, action: flight.Action) -> Iterator[bytes]:
        """Prepares a statement; or forgets it, or ends a session, which take nothing."""
        body = action.body.to_pybytes() if action.body else b""
        request = _command(body)
        with self._calls.passed(context, action.type) as call:
            match action.type, request:
                case "CreatePreparedStatement", sql.ActionCreatePreparedStatementRequest():
                    statement = BoundStatement(request.query)
                    schema, parameters = self._described(statement, call, context)
                    # DuckDB casts texts to what a parameter is compared with.
                    unknown = pa.schema([(name, pa.string()) for name in parameters])
                    result = sql.ActionCreatePreparedStatementResult(
                        prepared_statement_handle=statement.handle,
                        dataset_schema=schema.serialize().to_pybytes() if schema else b"",
                        parameter_schema=unknown.serialize().to_pybytes() if parameters else b"",
                    )
                    return iter([_packed(result)])
                case "ClosePreparedStatement", sql.ActionClosePreparedStatementRequest():
                    return iter([])
                case "SetSessionOptions", _:
                    return iter([_options_set(body)])
                case "CloseSession", _:
                    return iter([_SESSION_CLOSED])
                case _:
                    raise _unknown(", ".join(name for name, _ in _ACTIONS))

    def list_actions(self, context: flight.ServerCallContext) -> list[tuple[str, str]]:
        """The actions."""
        return [*_ACTIONS]

    def list_flights(self, context: flight.ServerCallContext, criteria: bytes) -> Iterator[flight.FlightInfo]:
        """None: clients find tables by the commands of Flight SQL."""
        return iter([])

    def do_exchange(self, context: flight.ServerCallContext, *_: object) -> None:
        """Nothing of Flight SQL."""
        with self._calls.passed(context, "DoExchange"):
            raise _unknown("a command of Flight SQL")

    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        """Binds parameters: the answer is the handle that has them."""
        command = _command(descriptor.command)
        with self._calls.passed(context, _name(command)):
            if not isinstance(command, sql.CommandPreparedStatementQuery):
                hint = "An endpoint is read only. Instead of executemany, execute a SELECT with rows of parameters."
                raise InvalidError.of("COMMAND_INVALID", "command", "a change", "parameters of a SELECT", hint)
            statement = BoundStatement.of(command.prepared_statement_handle)
            bound = BoundStatement(statement.query, _parameters(reader))
            result = sql.DoPutPreparedStatementResult(prepared_statement_handle=bound.handle)
            writer.write(pa.py_buffer(result.SerializeToString()))

    def _described(
        self, statement: BoundStatement, call: EndpointCall, context: flight.ServerCallContext
    ) -> tuple[pa.Schema | None, list[str]]:
        """The schema of a statement's rows, if its parameters are known, and the names of its parameters."""
        tables = self._published.tables(call.reader.releases)
        key = (statement, tables.key)
        if (schema := self._schemas.get(key)) is None:
            with self._asked(statement, call, context, rows=False) as process:
                schema = process.answer()
            if len(schema["schema"] or "") <= _LARGEST_REMEMBERED:
                self._schemas.keep(key, schema)
        call.releases = tuple(schema["releases"])
        names = schema["names"] or [f"parameter_{place}" for place in range(1, schema["parameters"] + 1)]
        return schema_from(schema["schema"]) if schema["schema"] else None, names

    @contextmanager
    def _asked(
        self, statement: BoundStatement, call: EndpointCall, context: flight.ServerCallContext, *, rows: bool
    ) -> Iterator[QueryProcess]:
        """A process that was asked about the statement, and holds a place while the block runs."""
        query = RunningQuery(call.credentials, context.is_cancelled)
        query.limit(time.monotonic() + self._limits.seconds)
        with self._queries.taken(call.reader.principal, query):
            query.limit(time.monotonic() + self._limits.seconds)
            tables = self._published.tables(call.reader.releases)
            # A name is written down where it is read.
            is_informed = re.search(rf"{INFORMATION}|\bSHOW\b", statement.query, re.IGNORECASE | re.ASCII)
            request = {
                **{"statement": statement.query, "parameters": statement.parameters, "spread": statement.spread},
                **{"tables": tables.named, "directory": str(self._published.directory), "lenient": self._lenient},
                **{"withdrawn": call.reader.withdrawn, "rows": rows},
                "information": tables.information if is_informed else None,
            }
            process = self._processes.open(request, query)
            try:
                yield process
            finally:
                self._processes.release(process)

    def _rows(
        self, process: QueryProcess, reader: pa.RecordBatchReader, call: EndpointCall, opened: ExitStack
    ) -> Generator[pa.RecordBatch | None, None, None]:
        with opened:
            yield None
            call.rows, size = 0, 0
            try:
                for batch in reader:
                    if process.query.refusal is not None:
                        raise process.query.refusal
                    size += batch.nbytes
                    if size > self._limits.result:
                        actual = f"more than {self._limits.result:,} bytes of rows"
                        raise BusyError.of("RESULT_TOO_LARGE", "statement", actual, "a smaller result")
                    call.rows += batch.num_rows
                    yield batch
            except (pa.ArrowInvalid, OSError):
                raise process.ended() from None
            process.answer()


def _command(data: bytes | None) -> Message | None:
    """The message of Flight SQL in a command; None if there is none of those that the endpoint knows."""
    if data is None or len(data) > _LARGEST_COMMAND:
        return None
    try:
        packed = any_pb2.Any.FromString(data)
        message = _MESSAGES.get(packed.type_url.rpartition("/")[2])
        return message.FromString(packed.value) if message else None
    except DecodeError:
        return None


def _options_set(body: bytes) -> bytes:
    """The answer to options of a session: JDBC sets the catalog that somebody chooses."""
    try:
        request = sql.SetSessionOptionsRequest.FromString(body)
    except DecodeError:
        raise _unknown("options of a session") from None
    result = sql.SetSessionOptionsResult()
    for name, option in request.session_options.items():
        if name not in _FIXED:
            result.errors[name].value = _NO_OPTION
        elif folded(option.string_value) not in ("", _FIXED[name]):
            result.errors[name].value = _NO_VALUE
    return result.SerializeToString()


def _packed(message: Message) -> bytes:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed.SerializeToString()


def _name(command: Message | None) -> str:
    return type(command).__name__ if command is not None else "unknown"


def _info(schema: pa.Schema, descriptor: flight.FlightDescriptor, ticket: bytes) -> flight.FlightInfo:
    # No place means the connection at hand.
    return flight.FlightInfo(schema, descriptor, [flight.FlightEndpoint(ticket, [])], -1, -1)


def _parameters(reader: flight.MetadataRecordBatchReader) -> str:
    """The parameters that a client sends, encoded."""
    batches, size = [], 0
    try:
        for chunk in reader:
            # Arrow trusts the offsets that it is sent.
            chunk.data.validate(full=True)
            batches.append(chunk.data)
            size += chunk.data.nbytes
            if size > LARGEST_PARAMETERS:
                actual = f"more than {LARGEST_PARAMETERS:,} bytes"
                raise InvalidError.of("PARAMETERS_INVALID", "parameters", actual, "fewer or shorter ones")
        return encoded(pa.Table.from_batches(batches, reader.schema))
    except _DAMAGED:
        damaged, whole = "values that cannot be read", "whole values of Arrow"
        raise InvalidError.of("PARAMETERS_INVALID", "parameters", damaged, whole) from None


def _unknown(expected: str) -> UnsupportedError:
    return UnsupportedError.of("COMMAND_INVALID", "command", "one that this endpoint does not answer", expected)
