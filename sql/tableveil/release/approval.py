"""Decides about a release that waits for approval: swaps it in for the earlier one, or drops it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext

from sqlglot import exp

from tableveil.backend import Database, Session, create_table, drop, table
from tableveil.control import Control
from tableveil.errors import ConflictError, InternalError, shortened
from tableveil.policy import ReleaseKind, ReleaseTarget
from tableveil.release.about import copy_comments
from tableveil.release.marks import mark
from tableveil.release.objects import drop_replaced, snapshot
from tableveil.release.publish import writing
from tableveil.release.standing import place_of
from tableveil.release.target import check_existing, objects_called
from tableveil.release.withdraw import drop_written, is_as_written
from tableveil.release.write import write_view
from tableveil.state import persons, sketches
from tableveil.state.decisions import DECISIONS, Decision
from tableveil.state.lineage import changing_rights
from tableveil.state.release_objects import ObjectKind
from tableveil.state.releases import RELEASES, Release, ReleaseState
from tableveil.state.seen import PUBLIC


def decide(
    database: Database,
    number: int,
    target: ReleaseTarget,
    decision: Decision,
    control: Control | None = None,
    unused: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Approves or rejects a release in one transaction: its objects move to the `target`, or are dropped.

    The commit is inside of `unused`, in which no job comes to use the release, and which raises if one does.

    Raises:
        ConflictError: it was decided about or withdrawn before, a later release of its target is public, what waits is
            not what was written, or something foreign is at its target.
        InternalError: the copy differs from what was verified, or the commit left nothing behind.
        Stopped: `control` said so before the commit.
    """
    with database.session() as session:
        session.control = control
        rights = changing_rights(database.path, session.ledger)
        with ExitStack() as until_committed, writing(database, session), rights:
            release = RELEASES.find(session.ledger, number)
            assert release is not None, "releases are never deleted"
            check_pending(release)
            if decision.approved:
                _check_newest(session, release)
                _swap_in(session, release, target)
            else:
                drop_written(session, release)
                sketches.forget(session.ledger, number)
                persons.forget(session.ledger, number)
            DECISIONS.insert(session.ledger, [decision], number)
            until_committed.enter_context(unused())
        if not DECISIONS.of(session.ledger, [number]):
            message = f"the decision about releases/{number} reported success but left nothing behind"
            raise InternalError("COMMIT_LOST", message)


def check_pending(release: Release) -> None:
    """Raises `ConflictError` unless the release waits for approval."""
    if release.state is not ReleaseState.PENDING:
        raise ConflictError.of(
            "RELEASE_DECIDED",
            "name",
            f"releases/{release.number}, which is {release.state.lower()}",
            "a release that waits for approval",
        )


def _check_newest(session: Session, release: Release) -> None:
    later = session.ledger.value(
        "SELECT max(number) FROM tableveil.releases WHERE target_schema = ? AND lower(target_name) = lower(?) "
        f"AND number > ? AND {PUBLIC}",
        [release.target_schema, release.target_name, release.number],
    )
    if later is not None:
        raise ConflictError.of(
            "RELEASE_OVERTAKEN",
            "name",
            f"releases/{release.number}, although releases/{later} of the same target was made later and is public",
            "the latest release of its target",
            "Reject it.",
        )


def _swap_in(session: Session, release: Release, target: ReleaseTarget) -> None:
    """Copies the objects to the target, in place of earlier ones, compares the copies, and drops the private ones."""
    places = [place_of(release, item.name) for item in release.objects]
    there = objects_called(session, places[0][0], [name for _, name in places])
    changed = [item.name for item in release.objects if not is_as_written(session, release, item, there)]
    if changed:
        raise ConflictError.of(
            "PENDING_CHANGED",
            "name",
            f"{', '.join(map(shortened, changed))}, changed since it was verified",
            "what was written and verified",
            "Reject the release, and make it again.",
        )
    drop_replaced(session, target, check_existing(session, target))
    for item, (schema, name) in zip(release.objects, places, strict=True):
        private, public = (table(*at, session.catalog) for at in ((name, schema), (item.name, target.schema)))
        if is_view := release.kind is ReleaseKind.VIEW and item.kind is ObjectKind.ROWS:
            write_view(session, public, snapshot(release.number))
        else:
            # DuckDB keeps the order of the rows, which was chosen so that it reveals nothing.
            session.execute(create_table(public, exp.select("*").from_(private)))
        copy_comments(session, private, public, is_view=is_view)
        if mark(session, target.schema, item.name) != mark(session, schema, name):
            raise InternalError("COPY_DIFFERS", f"the copy of {shortened(item.name)} differs from what was verified")
        session.execute(drop("VIEW" if is_view else "TABLE", private))
