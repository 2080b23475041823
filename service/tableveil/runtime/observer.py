"""For those who count jobs: what they are told, and what they may ask."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tableveil.state.jobs import JobState
from tableveil.state.kinds import JobKind
from tableveil.state.publications import PublicationState


class Observer(Protocol):
    """Is told of jobs and publications as they start and end, by the threads that run them."""

    def job_started(self, waited_seconds: float) -> None:
        """A job left the queue."""

    def job_ended(self, kind: JobKind, state: JobState, phases: Mapping[str, float], released_rows: int) -> None:
        """A job ended; `phases` are the seconds that it took in each."""

    def publication_ended(self, target: str, outcome: PublicationState) -> None:
        """An attempt to publish a release to a target, or to remove it from there, ended."""


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """How busy the server is; `oldest_seconds` is how long some job waits, and memory is in bytes."""

    queued: int
    running: int
    oldest_seconds: float
    granted: int
    memory: int


class Nobody:
    """An observer who does not look."""

    def job_started(self, waited_seconds: float) -> None:
        """Nothing."""

    def job_ended(self, kind: JobKind, state: JobState, phases: Mapping[str, float], released_rows: int) -> None:
        """Nothing."""

    def publication_ended(self, target: str, outcome: PublicationState) -> None:
        """Nothing."""
