"""What the servicers need of the rest of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from tableveil.errors import Fault
from tableveil.jobs.model import Job
from tableveil.policy import Policy
from tableveil.state.hierarchies import Stored
from tableveil.state.releases import Release


class Jobs(Protocol):
    """See `tableveil.jobs.JobManager`."""

    def check(self, policy: Policy, /) -> list[Fault]: ...
    def submit(self, policy: Policy, document: str, /) -> Job: ...
    def get(self, number: int, /) -> Job: ...
    def page(self, before: int | None, size: int, /) -> list[Job]: ...
    def cancel(self, number: int, /) -> Job: ...
    def watch(self, number: int, stopped: Callable[[], bool], /) -> Iterator[Job]: ...


class Releases(Protocol):
    """See `tableveil.jobs.Releases`."""

    def get(self, number: int, /) -> Release: ...
    def page(self, before: int | None, size: int, /) -> list[Release]: ...
    def read(self, number: int, name: str, /) -> AbstractContextManager[pa.RecordBatchReader]: ...


class Hierarchies(Protocol):
    """See `tableveil.jobs.Hierarchies`."""

    def create(self, name: str, rows: Sequence[Sequence[str]], /) -> Stored: ...
    def page(self, after: tuple[str, int], size: int, /) -> list[Stored]: ...
