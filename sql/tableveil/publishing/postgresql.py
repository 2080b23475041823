"""A schema of a PostgreSQL database: each release arrives in one transaction, by COPY, as tables with comments."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, column, is_finite, table
from tableveil.errors import BusyError, ConflictError, Fault, InternalError, InvalidError, TableveilError, shortened
from tableveil.loading import check_url
from tableveil.publishing.edition import Edition, Item
from tableveil.publishing.postgresql_types import MOST_BYTES, Arriving, arriving

PUBLISHED = "tableveil_published"
"""The table that tells which tables of the schema are of which release: no other ones are ever replaced or dropped."""

MOST_COLUMNS = 1600

_ROWS_PER_BATCH = 2**16

_SYSTEM_COLUMNS = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")

# A server that does not answer must not hold up the others, nor a stop of the service.
_TIMEOUTS = {"connect_timeout": "10", "tcp_user_timeout": "30000"}
_LOCK_TIMEOUT = "5s"


class PostgresqlTarget:
    """Tables in one schema, by their names in the service; roles that are named get SELECT on them."""

    def __init__(self, url: str) -> None:
        """`url` is libpq's, with the options `schema` (default: public) and `grant`, which may be repeated.

        Raises:
            InvalidError: it holds a password, or the driver is not installed.
        """
        check_url(url, "publish")
        try:
            import adbc_driver_postgresql  # noqa: F401
        except ImportError:
            raise InvalidError.of(
                *("POSTGRESQL_MISSING", "publish", "no driver for PostgreSQL", "the package adbc-driver-postgresql"),
                "Install it: pip install 'tableveil[postgresql]'.",
            ) from None
        place, _, query = url.partition("?")
        options = parse_qsl(query)
        self._schema = dict(options).get("schema", "public")
        self._roles = [value for name, value in options if name == "grant"]
        own = {name: value for name, value in options if name not in ("schema", "grant")}
        self._url = f"{place}?{urlencode(_TIMEOUTS | own)}"

    def faults(self, items: Iterable[Item]) -> list[Fault]:
        """Names that are too long or taken by PostgreSQL, types that it has not, and too many columns."""
        return [fault for item in items for fault in _faults(item)]

    def publish(self, session: Session, read: Callable[[], Edition], confirm: Callable[[], None]) -> None:
        """See `Target`; nobody sees the new tables before the one commit."""
        with session.transaction(elsewhere=True):
            edition = read()
            if faults := self.faults(edition.items):
                raise InvalidError.about("TARGET_UNFIT", "PostgreSQL cannot hold the release as it is", faults)
            with self._transaction(session) as cursor:
                self._prepare(cursor)
                types = f"tableveil_{secrets.token_hex(8)}_"
                for position in range(len(edition.items)):
                    self._stage(session, cursor, edition, position, types)
                self._swap(cursor, edition, types)
                confirm()

    def remove(self, number: int) -> None:
        """See `Target`. Views that others made on its tables go with them."""
        with self._transaction() as cursor:
            self._prepare(cursor)
            self._drop(cursor, "release = $1", number, "CASCADE")

    def sweep(self) -> None:
        """Nothing: PostgreSQL takes back what was not committed."""

    @contextmanager
    def _transaction(self, session: Session | None = None) -> Iterator[Any]:
        """A cursor whose work is committed at the end, or of which nothing stays."""
        from adbc_driver_postgresql import dbapi

        try:
            with closing(dbapi.connect(self._url)) as connection, closing(connection.cursor()) as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
                cursor.execute("SET LOCAL standard_conforming_strings = on")
                yield cursor
                connection.commit()
        except (dbapi.Error, pa.ArrowException, OSError) as error:
            if session is not None and session.control is not None:
                session.control.raise_if_stopped()
            raise _refused(error) from None

    def _prepare(self, cursor: Any) -> None:
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {self._named(PUBLISHED)} (table_name text PRIMARY KEY, place text NOT NULL, "
            "release bigint NOT NULL, types text NOT NULL, published_at timestamptz NOT NULL DEFAULT now())"
        )

    def _stage(self, session: Session, cursor: Any, edition: Edition, position: int, types: str) -> None:
        """Copies an item into a table with a name of its own; the names of enums begin with `types`."""
        item, name = edition.items[position], _staging(position)
        columns = [found for one, type_ in item.columns if (found := arriving(one, type_)) is not None]
        _check_finite(session, edition, item, columns)
        defined = []
        for i, one in enumerate(columns):
            made = one.type
            if one.labels:
                made = self._named(f"{types}{position}_{i}")
                cursor.execute(f"CREATE TYPE {made} AS ENUM ({', '.join(map(_literal, one.labels))})")
            defined.append(f"{_quoted(one.name)} {made}")
        cursor.execute(f"CREATE TABLE {self._named(name)} ({', '.join(defined)})")
        sent = exp.select(*(alias(one.sent, one.name) for one in columns))
        rows = sent.from_(edition.rows(session, item).subquery("released"))
        with session.batches(rows, _ROWS_PER_BATCH) as reader:
            cursor.adbc_ingest(name, reader, mode="append", db_schema_name=self._schema)

    def _swap(self, cursor: Any, edition: Edition, types: str) -> None:
        """Gives the staged tables their names, in place of those of an earlier release of that schema and name."""
        # Quoted: b.c of the schema a must not take the place of c of the schema a.b.
        place = f"{_quoted(edition.schema)}.{_quoted(edition.name)}"
        self._drop(cursor, "place = $1", place, "RESTRICT")
        for position, item in enumerate(edition.items):
            self._check_free(cursor, item.name)
            target = self._named(item.name)
            cursor.execute(f"ALTER TABLE {self._named(_staging(position))} RENAME TO {_quoted(item.name)}")
            if item.comment:
                cursor.execute(f"COMMENT ON TABLE {target} IS {_literal(item.comment)}")
            for name, comment in item.column_comments.items():
                cursor.execute(f"COMMENT ON COLUMN {target}.{_quoted(name)} IS {_literal(comment)}")
            for role in self._roles:
                cursor.execute(f"GRANT SELECT ON {target} TO {_quoted(role)}")
            cursor.execute(
                f"INSERT INTO {self._named(PUBLISHED)} (table_name, place, release, types) VALUES ($1, $2, $3, $4)",
                (item.name, place, edition.number, types),
            )

    def _check_free(self, cursor: Any, name: str) -> None:
        cursor.execute(
            "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE nspname::text = $1 AND relname::text = $2",
            (self._schema, name),
        )
        if cursor.fetchone() is not None:
            raise ConflictError.of(
                "TARGET_OCCUPIED",
                "target",
                f"{shortened(name)} in schema {shortened(self._schema)} of PostgreSQL",
                "nothing of that name, or what an earlier release of this schema and name published",
                "Remove it yourself, or choose another name, or a target with another schema.",
            )

    def _drop(self, cursor: Any, condition: str, parameter: object, dependants: str) -> None:
        """Drops the tables that are published with a condition, and their enums."""
        published = self._named(PUBLISHED)
        cursor.execute(f"DELETE FROM {published} WHERE {condition} RETURNING table_name, types", (parameter,))
        dropped = cursor.fetchall()
        for name, _ in dropped:
            cursor.execute(f"DROP TABLE IF EXISTS {self._named(name)} {dependants}")
        for types in {types for _, types in dropped}:
            cursor.execute(
                "SELECT typname::text FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace "
                "WHERE nspname::text = $1 AND typtype = 'e' AND starts_with(typname::text, $2)",
                (self._schema, types),
            )
            for (name,) in cursor.fetchall():
                cursor.execute(f"DROP TYPE {self._named(name)}")

    def _named(self, name: str) -> str:
        return f"{_quoted(self._schema)}.{_quoted(name)}"


def _staging(position: int) -> str:
    return f"tableveil_staging_{position}"


def _faults(item: Item) -> Iterator[Fault]:
    shown = shortened(item.name)
    if _is_too_long(item.name):
        yield Fault("release.name", shown, f"a name of at most {MOST_BYTES} bytes, with all that is added to it")
    if item.name == PUBLISHED:
        yield Fault("release.name", shown, "another name: the target keeps its own list there")
    if len(item.columns) > MOST_COLUMNS:
        yield Fault(shown, f"{len(item.columns):,} columns", f"at most {MOST_COLUMNS:,}, as PostgreSQL has them")
    for name, type_ in item.columns:
        field = item.field_of(name)
        if _is_too_long(name):
            yield Fault(field, f"a column {shortened(name)}", f"names of at most {MOST_BYTES} bytes")
        if name in _SYSTEM_COLUMNS:
            yield Fault(field, f"a column {shortened(name)}", "a name that PostgreSQL does not use itself")
        if arriving(name, type_) is None:
            hint = "Let a source_query cast the column, or leave it out."
            yield Fault(field, f"a column {shortened(name)} of type {shortened(type_)}", "a type of PostgreSQL", hint)


def _is_too_long(name: str) -> bool:
    return len(name.encode()) > MOST_BYTES


def _check_finite(session: Session, edition: Edition, item: Item, columns: Sequence[Arriving]) -> None:
    """Refuses infinite dates and times, which the driver turns into finite ones."""
    checked = [one.name for one in columns if one.may_be_infinite]
    if not checked:
        return
    infinite = [exp.Not(this=is_finite(column(name))) for name in checked]
    found = exp.select(*(exp.LogicalOr(this=each) for each in infinite))
    row = session.row(found.from_(table(item.name, edition.schema, session.catalog)))
    faults = [
        Fault(shortened(item.name), f"infinite values in {shortened(name)}", "dates and times that are finite")
        for name, is_infinite in zip(checked, row, strict=True)
        if is_infinite
    ]
    if faults:
        raise InvalidError.about("VALUES_REFUSED", "PostgreSQL cannot hold the release as it is", faults)


def _refused(error: Exception) -> TableveilError:
    """The error for one of PostgreSQL's, whose texts may hold values: only its state is told."""
    state = getattr(error, "sqlstate", None) or ""
    known = f"SQLSTATE {state}" if state else "no connection, or one that ended"
    if state == "53100":
        return BusyError("DISK_FULL", "the disk of PostgreSQL is full")
    if state == "2BP01":
        hint = "Drop the views on its tables, or replace them by ones that read something else."
        return ConflictError.of("TARGET_IN_USE", "target", "a table that others depend on", "none", hint)
    if state[:2] in ("", "08", "28", "40", "53", "55", "57"):
        return BusyError("TARGET_UNREACHABLE", f"PostgreSQL does not take it now: {known}; its log may say more")
    if state[:2] in ("22", "54"):
        return InvalidError("VALUES_REFUSED", f"PostgreSQL cannot hold some of the values: {known}")
    return InternalError("TARGET_REFUSED", f"PostgreSQL refuses it: {known}; look at rights, roles and the schema")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: str) -> str:
    """A text in the standard's quotes, which PostgreSQL reads so unless it was told otherwise."""
    return "'" + value.replace("'", "''") + "'"
