"""How a release comes to its names in a warehouse, which knows no transaction over several tables.

The objects are written and verified under names of their own. Then one transaction of the ledger has the release with
the intent to rename them, and after the renaming another one the end of the job. From the intent on the release is
only ever completed, however often that is interrupted; before it, what was written is dropped.
"""

import logging
import re
from dataclasses import replace

from tableveil.backend import Database, WarehouseSession, drop, scoped, table
from tableveil.control import Stopped
from tableveil.errors import ConflictError, TableveilError, shortened
from tableveil.lifecycle.entry import end_job
from tableveil.lifecycle.standing import own_prefix, place_of
from tableveil.lifecycle.target import objects_called
from tableveil.policy import ReleaseTarget
from tableveil.release.objects import mark
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state import jobs
from tableveil.state.releases import RELEASES
from tableveil.state.trials import SWAPS, Swap, open_swaps

logger = logging.getLogger("tableveil.sql")


def staged(session: WarehouseSession, target: ReleaseTarget, number: int) -> ReleaseTarget:
    """The names under which the objects of the release of that number are written and verified.

    They have the session's token, so that a later process can end what still writes to them.
    """
    return replace(target, name=f"{own_prefix(session.ledger)}{number}_{session.token}")


def discard(session: WarehouseSession, held: ReleaseTarget) -> None:
    """Drops what was staged for a release, unless the ledger has it."""
    if any(swap.staged == held.name for _, swap in _open(session)):
        return
    for listed in session.listed(held.schema):
        if listed.name.startswith(held.name):
            session.execute(drop("TABLE", table(listed.name, held.schema, session.catalog), if_exists=True))


def _open(session: WarehouseSession) -> list[tuple[int, Swap]]:
    """The intents of a warehouse, with the numbers of their releases."""
    swaps = SWAPS.of(session.ledger, open_swaps(session.ledger, session.catalog))
    return [(number, swap) for number, (swap,) in sorted(swaps.items())]


def complete(session: WarehouseSession, number: int) -> None:
    """Renames the objects of a release whose intent is in the ledger, and ends its job; may be called again.

    Raises:
        ConflictError: something foreign took a name meanwhile, or an object has other rows than were verified.
    """
    ledger = session.ledger
    # Not as the principal of a job sees it: it may be another's.
    (release,), (swap,) = RELEASES.where(ledger, "number = ?", [number]), SWAPS.of(ledger, [number])[number]
    schema = release.place
    written = {item.name: swap.staged + item.name[len(release.target_name) :] for item in release.objects}
    marks = {item.name: item.mark for item in release.objects}
    there = objects_called(session, schema, [*written, *written.values(), *swap.replaced])
    standing = {name.casefold() for name in there}
    for name, own in written.items():
        # An interruption may have come between the renaming of two.
        stands = next((place for place in (own, name) if place.casefold() in standing), own)
        if stands.casefold() not in standing or mark(session, schema, stands) != marks[name]:
            found = f"{shortened(stands)}, which is gone or has other rows than were verified"
            hint = "Somebody else writes to the schema of releases: take that right away, and withdraw the release."
            raise ConflictError.of("RELEASE_CHANGED", "release.name", found, "the rows that were written", hint)
        if stands == name:
            continue
        taken = next((each for each in there if each.casefold() == name.casefold()), None)
        if taken is not None and taken not in swap.replaced:
            found = f"{shortened(name)}, which was made while releases/{number} was written"
            hint = "Rename it and restart the server: that completes the release."
            raise ConflictError.of("TARGET_EXISTS", "release.name", found, "nothing of that name", hint)
        if taken is not None:
            session.execute(drop("TABLE", table(taken, schema, session.catalog)))
        session.rename(table(own, schema, session.catalog), table(name, schema, session.catalog))
    names = {name.casefold() for name in written}
    for other in swap.replaced:
        if other in there and other.casefold() not in names:
            session.execute(drop("TABLE", table(other, schema, session.catalog)))
    with session.embedded.transaction():
        SWAPS.delete(ledger, number)
        if not jobs.has_ended(ledger, release.job):
            end_job(ledger, release)


def complete_all(session: WarehouseSession) -> None:
    """Completes all releases whose intent is in the ledger, but for those whose names something foreign took.

    Call it while no other job writes to the ledger.
    """
    for number in open_swaps(session.ledger, session.catalog):
        try:
            complete(session, number)
            logger.info("releases/%d completed in the warehouse %s", number, session.catalog)
        except ConflictError as error:
            logger.error("releases/%d is not completed: %s", number, error)


def recover(database: Database, warehouse: str) -> None:
    """Completes the releases whose intent is in the ledger, and drops what else was staged.

    Call it before jobs run. A warehouse that does not answer is tried again at the next start, and before each release.
    """
    with database.session() as embedded:
        targets = jobs.target_schemas(embedded.ledger)
        schemas = [schema for schema in targets if schema.startswith(scoped(warehouse, ""))]
        if not schemas:
            return
        try:
            with database.rows_session(embedded, warehouse) as session:
                complete_all(session)
                own = [schema.removeprefix(scoped(warehouse, "")) for schema in schemas]
                for schema in (*own, STATE_SCHEMA):
                    _discard_all(session, schema)
        except (TableveilError, Stopped) as error:
            logger.error("the warehouse %s is not recovered: %s", warehouse, getattr(error, "code", "stopped"))


def _waiting(session: WarehouseSession) -> set[str]:
    """The names of what waits in the warehouse."""
    asked = RELEASES.where(session.ledger, "warehouse = ? AND needs_approval", [session.catalog])
    waiting = [release for release in asked if release.waits]
    return {place_of(session, release, release.target_name)[1] for release in waiting}


def _discard_all(session: WarehouseSession, schema: str) -> None:
    """Drops what an earlier process staged in a schema for releases that the ledger does not have, or has no more."""
    decided, ended = {swap.staged for _, swap in _open(session)} | _waiting(session), set[str]()
    for listed in session.listed(schema):
        match = re.match(rf"{own_prefix(session.ledger)}\d+_([0-9a-f]+)", listed.name)
        if match and match[0] not in decided:
            if match[1] not in ended:
                session.end(match[1])
                ended.add(match[1])
            session.execute(drop("TABLE", table(listed.name, schema, session.catalog), if_exists=True))
