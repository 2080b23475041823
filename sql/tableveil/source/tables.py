"""Tables of the database: whether a name exists, its columns, faults about what is missing, and views that read it."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from tableveil.backend import (
    Listed,
    Session,
    WarehouseSession,
    alias,
    catalog,
    column,
    drop,
    expression,
    table,
    try_cast,
)
from tableveil.errors import Fault, InvalidError, NearestNames, NotFoundError, nearest, shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import TableReference
from tableveil.source.model import Column


@dataclass(frozen=True, slots=True)
class MissingTable(Fault):
    """A reference to a table that does not exist, or that cannot be read."""


@dataclass(frozen=True, slots=True)
class MissingColumn(Fault):
    """A name that no column of the table has."""


def missing_column(field: str, name: str, hint: NearestNames) -> MissingColumn:
    """The fault of a name that no column of the table has; `hint` knows all columns."""
    return MissingColumn(field, shortened(name), "a column of the table", hint(name))


def invalid(code: str, summary: str, faults: Sequence[Fault]) -> InvalidError | NotFoundError:
    """The error of a call with faults; if all of them are missing tables or columns, it has their code."""
    if all(isinstance(fault, MissingTable) for fault in faults):
        return NotFoundError.about("TABLE_NOT_FOUND", "there are no such tables", faults)
    if all(isinstance(fault, MissingColumn) for fault in faults):
        return NotFoundError.about("COLUMN_NOT_FOUND", "there are no such columns", faults)
    return InvalidError.about(code, summary, faults)


STATE_SCHEMA = "tableveil"

_ENUM = re.compile(r"ENUM\(.*\)", re.DOTALL)

_KINDS = (
    (re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER)"), ValueKind.INTEGER),
    (re.compile(r"DECIMAL\(.*\)"), ValueKind.DECIMAL),
    (re.compile(r"FLOAT|DOUBLE"), ValueKind.FLOAT),
    (re.compile(r"DATE"), ValueKind.DATE),
    (re.compile(r"TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE"), ValueKind.TIMESTAMP),
    (re.compile(r"VARCHAR|JSON|ENUM\(.*\)", re.DOTALL), ValueKind.TEXT),
    (re.compile(r"TIME|TIME_NS"), ValueKind.TIME),
    (re.compile(r"BOOLEAN"), ValueKind.BOOLEAN),
    (re.compile(r"TIME WITH TIME ZONE|UUID|BLOB|BIT"), ValueKind.OTHER),
)


_PARTS = ("catalog", "schema", "table")


def find_schema(
    session: WarehouseSession, wanted: TableReference, field: str
) -> tuple[TableReference | None, list[Fault]]:
    """The full name of a table that may or may not be in its schema, or the faults of the reference."""
    named, faults = _named_in_full(session, wanted, field)
    if named is None:
        return None, faults
    schemas = [name for name in session.schemas() if session.visibility.owned.reaches(session.scope(name))]
    if named.schema not in schemas:
        hint = nearest(named.schema, schemas)
        if named.schema == named.catalog:
            hint = "This is the database itself: name the schema, and the table in it."
        hint = hint or _in_parts(named.schema, wanted.table)
        return None, [MissingTable(f"{field}.schema", shortened(named.schema), "a schema of the database", hint)]
    return named, []


def _named_in_full(
    session: WarehouseSession, wanted: TableReference, field: str
) -> tuple[TableReference | None, list[Fault]]:
    own, schema = session.catalog, wanted.schema or "main"
    if wanted.catalog not in ("", own):
        # Such a name may be of a schema or table with a dot: clients know no names of warehouses.
        schemas = [name for name in session.schemas() if session.visibility.owned.reaches(session.scope(name))]
        if f"{wanted.catalog}.{schema}" in schemas:
            return TableReference(own, f"{wanted.catalog}.{schema}", wanted.table), []
        if wanted.catalog in schemas and wanted.catalog.casefold() != STATE_SCHEMA:
            return TableReference(own, wanted.catalog, f"{schema}.{wanted.table}"), []
        expected = f"a warehouse of the server, or its database {shortened(own)}"
        return None, [MissingTable(f"{field}.catalog", shortened(wanted.catalog), expected)]
    if schema.casefold() == STATE_SCHEMA:
        return None, [
            MissingTable(
                f"{field}.schema", shortened(schema), "a schema of yours; this one holds Tableveil's own state"
            )
        ]
    return TableReference(own, schema, wanted.table), []


def find_table(
    session: WarehouseSession, wanted: TableReference, field: str
) -> tuple[TableReference | None, list[Fault]]:
    """The table's full name, or the faults of the reference, which the policy has at the path `field`."""
    named, faults = _named_in_full(session, wanted, field)
    if named is None:
        return None, faults
    kinds = {listed_table.name: listed_table.kind for listed_table in listed(session, named.schema)}
    if kinds.get(named.table) == "table" or (named.table in kinds and session.traits.reads_views):
        return named, []
    if not kinds:
        _, faults = find_schema(session, wanted, field)
        if faults:
            return None, faults
    if named.table in kinds:
        hint = "A view may change while it is read: create a table from it, and name that."
        return None, [MissingTable(f"{field}.table", f"the view {shortened(wanted.table)}", "a table", hint)]
    tables = [name for name, kind in kinds.items() if kind == "table"]
    expected = f"a table of schema {shortened(named.schema)}"
    hint = nearest(wanted.table, tables) or _in_parts(wanted.table)
    return None, [MissingTable(f"{field}.table", shortened(wanted.table), expected, hint)]


