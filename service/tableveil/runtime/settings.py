"""The settings of jobs."""

from collections.abc import Collection
from dataclasses import dataclass, field

from tableveil.runtime.queue import QueueLimits


@dataclass(frozen=True, slots=True)
class JobSettings:
    """How many jobs run and wait, on which memory, and what waits for approval.

    Running jobs share `memory` bytes, None for the database's memory limit. Releases into the schemas `approval` wait
    until another person approves them.
    """

    concurrent_jobs: int = 2
    limits: QueueLimits = field(default_factory=QueueLimits)
    memory: int | None = None
    approval: Collection[str] = ()


DEFAULT_SETTINGS = JobSettings()
