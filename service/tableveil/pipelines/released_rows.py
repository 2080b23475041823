"""A release as the subject of an analysis: its rows, its source, and its policy's statements about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tableveil.backend import WarehouseSession, scoped
from tableveil.errors import ConflictError, Fault, NotFoundError, shortened
from tableveil.lifecycle import place_of, require_current, require_here
from tableveil.policy import Policy, ReleaseKind, SuppressedRecords, TableReference
from tableveil.source import Source, find_source, fingerprint
from tableveil.source.tables import STATE_SCHEMA, MissingTable
from tableveil.state.migrate import fingerprint_key
from tableveil.state.releases import RELEASES, Release

PolicyOf = Callable[[str], Policy]
"""Reads the policy in the document that the ledger has of a release."""


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """The table of a release's rows, which for a view is its snapshot; the column that marks suppressed records."""

    table: TableReference
    marker: str


def current_release(session: WarehouseSession, number: int) -> Release:
    """The release of that number.

    Raises:
        NotFoundError: there is none.
        ConflictError: it was rejected, withdrawn or replaced, or is in another place than the session's rows.
    """
    release = RELEASES.find(session.ledger, number)
    if release is None:
        raise NotFoundError.of("RELEASE_NOT_FOUND", "release", f"releases/{number}", "an existing release")
    require_current(release)
    if session.warehouse != release.warehouse:
        require_here(release)
    return release


def rows_of(session: WarehouseSession, release: Release, policy: Policy) -> ReleasedRows:
    """Where the rows of a release with that policy are."""
    rows = TableReference(session.catalog, *place_of(session, release, release.target_name))
    if release.kind is ReleaseKind.VIEW:
        rows = TableReference(session.catalog, STATE_SCHEMA, f"snapshot_{release.number}")
    marked = policy.suppressed_records is not SuppressedRecords.DROP
    return ReleasedRows(rows, policy.marker_column if marked else "")


def source_of(session: WarehouseSession, release: Release, policy: Policy) -> Source:
    """The source of a release with that policy, as long as it has the rows that were released.

    Raises:
        ConflictError: it has changed.
        NotFoundError: it is gone.
    """
    if policy.method.budgeted:
        actual, hint = (
            f"releases/{release.number}, which is differentially private",
            "Nothing compares it with its source.",
        )
        raise ConflictError.of("DIFFERENTIALLY_PRIVATE", "release", actual, "a release without that promise", hint)
    named = release.source
    if release.warehouse:
        # The ledger's name of a schema begins with the warehouse.
        named = replace(named, catalog=session.catalog, schema=named.schema.removeprefix(scoped(release.warehouse, "")))
    source, _, faults = find_source(session, named, policy.source_query, "release")
    if source is not None and policy.population is not None:
        source = replace(source, subset=policy.population.subset_column)
    if source is None or fingerprint(session, source, fingerprint_key(session.ledger)) != release.source_fingerprint:
        raise other_source(release, faults)
    return source


def other_source(release: Release, faults: Sequence[Fault] = ()) -> ConflictError | NotFoundError:
    """The error of a release whose source has changed; or is gone, by the faults that were found in it."""
    of, hint = f"releases/{release.number} of {source_name(release)}", "Release it again, or restore the source."
    if any(isinstance(fault, MissingTable) for fault in faults):
        actual, expected = f"{of}, whose tables are not all there", "a release whose tables are there"
        return NotFoundError.of("TABLE_NOT_FOUND", "release", actual, expected)
    actual, expected = f"{of}, which has other rows or columns now", "a release whose source is as it was"
    return ConflictError.of("SOURCE_CHANGED", "release", actual, expected, hint)


def source_name(release: Release) -> str:
    """The name of a release's source in messages."""
    return "a query" if not release.source.table else shortened(str(release.source))
