"""What a risk analysis is of: a table, or the rows of a release that were not suppressed."""

from __future__ import annotations

from tableveil.backend import Session
from tableveil.errors import Fault, InvalidError
from tableveil.jobs.released import current_release, rows_of
from tableveil.policy import TableReference
from tableveil.policy.risk_analysis import RiskRequest
from tableveil.risk import MOST_SUBSETS, largest_size, number_of_subsets
from tableveil.source import Analyzed, find_table, resolve_analyzed


def resolve_subject(session: Session, request: RiskRequest) -> tuple[TableReference, Analyzed]:
    """What people call it, and its rows with what is looked at in them.

    Raises:
        InvalidError: the request does not fit the database.
        NotFoundError: there is no such release.
        ConflictError: the release was replaced; its rows are another one's now.
    """
    if request.release is not None:
        release = current_release(session, request.release)
        shown = TableReference(release.source.catalog, release.target_schema, release.target_name)
        found = rows_of(session, release)
        rows, marker = found.table, found.marker
        names = request.quasi_identifiers or tuple(attribute.column for attribute in release.attributes)
    else:
        assert request.table is not None
        reference, faults = find_table(session, request.table, "table")
        if reference is None:
            raise unfit(faults)
        shown, rows, marker, names = reference, reference, "", request.quasi_identifiers
    analyzed, faults = resolve_analyzed(session, rows, marker, names, request.population, request.weight_column)
    faults += _check_subsets(request.largest_subset, len(names))
    if faults:
        raise unfit(faults)
    return shown, analyzed


def unfit(faults: list[Fault]) -> InvalidError:
    """The error of a request that does not fit the database."""
    return InvalidError.about("RISK_INVALID", "the risks cannot be analyzed as asked", faults)


def _check_subsets(size: int | None, columns: int) -> list[Fault]:
    if size is None or number_of_subsets(columns, min(size, columns)) <= MOST_SUBSETS:
        return []
    subsets = number_of_subsets(columns, min(size, columns))
    found = f"{size}, with {columns} quasi-identifiers: {subsets} subsets"
    return [Fault("largest_subset", found, f"at most {largest_size(columns)}, for no more than {MOST_SUBSETS} subsets")]