def _in_parts(*names: str) -> str:
    """The fields of a full name that was written into one of them."""
    parts = ".".join(names).split(".")
    if not 2 <= len(parts) <= len(_PARTS) or (len(names) > 1 and "." not in names[0]):
        return ""
    meant = ", ".join(f"{field} {shortened(part)}" for field, part in zip(_PARTS[-len(parts) :], parts, strict=True))
    return f"It is one name, with its dots. If it is several, each has its field: {meant}; quote each by itself."


def listed(session: WarehouseSession, schema: str | None = None) -> list[Listed]:
    """The tables and views of a schema, or of all, that the session sees."""
    owned = session.visibility.owned
    tables = session.listed(schema)
    return [one for one in tables if owned.has_table(session.scope(one.schema), one.name)]


def owned_schemas(session: WarehouseSession) -> list[str]:
    """The schemas that the session sees whole: new objects may be made in them."""
    return [name for name in session.schemas() if session.visibility.owned.has_schema(session.scope(name))]


def kind_of(type_: str) -> ValueKind | None:
    """The kind of a type's values; None if the type cannot be released."""
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(type_)), None)


def without_values(type_: str) -> str:
    """The type in a form that may be shown: without the values of an ENUM."""
    return _ENUM.sub("ENUM", type_)


def shown_type(type_: str) -> str:
    """The type as an error shows it."""
    return shortened(without_values(type_))


def described_table(session: WarehouseSession, reference: TableReference) -> list[tuple[str, str]]:
    """The names and types of all columns of a table, as the database has them."""
    return session.described(exp.select("*").from_(_full(reference)))


def columns_of(session: WarehouseSession, reference: TableReference) -> list[Column | tuple[str, str]]:
    """The table's columns; those of a type that cannot be released as (name, type)."""
    described = described_table(session, reference)
    collations = _collations(session, reference, [name for name, type_ in described if type_ == "VARCHAR"])
    columns: list[Column | tuple[str, str]] = []
    for name, type_ in described:
        if name in collations:
            # A collation makes values equal that look different: a class would have more records than look alike.
            columns.append((name, f"{type_} COLLATE {collations[name]}"))
            continue
        kind = kind_of(type_)
        columns.append((name, type_) if kind is None else Column(name, type_, kind))
    return columns


def count_changed(name: str, from_: str, to: str) -> exp.Expr:
    """How many values of a column do not come back from another type: comparing two types could itself fail."""
    back = try_cast(try_cast(column(name), to), from_)
    return expression("count_if($back IS DISTINCT FROM $value)", back=back, value=column(name))


def _collations(session: WarehouseSession, reference: TableReference, names: list[str]) -> dict[str, str]:
    """The collations of the text columns that have one; only the text of a table's definition shows them."""
    if not names or session.traits.names_collations:
        return {}
    session = session.embedded
    if "COLLATE" not in catalog.table_definition(session, reference).upper():
        return {}
    # A table of our own, so that the names in its definition are known.
    columns = [alias(column(name), f"c{i}") for i, name in enumerate(names)]
    query = exp.select(*columns).from_(_full(reference)).limit(0)
    session.stage("collations", query)
    definition = catalog.table_definition(session, TableReference("temp", "main", "collations"))
    session.execute(drop("TABLE", table("collations")))
    return {names[int(i)]: collation for i, collation in re.findall(r"\bc(\d+) VARCHAR COLLATE ([\w.]+)", definition)}


def _full(reference: TableReference) -> exp.Table:
    return table(reference.table, reference.schema, reference.catalog)


def views_reading(
    session: Session, dropped: Collection[tuple[str, str]], read: Collection[tuple[str, str]] = ()
) -> Iterator[str]:
    """Names views that read what is dropped or `read`, and are not dropped; schemas and names are in lower case."""
    for schema, name, text in catalog.views(session):
        is_dropped = (schema.casefold(), name.casefold()) in dropped
        if not is_dropped and not {*dropped, *read}.isdisjoint(_tables(schema, text)):
            seen = session.visibility.owned.has_table(schema, name)
            yield f"view {shortened(name)} in schema {shortened(schema)}" if seen else "a view that you may not see"


def _tables(schema: str, view: str) -> Iterator[tuple[str, str]]:
    """Schemas and names that a view in that schema reads, in lower case; a name alone may be found in several."""
    for node in sqlglot.parse_one(view, dialect="duckdb").find_all(exp.Table):
        name = node.name.casefold()
        yield from [(node.db.casefold(), name)] if node.db else [(schema.casefold(), name), ("main", name)]
