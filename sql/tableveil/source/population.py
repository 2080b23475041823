"""Resolves the population: another table, or the whole of the source's."""

from collections.abc import Sequence

from tableveil.backend import WarehouseSession
from tableveil.errors import Fault, NearestNames, shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import Population
from tableveil.source.model import Column, PopulationRows, Source
from tableveil.source.tables import columns_of, find_table, missing_column, shown_type

_ALIKE = (
    {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT},
    {ValueKind.DATE, ValueKind.TIMESTAMP},
    {ValueKind.TEXT},
)
"""Kinds whose values can be converted to each other's types; for other kinds, the types must be equal."""


def check_subset(population: Population, source: Source, names: Sequence[str]) -> list[Fault]:
    """Faults of the subset column; `names` are all columns of the source's table."""
    name = population.subset_column
    field = "population.subset_column"
    if name not in names:
        return [missing_column(field, name, NearestNames(names))]
    types = [column.type for column in source.columns if column.name == name]
    if types == ["BOOLEAN"]:
        return []
    actual = shortened(name) + (f" of type {shown_type(types[0])}" if types else "")
    return [Fault(field, actual, "a column of type BOOLEAN: true for the rows to anonymize")]


def resolve_population(
    session: WarehouseSession, population: Population | None, source: Source, quasi_identifiers: Sequence[str]
) -> tuple[PopulationRows | None, list[Fault]]:
    """The population's rows, None if the policy names none, and all faults found."""
    if population is None or not population.has_rows:
        return None, []
    # Names that the source lacks are reported with the source.
    by_name = {column.name: column for column in source.columns}
    wanted = [by_name[name] for name in quasi_identifiers if name in by_name]
    types = tuple(column.type for column in wanted)
    if population.table is None:
        return PopulationRows(source.rows, tuple(wanted), types, "population.subset_column"), []
    field = "population.table"
    reference, faults = find_table(session, population.table, field)
    if reference is None:
        return None, faults
    read_by_name = {
        column.name if isinstance(column, Column) else column[0]: column for column in columns_of(session, reference)
    }
    hint = NearestNames(read_by_name)
    columns = []
    for column in wanted:
        of_population = read_by_name.get(column.name)
        if of_population is None:
            expected = "a table with a column called as each quasi-identifier"
            missing = f"{shortened(str(reference))}, which has no column {shortened(column.name)}"
            faults.append(Fault(field, missing, expected, hint(column.name)))
        elif isinstance(of_population, Column) and _alike(column, of_population):
            columns.append(of_population)
        else:
            type_ = of_population.type if isinstance(of_population, Column) else of_population[1]
            faults.append(
                Fault(
                    field,
                    f"{shortened(column.name)} of type {shown_type(type_)} in {shortened(str(reference))}",
                    f"a type that compares with the source's, {shown_type(column.type)}",
                    "Make a table in which it is cast to that type, and name that.",
                )
            )
    return (None if faults else PopulationRows(reference, tuple(columns), types, field)), faults


def _alike(left: Column, right: Column) -> bool:
    return left.type == right.type or any({left.kind, right.kind} <= kinds for kinds in _ALIKE)
