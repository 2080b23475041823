"""Decides about a release that waits for approval: swaps it in for the earlier one, or drops it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext

from tableveil.backend import Database, Visibility, WarehouseSession
from tableveil.control import Control
from tableveil.errors import ConflictError, InternalError
from tableveil.lifecycle.guards import check_guards, labels_of
from tableveil.lifecycle.moving import Steps, check_newest, move_elsewhere, move_in
from tableveil.lifecycle.publish import writing
from tableveil.lifecycle.withdraw import drop_written
from tableveil.policy import ReleaseTarget
from tableveil.state import persons, sketches
from tableveil.state.decisions import DECISIONS, Decision
from tableveil.state.lineage import changing_rights
from tableveil.state.releases import RELEASES, Release, ReleaseState


def decide(
    database: Database,
    number: int,
    target: ReleaseTarget,
    decision: Decision,
    control: Control | None = None,
    unused: Callable[[], AbstractContextManager[object]] = nullcontext,
    visibility: Visibility | None = None,
) -> None:
    """Approves or rejects a release in one transaction: its objects move to the `target`, or are dropped.

    In a warehouse they are copied first, and the copies get their names after the transaction; see `swap`.

    The commit is inside of `unused`, in which no job comes to use the release, and which raises if one does. The one
    who decides has the `visibility`, by default that of the session.

    Raises:
        GuardedError: the target has another release now, which this one must not replace.
        ConflictError: it was decided about or withdrawn before, a later release of its target is public, what waits is
            not what was written, or something foreign is at its target.
        InternalError: the copy differs from what was verified, or the commit left nothing behind.
        Stopped: `control` said so before the commit.
    """
    with database.session() as embedded:
        embedded.control = control
        release = RELEASES.find(embedded.ledger, number)
        assert release is not None, "releases are never deleted"
        with database.rows_session(embedded, release.warehouse) as session:
            session.control = control

            def admit() -> None:
                waits = _still_pending(session, number)
                check_newest(session, waits, "Reject it.")
                check_guards(session, target, waits.records, labels_of(waits.attributes), visibility)

            def enter() -> None:
                DECISIONS.insert(session.ledger, [decision], number)

            if release.warehouse and decision.approved:
                check_pending(release)
                steps = Steps(admit, enter, lambda: _look(session, number))
                move_elsewhere(database, session, release, target, steps, unused)
                return
            rights = changing_rights(database.path, session.ledger)
            with ExitStack() as until_committed, writing(database, session), rights:
                release = _still_pending(session, number)
                if decision.approved:
                    admit()
                    move_in(session.embedded, release, target)
                else:
                    drop_written(session, release)
                    sketches.forget(session.ledger, number)
                    persons.forget(session.ledger, number)
                enter()
                until_committed.enter_context(unused())
            _look(session, number)


def _still_pending(session: WarehouseSession, number: int) -> Release:
    release = RELEASES.find(session.ledger, number)
    assert release is not None, "releases are never deleted"
    check_pending(release)
    return release


def _look(session: WarehouseSession, number: int) -> None:
    if not DECISIONS.of(session.ledger, [number]):
        message = f"the decision about releases/{number} reported success but left nothing behind"
        raise InternalError("COMMIT_LOST", message)


def check_pending(release: Release) -> None:
    """Raises `ConflictError` unless the release waits for approval."""
    if release.state is not ReleaseState.PENDING:
        found = f"releases/{release.number}, which is {release.state.lower()}"
        raise ConflictError.of("RELEASE_DECIDED", "name", found, "a release that waits for approval")
