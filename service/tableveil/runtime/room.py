"""Room on the disk for a job: refuses it before it begins if its least need clearly does not fit."""

from decimal import Decimal

from tableveil.backend import Database, Session, catalog
from tableveil.operate import LEAST_FREE_BYTES, check_free_space, free_bytes
from tableveil.pipelines.work import Work
from tableveil.policy import Policy, Role, TableReference
from tableveil.source import Source
from tableveil.source.facts import estimated_values, records_in
from tableveil.source.model import Column
from tableveil.source.tables import columns_of

_CERTAIN = Decimal("0.5")
"""The least share of their size in the source that different texts take in a release.

Rows are sorted there, which does not halve texts that take much room, unless they repeat.
"""


def check_room(database: Database, session: Session, work: Work, source: TableReference) -> None:
    """Raises `BusyError` if there is less than must stay free, or clearly less than the released rows will take.

    Rows are spilled to this file system, too, which may need more: no bound for that is known before.
    """
    place, wanted = database.path.parent, 0
    # No source takes more than the file, so nothing needs to be computed while there is room for another such file.
    is_scarce = free_bytes(place) < LEAST_FREE_BYTES + database.path.stat().st_size
    if is_scarce and work.released is not None and not work.warehouse:
        wanted = max(0, least_bytes(session, work.released, source) - catalog.unused_bytes(session))
    check_free_space(place, "database file system", wanted)


def least_bytes(session: Session, policy: Policy, reference: TableReference) -> int:
    """The least bytes of a release's rows: those that cannot be suppressed, in columns that stay unchanged.

    Only different texts count: sorted numbers and repeated texts may shrink to next to nothing. 0 if it is unknown: for
    a query, a view, a subset, records that are chosen one by one.
    """
    is_subset = policy.population is not None and policy.population.subset_column
    if policy.source_query or is_subset or policy.has_own_levels:
        return 0
    stored = catalog.column_bytes(session, reference)
    kept = {item.column for item in policy.attributes if item.role in (Role.SENSITIVE, Role.INSENSITIVE)} & set(stored)
    if not kept:
        return 0
    columns = tuple(
        source_column for source_column in columns_of(session, reference) if isinstance(source_column, Column)
    )
    source = Source(reference, columns)
    texts = [
        source_column.name
        for source_column in columns
        if source_column.name in kept and source_column.type == "VARCHAR"
    ]
    if not texts or not (records := records_in(session, source)):
        return 0
    different = estimated_values(session, source, texts)
    size = sum(stored[name] * min(records, different[name]) for name in texts)
    return int(_CERTAIN * (1 - policy.suppression_limit) * size / records)
