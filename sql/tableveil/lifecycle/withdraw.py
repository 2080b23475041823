"""Withdraws a release: drops its objects if they still exist, and notes that in the ledger."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext

import duckdb

from tableveil.backend import Database, WarehouseSession, drop, table
from tableveil.control import Control
from tableveil.errors import ConflictError, Fault, InternalError
from tableveil.lifecycle.standing import place_of
from tableveil.lifecycle.target import count_rows, objects_called
from tableveil.policy import ReleaseKind
from tableveil.release.objects import mark, snapshot
from tableveil.source.tables import STATE_SCHEMA, views_reading
from tableveil.state import persons, sketches
from tableveil.state.decisions import WITHDRAWALS, Withdrawal
from tableveil.state.jobs import now
from tableveil.state.lineage import changing_rights
from tableveil.state.release_objects import ObjectKind, ReleaseObject
from tableveil.state.releases import Release, ReleaseState, StandingRelease
from tableveil.state.trials import SWAPS


def withdraw(
    database: Database,
    release: Release,
    reason: str,
    control: Control | None = None,
    unused: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Drops the objects of a current release and notes the withdrawal, in one transaction; the ledger entry stays.

    Objects that were changed after they were written are kept, and named in the withdrawal. In a warehouse objects are
    gone even if the transaction fails; withdrawing again then notes it. Looking at their rows takes
    time: only the commit is inside of `unused`, in which no job comes to use the release, and which raises if one does.

    Raises:
        ConflictError: views outside the release read its objects.
        InternalError: the commit left nothing behind.
        Stopped: `control` said so before the commit.
    """
    with database.session() as embedded, database.rows_session(embedded, release.warehouse) as session:
        embedded.control = session.control = control
        with ExitStack() as until_committed, changing_rights(database.path, session.ledger):
            _take_back(session, release, reason)
            # A release that could not come to its names would else be tried again at every start.
            SWAPS.delete(session.ledger, release.number)
            until_committed.enter_context(unused())
        if not WITHDRAWALS.of(session.ledger, [release.number]):
            message = f"the withdrawal of releases/{release.number} reported success but left nothing behind"
            raise InternalError("COMMIT_LOST", message)


def take_back_trial(session: WarehouseSession, release: Release, reason: str) -> None:
    """Drops the objects of a trial and what the ledger keeps of its people; call it in a transaction."""
    assert release.state is ReleaseState.TRIAL, "others were, or may be, seen by somebody"
    _take_back(session, release, reason)


def _take_back(session: WarehouseSession, release: Release, reason: str) -> None:
    kept = drop_written(session, release)
    if release.state is ReleaseState.TRIAL:
        # Nobody but its maker saw anything of it.
        sketches.forget(session.ledger, release.number)
        persons.forget(session.ledger, release.number)
    WITHDRAWALS.insert(session.ledger, [Withdrawal(now(), reason, tuple(kept))], release.number)


def drop_written(session: WarehouseSession, release: Release) -> list[str]:
    """Drops the objects of a release that are as they were written, and returns the names of the others that exist.

    Raises:
        ConflictError: views outside the release read its objects.
    """
    places = {item.name: place_of(session, release, item.name) for item in release.objects}
    there = objects_called(session, places[release.target_name][0], [name for _, name in places.values()])
    own = [item for item in release.objects if is_as_written(session, release, item, there)]
    _check_dependants(session, release, own)
    for item in own:
        schema, name = places[item.name]
        session.execute(drop(there[name].upper(), table(name, schema, session.catalog)))
    if release.kind is ReleaseKind.VIEW:
        session.execute(drop("TABLE", snapshot(release.number), if_exists=True))
    return [item.name for item in release.objects if places[item.name][1] in there and item not in own]


def is_as_written(
    session: WarehouseSession, release: Release | StandingRelease, item: ReleaseObject, there: Mapping[str, str]
) -> bool:
    """Whether an object is what the ledger says was written; `there` has the kinds of existing objects."""
    is_view = release.kind is ReleaseKind.VIEW and item.kind is ObjectKind.ROWS
    schema, name = place_of(session, release, item.name)
    if there.get(name) != ("view" if is_view else "table"):
        return False
    if item.mark and (release.warehouse or release.versions.get("duckdb") == duckdb.__version__):
        return mark(session, schema, name) == item.mark
    return count_rows(session, name, schema) == item.row_count


def _check_dependants(session: WarehouseSession, release: Release, own: list[ReleaseObject]) -> None:
    """Raises `ConflictError` for views that would break: DuckDB drops a table even if views read it.

    Not every engine tells which views read a table.
    """
    if not session.traits.knows_readers:
        return
    dropped = {
        (schema.casefold(), name.casefold()) for schema, name in (place_of(session, release, item.name) for item in own)
    }
    faults = [
        Fault(
            "name",
            f"{shown}, which reads what would be dropped",
            "no view that needs the release",
            "Drop the view, or let it read something else.",
        )
        for shown in views_reading(session.embedded, dropped, {(STATE_SCHEMA, f"snapshot_{release.number}")})
    ]
    if faults:
        message = f"releases/{release.number} cannot be withdrawn while others read it"
        raise ConflictError.about("RELEASE_HAS_DEPENDANTS", message, faults)
