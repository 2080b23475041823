"""Rows of PostgreSQL on their way to the server: the client reads them, in one snapshot and by its user's rights.

Passwords come by libpq's own ways (PGPASSFILE, a service, the environment): an URL that holds one is refused.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from tableveil.client.failures import UnreachableError
from tableveil.errors import Fault, InvalidError, TableveilError, shortened
from tableveil.loading import check_names, check_url

# The types that arrive as they are; all others that the driver gives as text are texts: enums among them.
_AS_THEY_ARE = {
    *("bool", "int2", "int4", "int8", "float4", "float8", "bytea", "uuid", "json", "jsonb"),
    *("date", "timestamp", "timestamptz", "time", "interval"),
}

_FIRST_DAY = -2_440_588
"""The first date of PostgreSQL, 4713-11-24 BC, in days since 1970: the driver gives infinite ones as earlier ones."""

_DAY = 86_400_000_000
"""Microseconds."""

_MOST_DIGITS = 38
_COLUMNS_AT_ONCE = 500
"""PostgreSQL selects at most 1,664 expressions."""

_TOLD = {"25", "3D", "3F", "42"}
"""The classes of PostgreSQL's errors whose texts name objects, but no values of rows."""

_GONE = {"08", "28", "53", "57"}
"""The classes that stand for a connection that was refused or ended."""


def source_name(url: str, table: str, query: str) -> str:
    """The place of the rows as the ledger keeps it: without user, password and options, and without a query's text."""
    parts = urlsplit(url)
    kept = urlencode(
        [(k, v) for k, v in parse_qsl(parts.query) if k in ("host", "hostaddr", "port", "dbname", "service")]
    )
    place = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}{'?' * bool(kept)}{kept}"
    of = table or f"query {hashlib.sha256(query.encode()).hexdigest()[:12]}"
    return f"{place} {of}"


@contextmanager
def postgresql_rows(url: str, table: str = "", query: str = "") -> Iterator[pa.RecordBatchReader]:
    """The rows of a table, named `TABLE` or `SCHEMA.TABLE` as it is spelled, or of a query; to be read in the block.

    Raises:
        InvalidError: the URL holds a password, PostgreSQL refuses the query, or a column cannot be loaded.
        UnreachableError: PostgreSQL is not reached, or ends in the middle.
    """
    check_url(url, "url")
    if bool(table) == bool(query):
        raise InvalidError.of(
            "POSTGRESQL_SOURCE", "query", "a table and a query" if table else "neither", "one of both"
        )
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise InvalidError.of(
            *("POSTGRESQL_MISSING", "url", "no driver for PostgreSQL", "the package adbc-driver-postgresql"),
            "Install it: pip install 'tableveil[postgresql]'.",
        ) from None
    # A comment at the end must not reach the driver's own words behind it.
    text = f"SELECT * FROM {_quoted(table)}" if table else query.strip().rstrip(";") + "\n"
    with ExitStack() as opened:
        with _refusals():
            connection = opened.enter_context(closing(dbapi.connect(url, autocommit=True)))
            cursor = opened.enter_context(closing(connection.cursor()))
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            columns = _columns(cursor.adbc_execute_schema(text), lambda names: _digits(cursor, text, names))
            cursor.execute(text)
            read = cursor.fetch_record_batch()
        schema = pa.schema([(column.name, column.sent) for column in columns])
        yield pa.RecordBatchReader.from_batches(schema, _sent(read, columns, schema, lambda: _count(connection, text)))


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: str
    """As PostgreSQL calls it."""
    sent: pa.DataType

    def of(self, array: pa.Array) -> pa.Array:
        """The values as they are sent; raises `InvalidError` if some cannot be."""
        if pa.types.is_decimal(self.sent):
            texts = array.storage
            self._require(pc.is_in(texts, value_set=pa.array(["nan", "inf", "-inf"])), "NaN or infinity")
            return pc.cast(texts, self.sent)
        if self.type in ("date", "timestamp", "timestamptz"):
            least = _FIRST_DAY if self.type == "date" else _FIRST_DAY * _DAY
            as_number = array.cast(pa.int32() if self.type == "date" else pa.int64())
            self._require(pc.less(as_number, least), "infinity or after the year 294246")
        return array

    def _require(self, wrong: pa.Array, what: str) -> None:
        if pc.any(wrong).as_py():
            raise InvalidError.of(
                "POSTGRESQL_VALUES",
                shortened(self.name),
                f"values of type {self.type} that are {what}",
                "values that the database can hold",
                "Leave them out or make them NULL in a --query.",
            )


