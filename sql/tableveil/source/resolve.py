"""Resolves a policy's source table and checks the policy's columns and roles against it."""

from collections.abc import Iterable
from dataclasses import replace

from tableveil.backend import WarehouseSession
from tableveil.errors import Fault, NearestNames, nearest, shortened
from tableveil.policy import AttributePolicy, JobPart, Policy, Role, TableReference, check_classified_columns
from tableveil.source.model import Column, Source
from tableveil.source.population import check_subset, resolve_population
from tableveil.source.query import query_columns, resolve_query
from tableveil.source.related import resolve_related
from tableveil.source.tables import columns_of, find_table, shown_type

_SCALAR = "a scalar type other than INTERVAL, and text without a collation"


def resolve_source(session: WarehouseSession, policy: Policy) -> tuple[Source | None, Policy, list[Fault]]:
    """The source, the policy with a role for every column of it, and all faults found.

    The source is None if the table does not exist, if the query is refused, or if its warehouse cannot do what the
    policy asks for.
    """
    if unsupported := session.unsupported(policy):
        return None, policy, unsupported
    if policy.bound_loads and not (policy.source.table or policy.source_query):
        field, number = policy.bound_loads[0]
        return None, policy, [Fault(field, f"loads/{number}", "a load of a table that is yours")]
    field = "source" if policy.related is None else "tables.people"
    source, columns, faults = find_source(session, policy.source, policy.source_query, field)
    if source is None:
        return None, policy, faults
    names = [source_column.name if isinstance(source_column, Column) else source_column[0] for source_column in columns]
    compared: dict[str | None, str] = {name: f"also_count[{i}]" for i, name in enumerate(policy.also_count)}
    compared |= {policy.person_column: "person_column", policy.record_column: "record_column"}
    for source_column in columns:
        if not isinstance(source_column, Column):
            name, type_ = source_column
            if name in compared:
                hint = "The ledger knows values by their texts, and equal ones of this type may have several: cast it."
                faults.append(Fault(compared[name], f"type {shown_type(type_)}", _SCALAR, hint))
            role = next((a.role for a in policy.attributes if a.column == name), policy.default_role)
            if role is not Role.IDENTIFYING:
                faults.append(
                    Fault(
                        f"source.{shortened(name)}",
                        f"type {shown_type(type_)}",
                        _SCALAR,
                        f"Give it the role IDENTIFYING, or anonymize {_instead_of(type_)}.",
                    )
                )
    faults += _unknown_columns(policy, names)
    if policy.population is not None and policy.population.subset_column:
        faults += check_subset(policy.population, source, names)
        source = replace(source, subset=policy.population.subset_column)
    quasi_identifiers = [attribute.column for attribute in policy.quasi_identifiers]
    if policy.population is not None:
        population, unfit = resolve_population(session, policy.population, source, quasi_identifiers)
        source, faults = replace(source, population=population), [*faults, *unfit]
    attributes, missing = _with_default_role(policy, names, source.subset)
    policy = replace(policy, attributes=attributes)
    if policy.related is not None:
        source, policy, unfit = resolve_related(session, source, policy, policy.related)
        missing += unfit
    # Only now every column has its role.
    faults += session.unsupported(policy)
    if not missing and JobPart.CLASSIFICATION in policy.parts:
        faults += check_classified_columns(policy, complete=True)
    return source, policy, [*faults, *missing]


def _instead_of(type_: str) -> str:
    """How the values of a type that cannot be released may be: lists as JSON arrays, whose elements models judge."""
    if type_.endswith("[]"):
        return "a source_query in which it is to_json(column)::VARCHAR; if it is SENSITIVE, with elements: {}"
    return "a table in which it is cast to scalar columns"


def find_source(
    session: WarehouseSession, wanted: TableReference, query_text: str, field: str
) -> tuple[Source | None, list[Column | tuple[str, str]], list[Fault]]:
    """The source with those of its columns that can be released, all of its columns, and the faults found.

    The table is given at the policy's path `field`, unless there is a query.
    """
    if query_text:
        query, faults = resolve_query(session.embedded, query_text)
        if query is None:
            return None, [], faults
        columns = query_columns(session.embedded, query)
        reference = TableReference(session.catalog, "", "")
        return Source(reference, _releasable(columns), query=query), columns, []
    each_reference, faults = find_table(session, wanted, field)
    if each_reference is None:
        return None, [], faults
    columns = columns_of(session, each_reference)
    return Source(each_reference, _releasable(columns)), columns, []


def _releasable(columns: list[Column | tuple[str, str]]) -> tuple[Column, ...]:
    return tuple(source_column for source_column in columns if isinstance(source_column, Column))


def _unknown_columns(policy: Policy, names: list[str]) -> list[Fault]:
    expected = "a column of the source"
    hint = NearestNames(names)
    faults = [
        Fault(f"attributes[{i}].column", shortened(attribute.column), expected, hint(attribute.column))
        for i, attribute in enumerate(policy.attributes)
        if attribute.column not in names
    ]
    if policy.person_column is not None and policy.person_column not in names:
        nearest_name = nearest(policy.person_column, names)
        faults.append(Fault("person_column", shortened(policy.person_column), expected, nearest_name))
    if policy.record_column and policy.record_column not in names:
        nearest_name = nearest(policy.record_column, names)
        faults.append(Fault("record_column", shortened(policy.record_column), expected, nearest_name))
    for i, name in enumerate(policy.also_count):
        if name not in names:
            faults.append(Fault(f"also_count[{i}]", shortened(name), expected, nearest(name, names)))
    # The database does not distinguish names that differ only in case.
    if policy.marker_column and policy.marker_column.casefold() in map(str.casefold, names):
        actual = f"{shortened(policy.marker_column)}, a column of the source"
        faults.append(Fault("suppressed_records.marker_column", actual, "a name no column has"))
    return faults


def _with_default_role(
    policy: Policy, names: Iterable[str], subset: str
) -> tuple[tuple[AttributePolicy, ...], list[Fault]]:
    listed = {attribute.column for attribute in policy.attributes}
    missing = [name for name in names if name not in listed]
    added = []
    faults = []
    for name in missing:
        # The population must not learn which people are in the subset.
        role = Role.IDENTIFYING if name == subset else policy.default_role
        if role is None:
            hint = "List the column with its role, or state a default_role."
            faults.append(Fault(f"source.{shortened(name)}", "no role", "a role for every column", hint))
        else:
            added.append(AttributePolicy(name, role, listed=False))
    return (*policy.attributes, *added), faults
