"""Room on the disk for a job: whether what it must write at the least finds any, said before it begins."""

from __future__ import annotations

from decimal import Decimal

from tableveil.backend import Database, Session, catalog
from tableveil.operate import LEAST_FREE_BYTES, check_free_space, free_bytes
from tableveil.pipelines.work import ReleaseWork, Work
from tableveil.policy import Policy, Role, TableReference
from tableveil.source import Source
from tableveil.source.facts import estimated_values, records_in
from tableveil.source.model import Column
from tableveil.source.tables import columns_of

_CERTAIN = Decimal("0.5")
"""The share of what different texts take in the source that they take in a release at the least, whose rows are sorted:
no texts that take much room are made half as large by that, unless they are the same ones over and over."""


def check_room(database: Database, session: Session, work: Work, source: TableReference) -> None:
    """Raises `BusyError` if there is less than stays free anyway, or clearly less than the released rows will take.

    Rows are spilled to the same file system, which may need more: of that nothing is certain before.
    """
    place, wanted = database.path.parent, 0
    # No source takes more than the file, so that there is nothing to ask as long as there is room for another.
    is_scarce = free_bytes(place) < LEAST_FREE_BYTES + database.path.stat().st_size
    if is_scarce and isinstance(work, ReleaseWork):
        wanted = max(0, least_bytes(session, work.policy, source) - catalog.unused_bytes(session))
    check_free_space(place, "database file system", wanted)


def least_bytes(session: Session, policy: Policy, reference: TableReference) -> int:
    """What the rows of a release take at the least: those that cannot be suppressed, in columns that stay as they are.

    Only texts count, as far as they differ: of sorted numbers and repeated texts next to nothing may be left. 0 for
    what is not known before: a query, a view, a subset, records that are chosen one by one.
    """
    is_subset = policy.population is not None and policy.population.subset_column
    if policy.source_query or is_subset or policy.has_own_levels:
        return 0
    stored = catalog.column_bytes(session, reference)
    kept = {item.column for item in policy.attributes if item.role in (Role.SENSITIVE, Role.INSENSITIVE)} & set(stored)
    if not kept:
        return 0
    columns = tuple(found for found in columns_of(session, reference) if isinstance(found, Column))
    source = Source(reference, columns)
    texts = [found.name for found in columns if found.name in kept and found.type == "VARCHAR"]
    if not texts or not (records := records_in(session, source)):
        return 0
    different = estimated_values(session, source, texts)
    size = sum(stored[name] * min(records, different[name]) for name in texts)
    return int(_CERTAIN * (1 - policy.suppression_limit) * size / records)
