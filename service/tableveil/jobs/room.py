"""Room on the disk for a job: whether what it must write at the least finds any, said before it begins."""

from __future__ import annotations

from decimal import Decimal

from tableveil.backend import Database, Session
from tableveil.jobs.work import ReleaseWork, Work
from tableveil.operate import LEAST_FREE_BYTES, check_free_space, free_bytes
from tableveil.policy import Policy, Role, TableReference
from tableveil.source.stored import stored_bytes, unused_bytes

_CERTAIN = Decimal("0.5")
"""The share of what columns take in the source that they take in a release at the least: in another order of the rows
they may be compressed better, but no column that takes much room is made half as large by that."""


def check_room(database: Database, session: Session, work: Work, source: TableReference) -> None:
    """Raises `BusyError` if there is less than stays free anyway, or clearly less than the released rows will take.

    Rows are spilled to the same file system, which may need more: of that nothing is certain before.
    """
    place, wanted = database.path.parent, 0
    # No source takes more than the file, so that there is nothing to ask as long as there is room for another.
    is_scarce = free_bytes(place) < LEAST_FREE_BYTES + database.path.stat().st_size
    if is_scarce and isinstance(work, ReleaseWork):
        wanted = max(0, least_bytes(session, work.policy, source) - unused_bytes(session))
    check_free_space(place, "database file system", wanted)


def least_bytes(session: Session, policy: Policy, source: TableReference) -> int:
    """What the rows of a release take at the least: those that cannot be suppressed, in columns that stay as they are.

    0 for what is not known before: a query, a view, a subset, records that are chosen one by one.
    """
    is_subset = policy.population is not None and policy.population.subset_column
    if policy.source_query or is_subset or policy.record_level is not None:
        return 0
    kept = [item.column for item in policy.attributes if item.role in (Role.SENSITIVE, Role.INSENSITIVE)]
    return int(_CERTAIN * (1 - policy.suppression_limit) * stored_bytes(session, source, kept))
