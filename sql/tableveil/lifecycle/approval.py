"""Decides about a release that waits for approval: swaps it in for the earlier one, or drops it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress

from sqlglot import exp

from tableveil.backend import Database, Session, Sight, WarehouseSession, column, create_table, drop, in_order, table
from tableveil.control import Control, Stopped
from tableveil.errors import ConflictError, InternalError, TableveilError, shortened
from tableveil.lifecycle.guards import check_guards, labels_of
from tableveil.lifecycle.publish import writing
from tableveil.lifecycle.standing import place_of
from tableveil.lifecycle.swap import complete, complete_all, discard, staged
from tableveil.lifecycle.target import check_existing, objects_called
from tableveil.lifecycle.withdraw import drop_written, is_as_written
from tableveil.policy import ReleaseKind, ReleaseTarget
from tableveil.release.about import copy_comments
from tableveil.release.marks import mark
from tableveil.release.objects import drop_replaced, snapshot
from tableveil.release.write import write_view
from tableveil.state import persons, sketches
from tableveil.state.decisions import DECISIONS, Decision
from tableveil.state.lineage import changing_rights
from tableveil.state.release_objects import ObjectKind
from tableveil.state.release_swaps import SWAPS, Swap
from tableveil.state.releases import RELEASES, Release, ReleaseState
from tableveil.state.seen import PUBLIC


def decide(
    database: Database,
    number: int,
    target: ReleaseTarget,
    decision: Decision,
    control: Control | None = None,
    unused: Callable[[], AbstractContextManager[object]] = nullcontext,
    sight: Sight | None = None,
) -> None:
    """Approves or rejects a release in one transaction: its objects move to the `target`, or are dropped.

    In a warehouse they are copied first, and the copies get their names after the transaction; see `swap`.

    The commit is inside of `unused`, in which no job comes to use the release, and which raises if one does. The one
    who decides has the `sight`, by default that of the session.

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
            if release.warehouse and decision.approved:
                _approve_elsewhere(database, session, release, target, decision, unused, sight)
                return
            with ExitStack() as until_committed, writing(database, session), _rights(database, session):
                release = _still_pending(session, number)
                if decision.approved:
                    _check_newest(session, release)
                    check_guards(session, target, release.records, labels_of(release.attributes), sight)
                    _swap_in(session.embedded, release, target)
                else:
                    drop_written(session, release)
                    sketches.forget(session.ledger, number)
                    persons.forget(session.ledger, number)
                DECISIONS.insert(session.ledger, [decision], number)
                until_committed.enter_context(unused())
            _look(session, number)


def _approve_elsewhere(
    database: Database,
    session: WarehouseSession,
    release: Release,
    target: ReleaseTarget,
    decision: Decision,
    unused: Callable[[], AbstractContextManager[object]],
    sight: Sight | None,
) -> None:
    """Approves a release in a warehouse: the copies of what waits are compared with what was verified."""
    check_pending(release)
    copies = staged(session, target, release.number)
    try:
        _copy(session, release, copies)
        with writing(database, session):
            complete_all(session)
            with ExitStack() as until_committed, _rights(database, session):
                _check_newest(session, _still_pending(session, release.number))
                check_guards(session, target, release.records, labels_of(release.attributes), sight)
                replaced = check_existing(session, target)
                DECISIONS.insert(session.ledger, [decision], release.number)
                SWAPS.insert(session.ledger, [Swap(session.catalog, copies.name, tuple(replaced))], release.number)
                until_committed.enter_context(unused())
            # The release is decided: nothing stops it any more.
            session.control = session.embedded.control = None
            _look(session, release.number)
            complete(session, release.number)
            # As it was: the names of what has waited.
            drop_written(session, release)
    except BaseException:
        session.control = session.embedded.control = None
        with suppress(TableveilError, Stopped):
            discard(session, copies)
        raise


def _copy(session: WarehouseSession, release: Release, copies: ReleaseTarget) -> None:
    _check_unchanged(session, release)
    for item in release.objects:
        schema, waits = place_of(session, release, item.name)
        whole = exp.select("*").from_(table(waits, schema, session.catalog))
        name = copies.name + item.name[len(release.target_name) :]
        copy = table(name, copies.schema, session.catalog)
        if item.kind is ObjectKind.ROWS:
            session.write(copy, in_order(whole, [column(found) for found, _ in session.described(whole)]))
        else:
            session.collect("waiting_object", whole)
            session.create(copy, exp.select("*").from_(table("waiting_object")))
        if mark(session, copies.schema, name) != item.mark:
            raise InternalError("COPY_DIFFERS", f"the copy of {shortened(item.name)} differs from what was verified")


def _rights(database: Database, session: WarehouseSession) -> AbstractContextManager[None]:
    return changing_rights(database.path, session.ledger)


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
        raise ConflictError.of(
            "RELEASE_DECIDED",
            "name",
            f"releases/{release.number}, which is {release.state.lower()}",
            "a release that waits for approval",
        )


def _check_newest(session: WarehouseSession, release: Release) -> None:
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
    _check_unchanged(session, release)
    places = [place_of(session, release, item.name) for item in release.objects]
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


def _check_unchanged(session: WarehouseSession, release: Release) -> None:
    """Raises `ConflictError` if what waits is not what was verified."""
    places = [place_of(session, release, item.name) for item in release.objects]
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
