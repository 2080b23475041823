"""Whether the objects of a release stand, and where: in its target, or in private while it waits for approval."""

from __future__ import annotations

from dataclasses import replace

from tableveil.errors import ConflictError, shortened
from tableveil.policy import ReleaseTarget
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state.releases import Release, ReleaseState


def private(target: ReleaseTarget, number: int) -> ReleaseTarget:
    """The target of the release of that number while it waits; nobody can load into it or release from it."""
    return replace(target, schema=STATE_SCHEMA, name=f"pending_{number}")


def place_of(release: Release, name: str) -> tuple[str, str]:
    """The schema and the name under which an object of a release stands, by the name that the ledger has of it."""
    if release.state is not ReleaseState.PENDING:
        return release.place, name
    held = private(ReleaseTarget(release.target_schema, release.target_name), release.number)
    return held.schema, held.name + name[len(release.target_name) :]


def require_here(release: Release) -> None:
    """Raises `ConflictError` for a release whose objects are in a warehouse."""
    if release.warehouse:
        raise ConflictError.of(
            "RELEASE_ELSEWHERE",
            "release",
            f"releases/{release.number}, whose rows are in the warehouse {shortened(release.warehouse)}",
            "a release in the server's own database",
            "Read it in its warehouse.",
        )


def require_public(release: Release) -> None:
    """Raises `ConflictError` for a release whose objects are gone, in a warehouse, or wait for approval."""
    require_current(release)
    require_here(release)
    if release.state is ReleaseState.PENDING:
        raise ConflictError.of(
            "RELEASE_PENDING",
            "release",
            f"releases/{release.number}, which waits for approval",
            "a release that was approved",
            "Another person approves it: tableveil approve.",
        )


def require_current(release: Release) -> None:
    """Raises `ConflictError` for a release whose objects are gone: it was rejected, withdrawn or replaced."""
    if release.state is ReleaseState.REJECTED:
        raise ConflictError.of(
            "RELEASE_REJECTED",
            "release",
            f"releases/{release.number}, which was rejected",
            "a release that was not rejected",
        )
    if release.withdrawal is not None:
        raise ConflictError.of(
            "RELEASE_WITHDRAWN",
            "release",
            f"releases/{release.number}, withdrawn at {release.withdrawal.at:%Y-%m-%d %H:%M} UTC",
            "a release that was not withdrawn",
        )
    if not release.current and release.state is not ReleaseState.PENDING:
        raise ConflictError.of(
            "RELEASE_REPLACED",
            "release",
            f"releases/{release.number}, which a later release has replaced",
            "a release whose objects are still its own",
        )
