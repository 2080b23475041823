"""Whether the objects of a release stand, and where: in its target, or in private while it waits."""

import hashlib
from dataclasses import replace

from tableveil.backend import Ledger, WarehouseSession
from tableveil.errors import ConflictError, shortened
from tableveil.policy import ReleaseTarget
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state.migrate import fingerprint_key
from tableveil.state.releases import Release, ReleaseState, StandingRelease


def own_prefix(ledger: Ledger) -> str:
    """How the names of staged tables begin: another service may write to the same warehouse."""
    return f"tableveil_staged_{hashlib.sha256(b'staged' + fingerprint_key(ledger)).hexdigest()[:8]}_"


def private(session: WarehouseSession, target: ReleaseTarget, number: int, job: int) -> ReleaseTarget:
    """The target of the release of that number while it waits; nobody can load into it or release from it.

    The job's number makes the name new in a warehouse: a kill may leave the directory of a table, whose name cannot be
    taken again then.
    """
    name = f"{own_prefix(session.ledger)}{number}_{job:x}" if session.traits.shared else f"pending_{number}"
    return replace(target, schema=STATE_SCHEMA, name=name)


def place_of(session: WarehouseSession, release: Release | StandingRelease, name: str) -> tuple[str, str]:
    """The schema and the name under which an object of a release stands, by the name that the ledger has of it."""
    if not release.waits:
        return release.place, name
    target = ReleaseTarget(release.target_schema, release.target_name)
    held = private(session, target, release.number, release.job)
    return held.schema, held.name + name[len(release.target_name) :]


def require_here(release: Release) -> None:
    """Raises `ConflictError` for a release whose objects are in a warehouse."""
    if release.warehouse:
        state, expected = f"whose rows are in the warehouse {shortened(release.warehouse)}", "the server's own database"
        raise _conflict("RELEASE_ELSEWHERE", release, state, f"a release in {expected}", "Read it in its warehouse.")


def require_public(release: Release) -> None:
    """Raises `ConflictError` for a release whose objects are gone, in a warehouse, or wait in private."""
    require_current(release)
    require_here(release)
    if release.state is ReleaseState.PENDING:
        state, hint = "which waits for approval", "Another person approves it: tableveil approve."
        raise _conflict("RELEASE_PENDING", release, state, "a release that was approved", hint)
    refuse_trial(release)


def refuse_trial(release: Release) -> None:
    """Raises `ConflictError` for a trial."""
    if release.state is ReleaseState.TRIAL:
        hint = f"Its rows stay private until it is promoted: tableveil promote releases/{release.number}."
        raise _conflict("RELEASE_IS_TRIAL", release, "which is a trial", "a release", hint)


def require_current(release: Release) -> None:
    """Raises `ConflictError` for a release whose objects are gone: it was rejected, withdrawn or replaced."""
    if release.state is ReleaseState.REJECTED:
        raise _conflict("RELEASE_REJECTED", release, "which was rejected", "a release that was not rejected")
    if release.withdrawal is not None:
        state = f"withdrawn at {release.withdrawal.at:%Y-%m-%d %H:%M} UTC"
        raise _conflict("RELEASE_WITHDRAWN", release, state, "a release that was not withdrawn")
    if not release.current and not release.waits:
        state = "which a later release has replaced"
        raise _conflict("RELEASE_REPLACED", release, state, "a release whose objects are still its own")


def _conflict(code: str, release: Release, state: str, expected: str, hint: str = "") -> ConflictError:
    return ConflictError.of(code, "release", f"releases/{release.number}, {state}", expected, hint)
