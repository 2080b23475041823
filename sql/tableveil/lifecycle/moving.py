"""Moves the objects of a release that waits in private to its target, in place of those of an earlier release."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import Database, Session, WarehouseSession, column, create_table, drop, in_order, table
from tableveil.control import Stopped
from tableveil.errors import ConflictError, InternalError, TableveilError, shortened
from tableveil.lifecycle.publish import writing
from tableveil.lifecycle.standing import place_of
from tableveil.lifecycle.swap import complete, complete_all, discard, staged
from tableveil.lifecycle.target import check_existing, objects_called
from tableveil.lifecycle.withdraw import drop_written, is_as_written
from tableveil.policy import ReleaseKind, ReleaseTarget
from tableveil.release.about import copy_comments
from tableveil.release.objects import drop_replaced, mark, snapshot
from tableveil.release.write import write_view
from tableveil.state.lineage import changing_rights
from tableveil.state.release_objects import ObjectKind
from tableveil.state.releases import Release
from tableveil.state.seen import PUBLIC
from tableveil.state.trials import SWAPS, Swap


@dataclass(frozen=True, slots=True)
class Steps:
    """The parts of a move: `admit` makes the last checks, `enter` changes the ledger, `look` looks whether it did."""

    admit: Callable[[], None]
    enter: Callable[[], None]
    look: Callable[[], None]


def move_elsewhere(
    database: Database,
    session: WarehouseSession,
    release: Release,
    target: ReleaseTarget,
    steps: Steps,
    unused: Callable[[], AbstractContextManager[object]],
) -> None:
    """Moves a release in a warehouse: copies are compared with what was verified, and get their names afterwards.

    The steps are made in the transaction that has the intent.
    """
    copies = staged(session, target, release.number)
    try:
        _copy(session, release, copies)
        with writing(database, session):
            complete_all(session)
            with ExitStack() as until_committed, changing_rights(database.path, session.ledger):
                steps.admit()
                replaced = check_existing(session, target)
                steps.enter()
                SWAPS.insert(session.ledger, [Swap(session.catalog, copies.name, tuple(replaced))], release.number)
                until_committed.enter_context(unused())
            # The release is decided: nothing stops it any more.
            session.control = session.embedded.control = None
            steps.look()
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
            session.write(copy, in_order(whole, [column(each) for each, _ in session.described(whole)]))
        else:
            session.collect("waiting_object", whole)
            session.create(copy, exp.select("*").from_(table("waiting_object")))
        if mark(session, copies.schema, name) != item.mark:
            raise InternalError("COPY_DIFFERS", f"the copy of {shortened(item.name)} differs from what was verified")


def check_newest(session: WarehouseSession, release: Release, hint: str) -> None:
    """Raises `ConflictError` if a later release of the same target is public."""
    later = session.ledger.value(
        "SELECT max(number) FROM tableveil.releases WHERE target_schema = ? AND lower(target_name) = lower(?) "
        f"AND number > ? AND {PUBLIC}",
        [release.target_schema, release.target_name, release.number],
    )
    if later is not None:
        found = f"releases/{release.number}, although releases/{later} of the same target was made later and is public"
        raise ConflictError.of("RELEASE_OVERTAKEN", "name", found, "the latest release of its target", hint)


def move_in(session: Session, release: Release, target: ReleaseTarget) -> None:
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
        found = f"{', '.join(map(shortened, changed))}, changed since it was verified"
        hint = "Reject the release, and make it again."
        raise ConflictError.of("PENDING_CHANGED", "name", found, "what was written and verified", hint)
