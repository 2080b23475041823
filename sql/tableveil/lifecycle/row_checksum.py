"""The checksum of a release's rows as they were written: of the ledger, or computed while they stand."""

from tableveil.backend import Session, table
from tableveil.lifecycle.standing import place_of
from tableveil.lifecycle.target import objects_called
from tableveil.lifecycle.withdraw import is_as_written
from tableveil.release.checksum import checksum
from tableveil.state import reports
from tableveil.state.releases import Release, StandingRelease


def stands(release: Release | StandingRelease) -> bool:
    """Whether the rows of a release are in the embedded database: neither gone nor in a warehouse."""
    return not release.warehouse and (release.current or release.waits)


def written_checksum(session: Session, release: Release | StandingRelease) -> str:
    """The checksum, which the ledger keeps from now on; call it in a transaction.

    Empty: the ledger has none, and the rows are gone, in a warehouse, or changed since they were written.

    Raises:
        Stopped: the session's control says to stop.
    """
    recorded = reports.row_checksum(session.ledger, release.number)
    if recorded or not stands(release):
        return recorded
    (item,) = (item for item in release.objects if item.name == release.target_name)
    schema, name = place_of(session, release, item.name)
    if not is_as_written(session, release, item, objects_called(session, schema, [name])):
        return ""
    computed = checksum(session, table(name, schema, session.catalog))
    reports.keep_row_checksum(session.ledger, release.number, computed)
    return computed
