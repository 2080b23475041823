"""The memory that jobs share: an estimate of a job's need, and whether it fits beside the running ones."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tableveil.backend import Session, catalog
from tableveil.policy import TableReference
from tableveil.source.tables import STATE_SCHEMA

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
