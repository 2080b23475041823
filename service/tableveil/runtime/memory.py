"""The memory that jobs share and their room on the disk: a job's need, and whether it fits."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from tableveil.backend import Database, Session, catalog
from tableveil.operate import LEAST_FREE_BYTES, check_free_space, free_bytes
from tableveil.pipelines.work import Work
from tableveil.policy import Policy, Role, TableReference
from tableveil.source import Source
from tableveil.source.facts import estimated_values, records_in
from tableveil.source.model import Column
from tableveil.source.tables import STATE_SCHEMA, columns_of

BYTES_PER_JOB = 96 * 2**20
"""A job's need for a table of any size: dictionaries, buffers of threads, pages that it writes."""

BYTES_PER_VALUE = 16
"""A job's need per value of its source if all combinations are different and nothing is spilled.

It is DuckDB's size of a text that it refers to, or two 64-bit numbers.
"""


@dataclass(slots=True)
class MemoryBudget:
    """Divides `total` bytes between up to `jobs` running jobs. Guard it by a lock of your own.

    DuckDB's limit is for the whole instance, and a job fails if others have used it up. So each job is granted its
    need, but at least an equal share, so that small jobs are never held up; a job that needs more than there is gets
    all, and spills. Numpy's memory is outside of DuckDB's limit and counts as if it were inside.
    """

    total: int
    jobs: int
    _granted: dict[int, int] = field(default_factory=dict)

    def share(self, need: int) -> int:
        """The bytes granted to a job with that need."""
        return min(max(need, self.total // self.jobs), self.total)

    def fits(self, need: int) -> bool:
        """Whether a job with that need can start beside those that run."""
        return self.granted + self.share(need) <= self.total

    def grant(self, job: int, need: int) -> int:
        """Takes the job's share and returns it."""
        self._granted[job] = self.share(need)
        return self._granted[job]

    @property
    def granted(self) -> int:
        """The bytes that running jobs have."""
        return sum(self._granted.values())

    @property
    def holders(self) -> int:
        """How many jobs have memory: those that run."""
        return len(self._granted)

    def release(self, job: int) -> None:
        """Gives the job's share back."""
        del self._granted[job]


def estimated_need(session: Session, reads: Iterable[TableReference]) -> int:
    """An estimate of the bytes that a job needs to read these tables.

    It is computed from their rows and columns before anything is read. A view may read any table, and counts as the one
    with the most values.
    """
    values = {
        (listed_table.schema, listed_table.name): listed_table.values
        for listed_table in catalog.listed(session)
        if listed_table.values is not None and listed_table.schema != STATE_SCHEMA
    }
    largest = max(values.values(), default=0)
    return BYTES_PER_JOB + BYTES_PER_VALUE * sum(
        values.get((table.schema or "main", table.table), largest) for table in reads
    )


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
