"""The subject of a risk analysis: a table, a query's rows, or the released rows that were not suppressed."""

import re
from dataclasses import replace

from tableveil.backend import WarehouseSession
from tableveil.drafting import guessed_quasi_identifiers
from tableveil.errors import Fault, InvalidError, NotFoundError, Warned, shortened
from tableveil.pipelines.released_rows import PolicyOf, current_release, rows_of
from tableveil.policy import TableReference
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.risk import MOST_SUBSETS, largest_size, number_of_subsets
from tableveil.source import Analyzed, RowsToAnalyze, Source, find_source, resolve_analyzed
from tableveil.source.drafted import role_facts
from tableveil.source.query import take_snapshot
from tableveil.source.tables import invalid


def resolve_subject(
    session: WarehouseSession, request: RiskRequest, policy_of: PolicyOf
) -> tuple[TableReference, Analyzed]:
    """The subject's name for people, and its rows with the analyzed columns.

    Raises:
        InvalidError: the request does not fit the database.
        NotFoundError: there is no such release, table or column.
        ConflictError: the release was replaced; its rows belong to another one now.
    """
    if request.release is not None:
        release = current_release(session, request.release)
        shown = TableReference(release.source.catalog, release.target_schema, release.target_name)
        policy = policy_of(release.policy)
        read_rows = rows_of(session, release, policy)
        rows = RowsToAnalyze(read_rows.table, read_rows.marker)
        names = request.columns or tuple(attribute.column for attribute in policy.recognizing)
    else:
        source, faults = _source(session, request)
        if source is None:
            raise unfit(faults)
        shown, rows = session.recorded(source.reference), RowsToAnalyze(source.reference, query=source.query)
        names = request.columns
    population, weight = request.population, request.weight_column
    analyzed, faults = resolve_analyzed(session, rows, names, population, weight, request.person_column)
    faults = [replace(fault, field=_field_of(fault.field, request)) for fault in faults]
    faults += _check_subsets(request.largest_subset, len(names))
    if faults:
        raise unfit(faults)
    return shown, analyzed


def beside_events(session: WarehouseSession, request: RiskRequest, policy_of: PolicyOf) -> tuple[Warned, ...]:
    """A warning about the events of the people of a release, by which they can be found, too."""
    policy = None if request.release is None else policy_of(current_release(session, request.release).policy)
    if policy is None or policy.related is None:
        return ()
    name = shortened(policy.release.known_rows_name)
    text = f"People can be found by their events, too, which no figure here knows: {name} counts whom few keys fit."
    return (Warned(text, field="release"),)


def with_guessed(session: WarehouseSession, request: RiskRequest) -> tuple[RiskRequest, tuple[Warned, ...]]:
    """The request with guessed quasi-identifiers and a warning about that, if it has no release and names none.

    A query is run for it, and its rows are kept.

    Raises:
        InvalidError: nothing in the table looks like a quasi-identifier.
    """
    if request.release is not None or request.columns:
        return request, ()
    source, _ = _source(session, request)
    if source is None:
        # The resolution of the request reports it.
        return request, ()
    if source.query is not None:
        take_snapshot(session.embedded, source)
    subset = request.population.subset_column if request.population else ""
    used = {request.weight_column, request.person_column, subset}
    numbering = [facts for facts in role_facts(session, source.rows) if facts.name not in used]
    names, named = guessed_quasi_identifiers(numbering)
    if not names:
        hint = "Name the columns by which people could be recognized: age, sex, place, dates, …"
        actual = "none, and no column looks like one"
        raise unfit([Fault("quasi_identifiers", actual, "at least one column", hint)])
    by = "names and types" if named else "nothing but their types"
    warning = (
        f"The quasi-identifiers are guessed by {by} of the columns. Only you know what an attacker knows: name them "
        "yourself as quasi_identifiers. `tableveil draft-policy` says why each was guessed."
    )
    return replace(request, quasi_identifiers=tuple(names)), (Warned(warning, field="quasi_identifiers"),)


def _source(session: WarehouseSession, request: RiskRequest) -> tuple[Source | None, list[Fault]]:
    source, _, faults = find_source(session, request.table or TableReference("", "", ""), request.source_query, "table")
    return source, faults


def _field_of(field: str, request: RiskRequest) -> str:
    """The request's field for a fault of a column: columns may be named only in the sets to be compared."""
    match = re.fullmatch(r"quasi_identifiers\[(\d+)\]", field)
    if match is None or request.quasi_identifiers or not request.compare:
        return field
    name = request.columns[int(match[1])]
    return next(
        f"compare[{i}].columns[{names.index(name)}]" for i, names in enumerate(request.compare) if name in names
    )


def unfit(faults: list[Fault]) -> InvalidError | NotFoundError:
    """The error of a request that does not fit the database."""
    return invalid("RISK_INVALID", "the risks cannot be analyzed as asked", faults)


def _check_subsets(size: int | None, columns: int) -> list[Fault]:
    if size is None or number_of_subsets(columns, min(size, columns)) <= MOST_SUBSETS:
        return []
    subsets = number_of_subsets(columns, min(size, columns))
    actual = f"{size}, with {columns} quasi-identifiers: {subsets} subsets"
    return [
        Fault("largest_subset", actual, f"at most {largest_size(columns)}, for no more than {MOST_SUBSETS} subsets")
    ]
