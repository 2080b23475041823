"""Resolves a policy's source table and checks the policy's columns and roles against it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from tableveil.backend import Session, alias, column, create_table, drop, table
from tableveil.errors import Fault, nearest, shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import AttributePolicy, Policy, Role, TableReference

STATE_SCHEMA = "tableveil"

_KINDS = (
    (re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER)"), ValueKind.INTEGER),
    (re.compile(r"DECIMAL\(.*\)"), ValueKind.DECIMAL),
    (re.compile(r"FLOAT|DOUBLE"), ValueKind.FLOAT),
    (re.compile(r"DATE"), ValueKind.DATE),
    (re.compile(r"TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE"), ValueKind.TIMESTAMP),
    (re.compile(r"VARCHAR|JSON|ENUM\(.*\)", re.DOTALL), ValueKind.TEXT),
    (re.compile(r"BOOLEAN|TIME|TIME_NS|TIME WITH TIME ZONE|UUID|BLOB|BIT"), ValueKind.OTHER),
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the source: its type as DuckDB spells it, and the type it has in a release.

    An ENUM's type lists values that the release may not hold, so that it is released as VARCHAR.
    """

    name: str
    type: str
    kind: ValueKind

    @property
    def released_type(self) -> str:
        """The column's type where it is released as it is."""
        return "VARCHAR" if self.kind is ValueKind.TEXT else self.type


@dataclass(frozen=True, slots=True)
class Source:
    """The source table, by its full name, and its columns in table order."""

    reference: TableReference
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)

    def table(self, alias: str = "") -> exp.Table:
        """The table in a FROM clause."""
        return table(self.reference.table, self.reference.schema, self.reference.catalog, alias)


def resolve_source(session: Session, policy: Policy) -> tuple[Source | None, Policy, list[Fault]]:
    """The source, the policy with a role for every column of it, and all faults found.

    The source is None if the table does not exist.
    """
    reference, faults = _resolve_table(session, policy.source)
    if reference is None:
        return None, policy, faults
    columns = _columns(session, reference)
    source = Source(reference, tuple(found for found in columns if isinstance(found, Column)))
    names = [found.name if isinstance(found, Column) else found[0] for found in columns]
    for found in columns:
        if not isinstance(found, Column):
            name, type_ = found
            role = next((a.role for a in policy.attributes if a.column == name), policy.default_role)
            if role is not Role.IDENTIFYING:
                faults.append(
                    Fault(
                        f"source.{shortened(name)}",
                        f"type {shortened(type_)}",
                        "a scalar type other than INTERVAL, and text without a collation",
                        "Give it the role IDENTIFYING, or anonymize a table in which it is cast to scalar columns.",
                    )
                )
    faults += _unknown_columns(policy, names)
    attributes, missing = _with_default_role(policy, names)
    return source, replace(policy, attributes=attributes), [*faults, *missing]


def _resolve_table(session: Session, wanted: TableReference) -> tuple[TableReference | None, list[Fault]]:
    own: str = session.value("SELECT current_database()")
    if wanted.catalog not in ("", own):
        return None, [Fault("source.catalog", shortened(wanted.catalog), f"the server's database {shortened(own)}")]
    schema = wanted.schema or "main"
    if schema.casefold() == STATE_SCHEMA:
        return None, [
            Fault("source.schema", shortened(schema), "a schema of yours; this one holds Tableveil's own state")
        ]
    schemas = [
        name
        for (name,) in session.rows(
            "SELECT schema_name FROM duckdb_schemas() WHERE database_name = ? AND NOT internal OR schema_name = 'main'",
            [own],
        )
    ]
    if schema not in schemas:
        return None, [Fault("source.schema", shortened(schema), "a schema of the database", nearest(schema, schemas))]
    tables = [
        name
        for (name,) in session.rows(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND schema_name = ?", [own, schema]
        )
    ]
    if wanted.table in tables:
        return TableReference(own, schema, wanted.table), []
    views = session.value(
        "SELECT count(*) FROM duckdb_views() WHERE database_name = ? AND schema_name = ? AND view_name = ?",
        [own, schema, wanted.table],
    )
    if views:
        hint = "A view may change while it is read: create a table from it, and name that."
        return None, [Fault("source.table", f"the view {shortened(wanted.table)}", "a table", hint)]
    expected = f"a table of schema {shortened(schema)}"
    return None, [Fault("source.table", shortened(wanted.table), expected, nearest(wanted.table, tables))]


def _columns(session: Session, reference: TableReference) -> list[Column | tuple[str, str]]:
    """The table's columns; those of a type that cannot be released as (name, type)."""
    rows = session.rows(
        "SELECT column_name, data_type FROM duckdb_columns() "
        "WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY column_index",
        [reference.catalog, reference.schema, reference.table],
    )
    collations = _collations(session, reference, [name for name, type_ in rows if type_ == "VARCHAR"])
    columns: list[Column | tuple[str, str]] = []
    for name, type_ in rows:
        if name in collations:
            # It makes values equal that look different: a class would have more records than look alike.
            columns.append((name, f"{type_} COLLATE {collations[name]}"))
            continue
        kind = next((kind for pattern, kind in _KINDS if pattern.fullmatch(type_)), None)
        columns.append((name, type_) if kind is None else Column(name, type_, kind))
    return columns


def _collations(session: Session, reference: TableReference, names: list[str]) -> dict[str, str]:
    """The collations of the text columns that have one; only the text of a table's definition shows them."""
    if not names:
        return {}
    # A table of our own, so that the names in its definition are known.
    columns = [alias(column(name), f"c{i}") for i, name in enumerate(names)]
    query = exp.select(*columns).from_(table(reference.table, reference.schema, reference.catalog)).limit(0)
    session.execute(create_table(table("collations"), query, temporary=True))
    definition = session.value("SELECT sql FROM duckdb_tables() WHERE table_name = 'collations' AND temporary")
    session.execute(drop("TABLE", table("collations")))
    return {names[int(i)]: collation for i, collation in re.findall(r"\bc(\d+) VARCHAR COLLATE ([\w.]+)", definition)}


def _unknown_columns(policy: Policy, names: list[str]) -> list[Fault]:
    expected = "a column of the source"
    faults = [
        Fault(f"attributes[{i}].column", shortened(attribute.column), expected, nearest(attribute.column, names))
        for i, attribute in enumerate(policy.attributes)
        if attribute.column not in names
    ]
    if policy.person_column is not None and policy.person_column not in names:
        hint = nearest(policy.person_column, names)
        faults.append(Fault("person_column", shortened(policy.person_column), expected, hint))
    # The database does not tell names apart that differ only in case.
    if policy.marker_column and policy.marker_column.casefold() in map(str.casefold, names):
        found = f"{shortened(policy.marker_column)}, a column of the source"
        faults.append(Fault("suppressed_records.marker_column", found, "a name no column has"))
    return faults


def _with_default_role(policy: Policy, names: Iterable[str]) -> tuple[tuple[AttributePolicy, ...], list[Fault]]:
    listed = {attribute.column for attribute in policy.attributes}
    missing = [name for name in names if name not in listed]
    if policy.default_role is None:
        hint = "List the column with its role, or state a default_role."
        return policy.attributes, [
            Fault(f"source.{shortened(name)}", "no role", "a role for every column", hint) for name in missing
        ]
    added = tuple(AttributePolicy(name, policy.default_role, listed=False) for name in missing)
    return (*policy.attributes, *added), []
