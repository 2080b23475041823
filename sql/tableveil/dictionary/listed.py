"""Hierarchies that are written out somewhere: in the policy, in a table of the database, in the server's own store."""

from __future__ import annotations

from sqlglot import exp

from tableveil.backend import Session, cast, column, table
from tableveil.errors import Fault, NotFoundError, nearest, shortened
from tableveil.hierarchy import InlineLevels, ListedHierarchy, StoredLevels, TableLevels, check_levels
from tableveil.state import hierarchies


def listed_levels(
    session: Session, definition: ListedHierarchy, field: str, name: str, store: bool = True
) -> tuple[InlineLevels | None, str, list[Fault]]:
    """The written-out rows, how the evidence calls the hierarchy (`name@version`), and all faults found.

    Rows that are not in the store yet are stored under `name`, so that a release can name what it used; not if `store`
    is False, as for a mere check.
    """
    if isinstance(definition, StoredLevels):
        try:
            stored = hierarchies.find(session, definition.name, definition.version)
        except NotFoundError as error:
            return (
                None,
                "",
                [
                    Fault(f"{field}.stored.{fault.field}", fault.found, fault.expected, fault.hint)
                    for fault in error.faults
                ],
            )
        return InlineLevels(hierarchies.rows(session, stored)), stored.reference, []
    if isinstance(definition, TableLevels):
        rows, faults = _table_rows(session, definition, f"{field}.table")
        field = f"{field}.table"
    else:
        rows, faults, field = definition.rows, [], f"{field}.inline"
    faults = faults or check_levels(rows, field)
    if faults:
        return None, "", faults
    reference = hierarchies.create(session, name, rows).reference if store else name
    return InlineLevels(rows), reference, []


def _table_rows(
    session: Session, definition: TableLevels, field: str
) -> tuple[tuple[tuple[str, ...], ...], list[Fault]]:
    own: str = session.value("SELECT current_database()")
    schema = definition.schema or "main"
    if definition.catalog not in ("", own):
        return (), [
            Fault(f"{field}.table.catalog", shortened(definition.catalog), f"the server's database {shortened(own)}")
        ]
    if schema.casefold() == hierarchies.SCHEMA:
        expected = "a schema of yours; this one holds Tableveil's own state"
        return (), [Fault(f"{field}.table.schema", shortened(schema), expected)]
    available = [
        name
        for (name,) in session.rows(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND schema_name = ?", [own, schema]
        )
    ]
    if definition.table not in available:
        expected = f"a table of schema {shortened(schema)}"
        return (), [
            Fault(f"{field}.table.table", shortened(definition.table), expected, nearest(definition.table, available))
        ]
    names = [
        name
        for (name,) in session.rows(
            "SELECT column_name FROM duckdb_columns() WHERE database_name = ? AND schema_name = ? AND table_name = ? "
            "ORDER BY column_index",
            [own, schema, definition.table],
        )
    ]
    unknown = [
        Fault(f"{field}.columns[{i}]", shortened(name), "a column of that table", nearest(name, names))
        for i, name in enumerate(definition.columns)
        if name not in names
    ]
    if unknown:
        return (), unknown
    wanted = definition.columns or tuple(names)
    texts = [cast(column(name), "VARCHAR") for name in wanted]
    # Ordered, so that the same table gives the same stored version.
    query = exp.select(*texts).from_(table(definition.table, schema, own)).order_by(*(t.copy() for t in texts))
    return tuple(session.rows(query)), []
