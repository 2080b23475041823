"""Hierarchies as rows: written out in the policy, from a table or the server's own store, or by Safe Harbor."""

from sqlglot import exp

from tableveil import hierarchy
from tableveil.backend import WarehouseSession, cast, column, table
from tableveil.errors import Fault, NearestNames, NotFoundError, nearest, shortened
from tableveil.policy import TableReference
from tableveil.source import Column, columns_of, find_table
from tableveil.source.tables import shown_type
from tableveil.state import hierarchies

Unstored = hierarchy.InlineLevels | hierarchy.TableLevels | hierarchy.SafeHarborHierarchy
"""Rows that are not in the store, or may have changed since they were."""


def listed_levels(
    session: WarehouseSession, definition: hierarchy.ListedHierarchy, field: str, name: str
) -> tuple[hierarchy.InlineLevels | None, str, list[Fault]]:
    """The written-out rows, the hierarchy's name, and all faults found.

    Stored rows have their name in the evidence (`name@version`), others the given one until they are stored.
    """
    field = f"{field}.{hierarchy.field_of(definition)}"
    if isinstance(definition, hierarchy.StoredLevels):
        try:
            stored = hierarchies.find(session.ledger, definition.name, definition.version)
        except NotFoundError as error:
            return (
                None,
                "",
                [Fault(f"{field}.{fault.field}", fault.found, fault.expected, fault.hint) for fault in error.faults],
            )
        return hierarchy.InlineLevels(hierarchies.rows(session.ledger, stored)), stored.reference, []
    levels, faults = _written_out(session, definition, field)
    if levels is not None:
        faults = hierarchy.check_levels(levels.rows, field)
    if levels is None or faults:
        return None, "", faults
    return levels, name, []


def new_hierarchy(
    session: WarehouseSession, definition: Unstored, levels: hierarchy.InlineLevels, name: str, schema: str
) -> hierarchies.NewHierarchy:
    """The rows to be stored under a name, by which a release names the hierarchy that it used.

    Rows of a table belong to the schema of that table, others to the one that is given.
    """
    if isinstance(definition, (hierarchy.TableLevels, hierarchy.SafeHarborZip)):
        schema = session.scope(definition.schema or "main")
    return hierarchies.NewHierarchy(hierarchy.name_in(schema, name), levels.rows, _origin(definition))


def _origin(definition: Unstored) -> str:
    """The origin of the rows, for people who look at the store later."""
    match definition:
        case hierarchy.InlineLevels():
            return hierarchies.INLINE
        case hierarchy.TableLevels(_, schema, name):
            return f"the table {schema}.{name}"
        case hierarchy.SafeHarborZip(_, schema, name):
            return f"safe_harbor_zip with the table {schema}.{name}"
        case _:
            return hierarchy.field_of(definition)


def _written_out(
    session: WarehouseSession, definition: Unstored, field: str
) -> tuple[hierarchy.InlineLevels | None, list[Fault]]:
    match definition:
        case hierarchy.InlineLevels():
            return definition, []
        case hierarchy.TableLevels():
            return _table_levels(session, definition, field)
        case hierarchy.SafeHarborZip():
            return _zip_levels(session, definition, field)
        case hierarchy.SafeHarborAge():
            return hierarchy.safe_harbor.age_levels(), []
        case hierarchy.SafeHarborDate():
            return hierarchy.safe_harbor.date_levels(definition), []


def _table_levels(
    session: WarehouseSession, definition: hierarchy.TableLevels, field: str
) -> tuple[hierarchy.InlineLevels | None, list[Fault]]:
    wanted = TableReference(definition.catalog, definition.schema, definition.table)
    reference, faults = find_table(session, wanted, f"{field}.table")
    if reference is None:
        return None, faults
    names = [
        source_column.name if isinstance(source_column, Column) else source_column[0]
        for source_column in columns_of(session, reference)
    ]
    hint = NearestNames(names)
    unknown = [
        Fault(f"{field}.columns[{i}]", shortened(name), "a column of that table", hint(name))
        for i, name in enumerate(definition.columns)
        if name not in names
    ]
    if unknown:
        return None, unknown
    texts = [cast(column(name), "VARCHAR") for name in definition.columns or names]
    return hierarchy.InlineLevels(tuple(session.rows(_ordered(reference, texts)))), []


def _zip_levels(
    session: WarehouseSession, definition: hierarchy.SafeHarborZip, field: str
) -> tuple[hierarchy.InlineLevels | None, list[Fault]]:
    wanted = TableReference(definition.catalog, definition.schema, definition.table)
    reference, faults = find_table(session, wanted, f"{field}.population")
    if reference is None:
        return None, faults
    types = {
        source_column.name if isinstance(source_column, Column) else source_column[0]: source_column
        for source_column in columns_of(session, reference)
    }
    columns = {"zip_column": definition.zip_column, "population_column": definition.population_column}
    for name, wanted_name in columns.items():
        if wanted_name not in types:
            expected = f"a column of {shortened(reference.table)}"
            faults.append(Fault(f"{field}.{name}", shortened(wanted_name), expected, nearest(wanted_name, types)))
    people = types.get(definition.population_column)
    if people is not None and not (isinstance(people, Column) and people.kind is hierarchy.ValueKind.INTEGER):
        type_ = people.type if isinstance(people, Column) else people[1]
        shown = f"{shortened(definition.population_column)} of type {shown_type(type_)}"
        faults.append(Fault(f"{field}.population_column", shown, "a column of whole numbers: the people in each"))
    if faults:
        return None, faults
    wanted_columns = [cast(column(definition.zip_column), "VARCHAR"), column(definition.population_column)]
    return hierarchy.safe_harbor.zip_levels(session.rows(_ordered(reference, wanted_columns)), field)


def _ordered(reference: TableReference, columns: list[exp.Expr]) -> exp.Select:
    """Ordered, so that one table gives one stored version."""
    rows = exp.select(*columns).from_(table(reference.table, reference.schema, reference.catalog))
    return rows.order_by(*(wanted.copy() for wanted in columns))
