"""Resolves the input of a risk analysis: rows, the columns that could identify people, weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tableveil.backend import WarehouseSession
from tableveil.errors import Fault, NearestNames, shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import Population, TableReference
from tableveil.source.model import Column, Source, SourceQuery
from tableveil.source.population import check_subset, resolve_population
from tableveil.source.query import query_columns
from tableveil.source.tables import columns_of, missing_column, shown_type

_NUMERIC = {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT}


@dataclass(frozen=True, slots=True)
class Analyzed:
    """The rows, with their population if there is one; the quasi-identifiers in the request's order; the weights.

    `person` is the column that says whose a record is, if the request names one.
    """

    source: Source
    quasi_identifiers: tuple[Column, ...]
    weight: Column | None
    person: Column | None = None


@dataclass(frozen=True, slots=True)
class RowsToAnalyze:
    """A table that exists, or a query's rows. `marker` is the column that is true for rows of suppressed records."""

    reference: TableReference
    marker: str = ""
    query: SourceQuery | None = None


def resolve_analyzed(
    session: WarehouseSession,
    rows: RowsToAnalyze,
    quasi_identifiers: Sequence[str],
    population: Population | None = None,
    weight_column: str = "",
    person_column: str = "",
) -> tuple[Analyzed, list[Fault]]:
    """The input of an analysis, and all faults; columns that do not exist are left out."""
    reference, marker, query = rows.reference, rows.marker, rows.query
    columns = columns_of(session, reference) if query is None else query_columns(session.embedded, query)
    names = [source_column.name if isinstance(source_column, Column) else source_column[0] for source_column in columns]
    source = Source(
        reference,
        tuple(source_column for source_column in columns if isinstance(source_column, Column)),
        marker=marker,
        query=query,
    )
    faults = []
    if population is not None and population.subset_column:
        faults += check_subset(population, source, names)
        source = replace(source, subset=population.subset_column)
    by_name = {
        source_column.name if isinstance(source_column, Column) else source_column[0]: source_column
        for source_column in columns
    }
    nearest_of = NearestNames(names)
    scalar = []
    for i, name in enumerate(quasi_identifiers):
        source_column = by_name.get(name)
        field = f"quasi_identifiers[{i}]"
        if source_column is None or name == marker:
            faults.append(missing_column(field, name, nearest_of))
        elif not isinstance(source_column, Column):
            expected = "a scalar type other than INTERVAL, and text without a collation"
            hint = "Analyze a table in which it is cast to scalar columns."
            faults.append(Fault(field, f"{shortened(name)} of type {shown_type(source_column[1])}", expected, hint))
        elif name == source.subset:
            hint = "It tells who is in the table, not who somebody is."
            faults.append(Fault(field, f"{shortened(name)}, the subset column", "another column", hint))
        else:
            scalar.append(source_column)
    names = [source_column.name for source_column in scalar]
    population_rows, unfit = resolve_population(session, population, source, names)
    weight, misfit = _weight(weight_column, by_name)
    person, unknown = _person(person_column, by_name)
    faults += [*unfit, *misfit, *unknown]
    return Analyzed(replace(source, population=population_rows), tuple(scalar), weight, person), faults


def _person(name: str, by_name: dict[str, Column | tuple[str, str]]) -> tuple[Column | None, list[Fault]]:
    if not name:
        return None, []
    person_column = by_name.get(name)
    if person_column is None:
        return None, [missing_column("person_column", name, NearestNames(by_name))]
    if isinstance(person_column, Column):
        return person_column, []
    shown = f"{shortened(name)} of type {shown_type(person_column[1])}"
    return None, [Fault("person_column", shown, "a scalar type other than INTERVAL, and text without a collation")]


def _weight(name: str, by_name: dict[str, Column | tuple[str, str]]) -> tuple[Column | None, list[Fault]]:
    if not name:
        return None, []
    weight_column = by_name.get(name)
    if weight_column is None:
        return None, [missing_column("weight_column", name, NearestNames(by_name))]
    if isinstance(weight_column, Column) and weight_column.kind in _NUMERIC:
        return weight_column, []
    type_ = weight_column.type if isinstance(weight_column, Column) else weight_column[1]
    return None, [Fault("weight_column", f"{shortened(name)} of type {shown_type(type_)}", "a column of numbers")]
