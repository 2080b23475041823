"""A schema of a PostgreSQL database: each release arrives in one transaction, by COPY, as rows of tables that stay."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pyarrow as pa
from sqlglot import exp

from tableveil.answers import postgresql as answers
from tableveil.backend import Session, alias, column, is_finite, table
from tableveil.errors import BusyError, ConflictError, Fault, InternalError, InvalidError, TableveilError, shortened
from tableveil.loading import check_url
from tableveil.publishing.edition import Edition, Item
from tableveil.publishing.postgresql_ranges import RANGES, range_columns, stale
from tableveil.publishing.postgresql_types import MOST_BYTES, Arriving, arriving

COLUMNS = """
SELECT attname::text, format_type(atttypid, atttypmod), coalesce(array_agg(enumlabel::text ORDER BY enumsortorder)
    FILTER (WHERE enumlabel IS NOT NULL), '{}')
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
LEFT JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
    AND attgenerated = '' LEFT JOIN pg_enum ON enumtypid = atttypid
WHERE nspname::text = $1 AND relname::text = $2 AND relkind = 'r' GROUP BY attname, atttypid, atttypmod, attnum
ORDER BY attnum"""
"""Name, type and labels of the columns of a table, by schema and name; one row of NULLs for a table without any."""

READERS = """
SELECT DISTINCT a.attname::text, format('%s.%s', views.nspname, v.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = c.oid AND classid = 'pg_rewrite'::regclass
JOIN pg_rewrite r ON r.oid = objid JOIN pg_class v ON v.oid = ev_class AND v.oid <> c.oid
JOIN pg_namespace views ON views.oid = v.relnamespace
LEFT JOIN pg_attribute a ON attrelid = c.oid AND attnum = refobjsubid
WHERE n.nspname::text = $1 AND c.relname::text = $2 ORDER BY 1, 2"""
"""The columns of a table that views read, by schema and name; NULL with the views that read whole rows of it."""

UNUSED_TYPES = """
SELECT typname::text FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace
WHERE nspname::text = $1 AND typtype = 'e' AND typname ~ '^tableveil_[0-9a-f]{16}_' AND NOT EXISTS (
    SELECT 1 FROM pg_depend
    WHERE refclassid = 'pg_type'::regclass AND refobjid IN (t.oid, typarray) AND deptype <> 'i')"""
"""The enums of a schema that were made for released columns, and that nothing has."""


@dataclass(frozen=True, slots=True)
class StandingColumn:
    """A column of a published table; `labels` are those of an enum."""

    name: str
    type: str
    labels: tuple[str, ...]

    def has_type_of(self, column: Arriving) -> bool:
        """Whether an arriving column has this very type."""
        return self.labels == column.labels and (bool(self.labels) or self.type == column.type)

    def takes(self, column: Arriving) -> bool:
        """Whether all values of an arriving column fit in, and sort as they should; an enum may have further labels."""
        if not (self.labels and column.labels):
            return self.has_type_of(column)
        ranks = {label: rank for rank, label in enumerate(self.labels)}
        label_ranks = [ranks.get(label, -1) for label in column.labels]
        return -1 not in label_ranks and label_ranks == sorted(label_ranks)


def differing(
    there: Sequence[StandingColumn], columns: Sequence[Arriving]
) -> list[tuple[StandingColumn | None, Arriving | None]]:
    """The columns that go away, that get another type, and that come."""
    standing, arriving = {one.name: one for one in there}, {one.name: one for one in columns}
    both = [(one, arriving.get(one.name)) for one in there]
    changed: list[tuple[StandingColumn | None, Arriving | None]] = [
        (one, new) for one, new in both if new is None or not one.has_type_of(new)
    ]
    return changed + [(None, new) for new in columns if new.name not in standing]


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
            expected, hint = "the package adbc-driver-postgresql", "Install it: pip install 'tableveil[postgresql]'."
            found = "no driver for PostgreSQL"
            raise InvalidError.of("POSTGRESQL_MISSING", "publish", found, expected, hint) from None
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
        """See `Target`; nobody sees new tables or rows before the one commit."""
        with session.transaction(elsewhere=True):
            edition = read()
            if faults := self.faults(edition.items):
                raise InvalidError.about("TARGET_UNFIT", "PostgreSQL cannot hold the release as it is", faults)
            with self._transaction(session) as cursor:
                self._prepare(cursor)
                self._make_functions(cursor)
                # Quoted: b.c of the schema a must not take the place of c of the schema a.b.
                place = f"{_quoted(edition.schema)}.{_quoted(edition.name)}"
                tables = self._tables(cursor, "place = $1", place)
                gone = set(tables) - {item.name for item in edition.items}
                self._drop(cursor, gone, "RESTRICT")
                for item in edition.items:
                    self._write(session, cursor, edition, item, place, tables.get(item.name))
                self._drop_unused_types(cursor)
                confirm()

    def remove(self, number: int) -> None:
        """See `Target`. Views that others made on its tables go with them."""
        with self._transaction() as cursor:
            self._prepare(cursor)
            self._drop(cursor, self._tables(cursor, "release = $1", number), "CASCADE")
            self._drop_unused_types(cursor)

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
                # A policy for rows that hides some from us is an error, or these would stay.
                cursor.execute("SET LOCAL row_security = off")
                yield cursor
                connection.commit()
        except (dbapi.Error, pa.ArrowException, OSError) as error:
            if session is not None and session.control is not None:
                session.control.raise_if_stopped()
            raise _refused(error) from None

    def _prepare(self, cursor: Any) -> None:
        """Makes the list of what is published; it tells readers when a table was published last."""
        listed = self._named(PUBLISHED)
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {listed} (table_name text PRIMARY KEY, place text NOT NULL, "
            "release bigint NOT NULL, types text NOT NULL, published_at timestamptz NOT NULL DEFAULT now(), "
            "roles text[] NOT NULL DEFAULT '{}')"
        )
        if "roles" not in {one.name for one in self._columns(cursor, PUBLISHED) or ()}:
            cursor.execute(f"ALTER TABLE {listed} ADD COLUMN roles text[] NOT NULL DEFAULT '{{}}'")
        for role in self._roles:
            cursor.execute(f"GRANT SELECT ON {listed} TO {_quoted(role)}")

    def _make_functions(self, cursor: Any) -> None:
        """Makes the functions of analysts, unless these are there; they stay when releases go."""
        mark, version = self._named(answers.MARK), answers.version()
        cursor.execute("SELECT obj_description(to_regtype($1)::oid, 'pg_type')", (mark,))
        if cursor.fetchone() != (version,):
            for statement in answers.statements(_quoted(self._schema)):
                cursor.execute(statement)
            cursor.execute(f"COMMENT ON TYPE {mark} IS {_literal(version)}")

    def _tables(self, cursor: Any, condition: str, parameter: object) -> dict[str, list[str]]:
        """The tables that are listed with a condition, each with the roles that were given SELECT on it."""
        cursor.execute(f"SELECT table_name, roles FROM {self._named(PUBLISHED)} WHERE {condition}", (parameter,))
        return dict(cursor.fetchall())

    def _write(
        self, session: Session, cursor: Any, edition: Edition, item: Item, place: str, granted: list[str] | None
    ) -> None:
        """Fills the table of an item with its rows; `granted` are the roles that read it, None if there is none yet.

        A table stays the one that readers made their views, indexes and grants on: rows take the place of rows.
        """
        columns = [made for one, type_ in item.columns if (made := arriving(one, type_)) is not None]
        _check_finite(session, edition, item, columns)
        target, types = self._named(item.name), f"tableveil_{secrets.token_hex(8)}_"
        ranges = range_columns(item)
        there = None if granted is None else self._columns(cursor, item.name)
        if there is None:
            self._check_free(cursor, item.name)
            defined = [f"{_quoted(one.name)} {self._type(cursor, one, types)}" for one in columns]
            defined += [one.definition for one in ranges]
            cursor.execute(f"CREATE TABLE {target} ({', '.join(defined)})")
        else:
            # Others read the old rows until the commit, which TRUNCATE would not let them.
            cursor.execute(f"DELETE FROM {target}")
            cursor.execute(f"SELECT 1 FROM {target} LIMIT 1")
            if cursor.fetchone() is not None:
                actual, hint = "rows that a trigger or rule of others keeps", "Drop the trigger or rule."
                raise ConflictError.of("TARGET_IN_USE", shortened(item.name), actual, "rows that are replaced", hint)
            cursor.execute(RANGES, (self._schema, item.name))
            generated = dict(cursor.fetchall())
            for name in (gone := stale(generated, ranges)):
                cursor.execute(f"ALTER TABLE {target} DROP COLUMN {_quoted(name)}")
            for change in self._changes(cursor, item.name, there, columns, types):
                cursor.execute(f"ALTER TABLE {target} {change}")
            for one in ranges:
                if one.name not in generated or one.name in gone:
                    cursor.execute(f"ALTER TABLE {target} ADD COLUMN {one.definition}")
        sent = exp.select(*(alias(one.sent, one.name) for one in columns))
        rows = sent.from_(edition.rows(session, item).subquery("released"))
        with session.batches(rows, _ROWS_PER_BATCH) as reader:
            cursor.adbc_ingest(item.name, reader, mode="append", db_schema_name=self._schema)
        self._describe(cursor, item)
        self._grant(cursor, target, granted or [])
        cursor.execute(
            f"INSERT INTO {self._named(PUBLISHED)} AS listed (table_name, place, release, types, roles) "
            f"VALUES ($1, $2, $3, $4, ARRAY[{', '.join(map(_literal, self._roles))}]::text[]) ON CONFLICT (table_name) "
            "DO UPDATE SET release = excluded.release, published_at = now(), roles = excluded.roles",
            (item.name, place, edition.number, types),
        )

    def _columns(self, cursor: Any, name: str) -> list[StandingColumn] | None:
        """The columns of a table of the schema, in their order; None if there is no such table."""
        cursor.execute(COLUMNS, (self._schema, name))
        rows = cursor.fetchall()
        return (
            [StandingColumn(column, type_, tuple(labels)) for column, type_, labels in rows if column] if rows else None
        )

    def _changes(
        self, cursor: Any, name: str, there: Sequence[StandingColumn], columns: Sequence[Arriving], types: str
    ) -> Iterator[str]:
        """The changes that let a table, which is empty, take these columns.

        Raises:
            ConflictError: views of others read columns that would go away, or would have another type.
        """
        differ = differing(there, columns)
        if any(standing for standing, _ in differ):
            cursor.execute(READERS, (self._schema, name))
            readers = defaultdict(list)
            for column, view in cursor.fetchall():
                readers[column].append(view)
            differ = [
                (standing, new)
                for standing, new in differ
                if not (standing and new and standing.name in readers and standing.takes(new))
            ]
            faults = [
                Fault(
                    shortened(name),
                    f"a column {shortened(standing.name)}, {_change(standing, new)}, "
                    f"read by {', '.join(map(shortened, readers[standing.name]))}",
                    "columns that others read, of the same type",
                    "Drop the views, and make them again on what is published now.",
                )
                for standing, new in differ
                if standing and standing.name in readers
            ]
            if faults:
                raise ConflictError.about("TARGET_IN_USE", "views of others read columns that change", faults)
        for standing, new in differ:
            if new is None:
                assert standing is not None, "one of both is there"
                yield f"DROP COLUMN {_quoted(standing.name)}"
                continue
            type_ = self._type(cursor, new, types)
            if standing is None:
                yield f"ADD COLUMN {_quoted(new.name)} {type_}"
            else:
                yield f"ALTER COLUMN {_quoted(new.name)} TYPE {type_} USING NULL"

    def _type(self, cursor: Any, column: Arriving, types: str) -> str:
        """The type of a column; one with labels is made, and named after `types`."""
        if not column.labels:
            return column.type
        made = self._named(f"{types}{secrets.token_hex(4)}")
        cursor.execute(f"CREATE TYPE {made} AS ENUM ({', '.join(map(_literal, column.labels))})")
        return made

    def _describe(self, cursor: Any, item: Item) -> None:
        """Puts the comments of an item on its table, in place of those that are there."""
        target = self._named(item.name)
        cursor.execute(f"COMMENT ON TABLE {target} IS {_literal(item.comment) if item.comment else 'NULL'}")
        for name, _ in item.columns:
            comment = item.column_comments.get(name)
            cursor.execute(f"COMMENT ON COLUMN {target}.{_quoted(name)} IS {_literal(comment) if comment else 'NULL'}")
        for one in range_columns(item):
            cursor.execute(f"COMMENT ON COLUMN {target}.{_quoted(one.name)} IS {_literal(one.comment)}")

    def _grant(self, cursor: Any, target: str, granted: Sequence[str]) -> None:
        """Gives the roles SELECT, and takes it from those that the operator no longer names; grants of others stay."""
        for role in self._roles:
            cursor.execute(f"GRANT SELECT ON {target} TO {_quoted(role)}")
        for role in set(granted) - set(self._roles):
            cursor.execute("SELECT 1 FROM pg_roles WHERE rolname::text = $1", (role,))
            if cursor.fetchone() is not None:
                cursor.execute(f"REVOKE SELECT ON {target} FROM {_quoted(role)}")

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

    def _drop(self, cursor: Any, names: Iterable[str], dependants: str) -> None:
        """Drops published tables.

        Raises:
            ConflictError: views of others read them, if `dependants` is RESTRICT.
        """
        for name in sorted(names):
            if dependants == "RESTRICT":
                cursor.execute(READERS, (self._schema, name))
                if readers := sorted({view for _, view in cursor.fetchall()}):
                    actual = f"a table that goes away, read by {', '.join(map(shortened, readers))}"
                    hint = "Drop the views."
                    raise ConflictError.of("TARGET_IN_USE", shortened(name), actual, "tables that stay", hint)
            cursor.execute(f"DROP TABLE IF EXISTS {self._named(name)} {dependants}")
            cursor.execute(f"DELETE FROM {self._named(PUBLISHED)} WHERE table_name = $1", (name,))

    def _drop_unused_types(self, cursor: Any) -> None:
        """Drops the enums that no column has any more; tables that others made of published rows keep theirs."""
        cursor.execute(UNUSED_TYPES, (self._schema,))
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TYPE {self._named(name)}")

    def _named(self, name: str) -> str:
        return f"{_quoted(self._schema)}.{_quoted(name)}"


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


def _change(standing: StandingColumn, new: Arriving | None) -> str:
    if new is None:
        return "which goes away"
    if new.labels and standing.labels:
        return "whose enum gets other labels"
    return f"of type {standing.type}, which becomes {new.type or 'an enum'}"


def _is_too_long(name: str) -> bool:
    return len(name.encode()) > MOST_BYTES


def _check_finite(session: Session, edition: Edition, item: Item, columns: Sequence[Arriving]) -> None:
    """Refuses infinite dates and times, which the driver turns into finite ones."""
    checked = [one.name for one in columns if one.may_be_infinite]
    if not checked:
        return
    infinite = [exp.Not(this=is_finite(column(name))) for name in checked]
    has_infinite = exp.select(*(exp.LogicalOr(this=each) for each in infinite))
    row = session.row(has_infinite.from_(table(item.name, edition.schema, session.catalog)))
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
    state_text = f"SQLSTATE {state}" if state else "no connection, or one that ended"
    if state == "53100":
        return BusyError("DISK_FULL", "the disk of PostgreSQL is full")
    if state in ("2BP01", "0A000", "23503"):
        actual, hint = "a table or column that changes and that others depend on", "PostgreSQL's log names them."
        return ConflictError.of("TARGET_IN_USE", "target", actual, "none", hint)
    if state[:2] in ("", "08", "28", "40", "53", "55", "57"):
        return BusyError("TARGET_UNREACHABLE", f"PostgreSQL does not take it now: {state_text}; its log may say more")
    if state[:2] in ("22", "54"):
        return InvalidError("VALUES_REFUSED", f"PostgreSQL cannot hold some of the values: {state_text}")
    return InternalError("TARGET_REFUSED", f"PostgreSQL refuses it: {state_text}; look at rights, roles and the schema")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: str) -> str:
    """A text in the standard's quotes, which PostgreSQL reads so unless it was told otherwise."""
    return "'" + value.replace("'", "''") + "'"
