"""What the servicers need of the rest of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa

from tableveil.control import Control
from tableveil.dictionary import Preview, PreviewRequest
from tableveil.drafting import PolicyDraft
from tableveil.errors import Checked
from tableveil.hierarchy import StoredLevels
from tableveil.jobs.loads import Loaded, LoadRequest, Stream
from tableveil.jobs.model import Job
from tableveil.jobs.tables import ListedTable
from tableveil.jobs.work import Work
from tableveil.operate import Backup, Finding
from tableveil.policy import Policy, TableReference
from tableveil.source.description import TableDescription
from tableveil.state.classifications import Classification
from tableveil.state.compare_hierarchies import Comparison
from tableveil.state.frontiers import Frontier
from tableveil.state.hierarchies import Stored
from tableveil.state.loads import Load
from tableveil.state.payout_sweeps import PayoutSweep
from tableveil.state.releases import Release
from tableveil.state.risk_analyses import RiskAnalysis
from tableveil.state.utility_reports import Stored as StoredUtility

Result = TypeVar("Result", covariant=True)


class Jobs(Protocol):
    """See `tableveil.jobs.JobManager`."""

    def check(self, policy: Policy, /, *, rows: bool) -> Checked:
        """What would keep a job from searching, and warnings; with or without reading the source's rows."""
        ...

    def submit(self, work: Work, /, *, again: bool = False) -> Job:
        """Queues a job; with `again` a new one, whatever the request id named."""
        ...

    def delete(self, number: int, /) -> None:
        """Deletes an ended job with what it found."""
        ...

    def withdraw(self, number: int, reason: str, /) -> None:
        """Drops the objects of a release."""
        ...

    def get(self, number: int, /) -> Job:
        """The job as it stands."""
        ...

    def page(self, before: int | None, size: int, /) -> list[Job]:
        """Jobs below a number, newest first."""
        ...

    def cancel(self, number: int, /) -> Job:
        """Asks a job to stop."""
        ...

    def watch(self, number: int, stopped: Callable[[], bool], /) -> Iterator[Job]:
        """The job and each change, until it ends or `stopped`, which is asked at least every half second."""
        ...


class Results(Protocol[Result]):
    """See `tableveil.jobs.results`."""

    def get(self, number: int, /) -> Result:
        """What has that number."""
        ...


class Releases(Results[Release], Protocol):
    """See `tableveil.jobs.Releases`."""

    def page(self, before: int | None, size: int, /) -> list[Release]:
        """Releases below a number, newest first."""
        ...

    def read(self, number: int, name: str, /) -> AbstractContextManager[pa.RecordBatchReader]:
        """The rows of a public object."""
        ...


class Hierarchies(Protocol):
    """See `tableveil.jobs.Hierarchies`."""

    def create(self, name: str, rows: Sequence[Sequence[str]], origin: str, /) -> Stored:
        """Stores a hierarchy's next version."""
        ...

    def page(self, after: tuple[str, int], size: int, /) -> list[Stored]:
        """Hierarchies after a name and version."""
        ...

    def preview(self, request: PreviewRequest, control: Control, /) -> Preview:
        """A look at any hierarchy."""
        ...

    def compare(self, earlier: StoredLevels, later: StoredLevels, examples: int, /) -> Comparison:
        """What differs between two versions."""
        ...

    def read(self, wanted: StoredLevels, /) -> AbstractContextManager[tuple[Stored, Iterator[list[tuple[str, ...]]]]]:
        """A version and its rows."""
        ...


class RiskAnalyses(Results[RiskAnalysis], Protocol):
    """See `tableveil.jobs.RiskAnalyses`."""

    def read_records(self, number: int, /) -> AbstractContextManager[pa.RecordBatchReader]:
        """The risks of each combination of values."""
        ...


class Classifications(Results[Classification], Protocol):
    """See `tableveil.jobs.Classifications`."""

    def page(self, before: int | None, size: int, /) -> list[Classification]:
        """Assessments below a number, newest first."""
        ...


class Drafts(Protocol):
    """See `tableveil.jobs.Drafts`."""

    def draft(self, table: TableReference, control: Control, query: str = "", /) -> PolicyDraft:
        """A draft of a policy for a table, or for the rows of a query if there is one."""
        ...


class Upkeep(Protocol):
    """See `tableveil.jobs.Upkeep`."""

    @property
    def database(self) -> Path:
        """The database file."""
        ...

    def examine(self) -> list[Finding]:
        """How everything is."""
        ...

    def back_up(self, name: str, control: Control, /) -> Backup:
        """Writes a backup."""
        ...


class Tables(Protocol):
    """See `tableveil.jobs.Tables`."""

    def page(self, after: tuple[str, str], size: int, /) -> list[ListedTable]:
        """Tables and views after a schema and name."""
        ...

    def describe(self, wanted: TableReference, most_values: int, control: Control, /) -> TableDescription:
        """What a table holds."""
        ...


class Loads(Protocol):
    """See `tableveil.jobs.Loads`."""

    def page(self, before: int | None, size: int, /) -> list[Load]:
        """Loads below a number, newest first."""
        ...

    def load(self, request: LoadRequest, stream: Callable[[], Stream], control: Control, /) -> Loaded:
        """Loads a table."""
        ...


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything but jobs that can be looked up."""

    releases: Releases
    hierarchies: Hierarchies
    frontiers: Results[Frontier]
    payout_sweeps: Results[PayoutSweep]
    risk_analyses: RiskAnalyses
    classifications: Classifications
    utility_reports: Results[StoredUtility]
    upkeep: Upkeep
    tables: Tables
    loads: Loads
    drafts: Drafts