def _columns(schema: pa.Schema, digits: Callable[[Sequence[str]], dict[str, tuple[int, int]]]) -> list[_Column]:
    """The columns; `digits` finds how many digits numbers without a declared precision have, before and behind."""
    check_names(schema.names)
    declared = {field.name: _declared(field) for field in schema if _type(field) == "numeric"}
    digits_of = digits([name for name, type_ in declared.items() if type_ is None])
    columns, faults = [], []
    for field in schema:
        type_, sent = _type(field), field.type
        if type_ == "numeric":
            whole, scale = declared[field.name] or digits_of[field.name]
            if whole + scale <= _MOST_DIGITS:
                sent = pa.decimal128(_MOST_DIGITS if whole + scale > 18 else 18, scale)
                if declared[field.name] is not None:
                    sent = pa.decimal128(max(whole + scale, 1), scale)
                columns.append(_Column(field.name, type_, sent))
                continue
            type_ = f"numeric of {whole + scale} digits"
        elif type_ in _AS_THEY_ARE or pa.types.is_string(sent):
            columns.append(_Column(field.name, type_, sent))
            continue
        faults.append(
            Fault(
                shortened(field.name),
                f"type {shortened(type_)}",
                f"a type that is loaded as it is, or numbers of at most {_MOST_DIGITS} digits",
                "Make it one in a --query, such as column::text, or leave it out.",
            )
        )
    if faults:
        raise InvalidError.about("POSTGRESQL_TYPES", "some columns cannot be loaded", faults)
    return columns


def _type(field: pa.Field) -> str:
    return ((field.metadata or {}).get(b"POSTGRESQL:type") or b"unknown").decode()


def _declared(field: pa.Field) -> tuple[int, int] | None:
    """The digits before and behind the point that numeric(precision, scale) declares; None without, or too many."""
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1")) - 4
    if modifier < 0:
        return None
    precision, scale = modifier >> 16, (modifier & 0x7FF ^ 0x400) - 0x400
    digits = max(precision - scale, 0), max(scale, 0)
    return digits if sum(digits) <= _MOST_DIGITS else None


def _digits(cursor: Any, query: str, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The most digits of the numbers in these columns, before and behind the point."""
    digits: dict[str, tuple[int, int]] = {}
    for first in range(0, len(names), _COLUMNS_AT_ONCE):
        some = names[first : first + _COLUMNS_AT_ONCE]
        figures = []
        for column in map(_identifier, some):
            # NaN and infinity have no scale.
            whole = f"length(nullif(trunc(abs({column})), 0)::text)"
            figures += [f"coalesce(max({whole}) FILTER (WHERE scale({column}) IS NOT NULL), 0)::int"]
            figures += [f"coalesce(max(scale({column})), 0)::int"]
        cursor.execute(f"SELECT {', '.join(figures)} FROM ({query}) AS read")
        (row,) = cursor.fetchall()
        digits |= dict(zip(some, zip(row[::2], row[1::2], strict=True), strict=True))
    return digits


def _sent(
    reader: pa.RecordBatchReader, columns: Sequence[_Column], schema: pa.Schema, count: Callable[[], int]
) -> Iterator[pa.RecordBatch]:
    rows = 0
    with _refusals():
        for batch in reader:
            rows += batch.num_rows
            arrays = [column.of(array) for column, array in zip(columns, batch.columns, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        if (there := count()) != rows:
            raise InvalidError.of(
                "ROWS_MISSING",
                "query",
                f"{rows:,} rows that were read",
                f"the {there:,} that PostgreSQL counts in the same snapshot",
                "Nothing was loaded. A query must have the same rows each time.",
            )


def _count(connection: Any, query: str) -> int:
    """The rows in the same transaction, and so in the same snapshot."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(f"SELECT count(*) FROM ({query}) AS read")
        ((rows,),) = cursor.fetchall()
        return int(rows)


@contextmanager
def _refusals() -> Iterator[None]:
    """Tells PostgreSQL's errors without the text of the query, and without values."""
    from adbc_driver_postgresql.dbapi import Error

    try:
        yield
    except (Error, pa.ArrowException, OSError) as error:
        raise _refused(error) from None


def _refused(error: Exception) -> TableveilError:
    text = str(error)
    # Errors in the middle of the rows have no state.
    state = match[1] if (match := re.search(r"SQLSTATE: (\w{5})", text)) else ""
    reported = re.search(r"(?:ERROR|FATAL): +(.*)", text) or re.search(r"Failed to connect: (.*)", text)
    if state[:2] in _GONE or not (state or "ERROR:" in text):
        shown = shortened(reported[1]) if reported else "a connection that ended"
        hint = "Look whether PostgreSQL runs, and at your password; nothing was loaded."
        return UnreachableError.of("POSTGRESQL_UNREACHABLE", "url", shown, "rows of PostgreSQL, to the last one", hint)
    shown = f"SQLSTATE {state}" if state else "an error in the middle of the rows"
    if reported and state[:2] in _TOLD:
        shown += f": {shortened(reported[1])}"
    hint = "Nothing was loaded. PostgreSQL's log has the whole error."
    return InvalidError.of("POSTGRESQL_REFUSED", "query", shown, "rows that PostgreSQL gives", hint)


def _quoted(table: str) -> str:
    return ".".join(map(_identifier, table.split(".", 1)))


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
