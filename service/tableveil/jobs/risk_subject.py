"""What a risk analysis is of: a table, or the rows of a release that were not suppressed."""

from __future__ import annotations

import json

from tableveil.backend import Session
from tableveil.errors import Fault, InvalidError, NotFoundError
from tableveil.jobs.releases import require_current
from tableveil.policy import ReleaseKind, TableReference
from tableveil.policy.risk_analysis import RiskRequest
from tableveil.risk import MOST_SUBSETS, largest_size, number_of_subsets
from tableveil.source import Analyzed, find_table, resolve_analyzed
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state import releases
from tableveil.state.releases import Release


def resolve_subject(session: Session, request: RiskRequest) -> tuple[TableReference, Analyzed]:
    """What people call it, and its rows with what is looked at in them.

    Raises:
        InvalidError: the request does not fit the database.
        NotFoundError: there is no such release.
        ConflictError: the release was replaced; its rows are another one's now.
    """
    if request.release is not None:
        release = _release(session, request.release)
        catalog: str = session.value("SELECT current_database()")
        shown = TableReference(catalog, release.target_schema, release.target_name)
        rows, marker = shown, _marker(release)
        if release.kind is ReleaseKind.VIEW:
            rows = TableReference(catalog, STATE_SCHEMA, f"snapshot_{release.number}")
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


def _release(session: Session, number: int) -> Release:
    release = releases.find(session, number)
    if release is None:
        raise NotFoundError.of("RELEASE_NOT_FOUND", "release", f"releases/{number}", "an existing release")
    require_current(release)
    return release


def _marker(release: Release) -> str:
    """The column that marks suppressed records, if they were kept."""
    suppressed = json.loads(release.policy).get("suppressed_records", {})
    kept = suppressed.get("handling", "").endswith(("_BLANK", "_KEEP"))
    return suppressed["marker_column"] if kept else ""


def _check_subsets(size: int | None, columns: int) -> list[Fault]:
    if size is None or number_of_subsets(columns, min(size, columns)) <= MOST_SUBSETS:
        return []
    subsets = number_of_subsets(columns, min(size, columns))
    found = f"{size}, with {columns} quasi-identifiers: {subsets} subsets"
    return [Fault("largest_subset", found, f"at most {largest_size(columns)}, for no more than {MOST_SUBSETS} subsets")]
