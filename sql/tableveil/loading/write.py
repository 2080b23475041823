"""Writes rows into a table, new or existing, whose types they must fit without loss; and takes rows out again."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, create_table, drop, sql, table
from tableveil.errors import (
    ConflictError,
    DeniedError,
    Fault,
    InvalidError,
    NearestNames,
    NotFoundError,
    nearest,
    shortened,
)
from tableveil.policy import TableReference
from tableveil.source.tables import count_changed, described_table, listed, views_reading, without_values
from tableveil.state.releases import seen_among

_numbers = itertools.count()


Look = Callable[[exp.Table], object]
"""Is given the table that has the rows as they came: they cannot be read twice."""


def create(session: Session, target: TableReference, query: exp.Select, look: Look | None = None) -> int:
    """Creates the table with the query's rows, and returns their number; call it in a transaction."""
    session.execute(create_table(_named(target), query))
    if look is not None:
        look(_named(target))
    rows: int = session.value(sql("SELECT count(*) FROM $rows", rows=_named(target)))
    return rows


def append(
    session: Session,
    target: TableReference,
    query: exp.Select,
    columns: Sequence[tuple[str, str]],
    look: Look | None = None,
) -> int:
    """Appends the query's rows by the names of their columns, and returns their number; call it in a transaction.

    Raises:
        InvalidError: the columns differ, or values do not fit the table's types.
        ConflictError: the rows break a constraint of the table.
    """
    into = described_table(session, target)
    _check_columns([name for name, _ in columns], [name for name, _ in into])
    # The query is read once, before anything is compared: the rows may come from a stream.
    name = f"tableveil_staged_{next(_numbers)}"
    rows = session.stage(name, query)
    staged = table(name, "", "temp")
    if look is not None:
        look(staged)
    types = {name.casefold(): type_ for name, type_ in into}
    own = {name.casefold(): name for name, _ in into}
    _check_fit(session, staged, [(name, type_, types[name.casefold()]) for name, type_ in columns])
    values = [cast(column(name), types[name.casefold()]) for name, _ in columns]
    names = [exp.to_identifier(own[name.casefold()], quoted=True) for name, _ in columns]
    into_columns = exp.Schema(this=_named(target), expressions=names)
    session.execute(exp.Insert(this=into_columns, expression=exp.select(*values).from_(staged)))
    session.execute(drop("TABLE", staged))
    return rows


def _check_columns(names: Sequence[str], there: Sequence[str]) -> None:
    table_columns, given = {name.casefold() for name in there}, {name.casefold() for name in names}
    hint = NearestNames(there)
    faults = [
        Fault("columns", shortened(name), "a column of the table", hint(name))
        for name in names
        if name.casefold() not in table_columns
    ]
    faults += [
        Fault("columns", f"no {shortened(name)}", "every column of the table")
        for name in there
        if name.casefold() not in given
    ]
    if faults:
        way = "If the extract changed, give the table its columns: load all rows by --replace --columns-changed."
        faults[0] = replace(faults[0], hint=f"{faults[0].hint} {way}".strip())
        raise InvalidError.about("COLUMNS_DIFFER", "the columns are not the table's", faults)


def _check_fit(session: Session, staged: exp.Table, columns: Sequence[tuple[str, str, str]]) -> None:
    """Refuses values that would come back changed from the table's type."""
    changed = [(name, from_, to) for name, from_, to in columns if from_ != to]
    if not changed:
        return
    counts = [alias(count_changed(name, from_, to), f"f{i}") for i, (name, from_, to) in enumerate(changed)]
    figures = session.row(exp.select(*counts).from_(staged))
    faults = [
        Fault(
            shortened(name),
            f"{misfits:,} of type {without_values(from_)} that {without_values(to)} does not hold as they are",
            f"values of type {without_values(to)}",
        )
        for (name, from_, to), misfits in zip(changed, figures, strict=True)
        if misfits
    ]
    if faults:
        raise InvalidError.about("VALUES_DO_NOT_FIT", "some values do not fit the table", faults)


def check_place(session: Session, target: TableReference, existing: bool) -> None:
    """Raises an error if the table is missing but must exist, or exists but must not.

    Raises:
        InvalidError: there is no such schema, or no name.
        NotFoundError: there is no such table.
        ConflictError: something of that name exists already, or the table belongs to a release.
    """
    if not existing and not session.visibility.owned.has_table(target.schema, target.table):
        message = f"only a steward of the schema {shortened(target.schema)} may make this table"
        raise DeniedError("PERMISSION_DENIED", message)
    tables = listed(session, target.schema)
    kinds = {one.name.casefold(): one.kind for one in tables}
    kind = kinds.get(target.table.casefold())
    if not existing and kind is not None:
        raise ConflictError.of(
            "TARGET_EXISTS",
            "table.table",
            f"a {kind} {shortened(target.table)} in schema {shortened(target.schema)}",
            "nothing of that name",
            "Choose another name, or append to it, or replace its rows." if kind == "table" else "Choose another name.",
        )
    if existing and kind != "table":
        what = f"the view {shortened(target.table)}" if kind else shortened(target.table)
        names = [one.name for one in tables if one.kind == "table"]
        hint = nearest(target.table, names)
        raise NotFoundError.of(
            "TABLE_NOT_FOUND", "table.table", what, f"a table of schema {shortened(target.schema)}", hint
        )
    if existing:
        _check_not_released(session, target)


def found_place(session: Session, target: TableReference) -> TableReference | None:
    """The table, or view, of that name in any case, as the database spells it."""
    for listed_table in listed(session, target.schema):
        if listed_table.name.casefold() == target.table.casefold():
            return TableReference(target.catalog, listed_table.schema, listed_table.name)
    return None


def _check_not_released(session: Session, target: TableReference) -> None:
    releases = session.ledger.rows(
        "SELECT r.number FROM tableveil.release_objects o JOIN tableveil.releases r ON o.release = r.number "
        "ANTI JOIN tableveil.withdrawals w ON w.release = r.number WHERE lower(r.target_schema) = lower(?) "
        "AND lower(o.name) = lower(?) ORDER BY r.number DESC",
        [target.schema, target.table],
    )
    if releases:
        ((number,), *_) = releases
        by = f"releases/{number}" if seen_among(session.ledger, [number]) else "a release"
        raise ConflictError.of(
            "TABLE_RELEASED",
            "table.table",
            f"{shortened(target.table)}, which {by} wrote",
            "a table that is no release's",
            "A release must stay as it was verified.",
        )


def _named(target: TableReference) -> exp.Table:
    return table(target.table, target.schema, target.catalog)


def empty(session: Session, target: TableReference, where: exp.Expr | None = None) -> int:
    """Removes the rows that meet the condition, by default all, and returns their number; call it in a transaction."""
    rows = exp.Delete(this=table(target.table, target.schema, target.catalog))
    removed: int = session.value(rows if where is None else rows.where(where))
    return removed


def drop_table(session: Session, target: TableReference) -> int:
    """Removes a table, and returns the number of its rows; call it in a transaction.

    Raises:
        ConflictError: views read it.
    """
    faults = [
        Fault("table", f"{shown}, which reads the table", "no view that needs it", "Drop the view first.")
        for shown in views_reading(session, {(target.schema.casefold(), target.table.casefold())})
    ]
    if faults:
        raise ConflictError.about("TABLE_HAS_DEPENDANTS", "the table cannot be dropped while views read it", faults)
    removed = empty(session, target)
    session.execute(drop("TABLE", table(target.table, target.schema, target.catalog)))
    return removed
