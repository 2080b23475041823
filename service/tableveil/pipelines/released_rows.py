"""A release that something is found out about: its rows, its source, and what its policy said of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from tableveil.backend import Session
from tableveil.errors import ConflictError, NotFoundError, shortened
from tableveil.lookups.releases import require_current
from tableveil.policy import ReleaseKind, Role, TableReference
from tableveil.source import Source, find_source, fingerprint
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state.migrate import fingerprint_key
from tableveil.state.releases import RELEASES, Release


@dataclass(frozen=True, slots=True)
class Rows:
    """The table of a release's rows, which for a view is its snapshot; the column that marks suppressed records."""

    table: TableReference
    marker: str


def current_release(session: Session, number: int) -> Release:
    """The release of that number.

    Raises:
        NotFoundError: there is none.
        ConflictError: it was replaced; its rows are another one's now.
    """
    release = RELEASES.find(session, number)
    if release is None:
        raise NotFoundError.of("RELEASE_NOT_FOUND", "release", f"releases/{number}", "an existing release")
    require_current(release)
    return release


def rows_of(session: Session, release: Release) -> Rows:
    """Where the rows of a release are."""
    suppressed = document(release).get("suppressed_records", {})
    marked = suppressed.get("handling", "").endswith(("_BLANK", "_KEEP"))
    rows = TableReference(session.catalog, release.target_schema, release.target_name)
    if release.kind is ReleaseKind.VIEW:
        rows = TableReference(session.catalog, STATE_SCHEMA, f"snapshot_{release.number}")
    return Rows(rows, suppressed["marker_column"] if marked else "")


def source_of(session: Session, release: Release) -> Source:
    """The source of a release, as long as it has the rows that were released.

    Raises:
        ConflictError: it has changed, or is gone.
    """
    source, _, _ = find_source(session, release.source, document(release).get("source_query", ""), "release")
    if source is not None:
        source = replace(source, subset=document(release).get("population", {}).get("subset_column", ""))
    if source is None or fingerprint(session, source, fingerprint_key(session)) != release.source_fingerprint:
        raise ConflictError.of(
            "SOURCE_CHANGED",
            "release",
            f"releases/{release.number} of {source_name(release)}, which has other rows or columns now",
            "a release whose source is as it was",
            "Release it again, or restore the source.",
        )
    return source


def source_name(release: Release) -> str:
    """What messages call the source of a release."""
    return "a query" if release.source_tables else shortened(str(release.source))


def roles_of(release: Release) -> dict[str, Role]:
    """The roles that the policy of a release gives columns by name; what it does not list is not in it."""
    attributes = document(release).get("attributes", ())
    default = document(release).get("default_role", "")
    return {attribute["column"]: Role(attribute.get("role", default).removeprefix("ROLE_")) for attribute in attributes}


def document(release: Release) -> dict[str, Any]:
    """The policy of a release as it was sent, by the names of the proto's fields."""
    found: dict[str, Any] = json.loads(release.policy)
    return found
