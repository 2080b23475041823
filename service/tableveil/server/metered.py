"""The server's figures: what it counts, what it is asked for, and the address at which they are read."""

import math
from collections.abc import Callable, Mapping
from datetime import UTC
from pathlib import Path

from tableveil.audit import Audit
from tableveil.backend import Database, Ledger
from tableveil.errors import TableveilError
from tableveil.metrics import Metrics
from tableveil.operate import free_bytes
from tableveil.runtime import FailureKind, JobManager
from tableveil.server.call import Call
from tableveil.server.endpoint import ServerEndpoint
from tableveil.state import backups, publications
from tableveil.state.jobs import JobKind, JobState
from tableveil.state.publications import PublicationState

STEPS = {
    FailureKind.UNAUTHENTICATED: "authentication",
    FailureKind.BUSY: "fair_use",
    FailureKind.DENIED: "authorization",
    # Also a name that is not the caller's reads like this.
    FailureKind.NOT_FOUND: "authorization",
}
"""The steps of access control that refuse calls, by the failures that they end in."""


class Meter:
    """Counts calls, as the `CallMeter` of access control, and jobs, as their `Observer`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def began(self, call: Call) -> None:
        """Nothing is known of it but the method."""
        self._metrics.call_began()

    def ended(self, call: Call) -> None:
        """It has its code."""
        self._metrics.call_ended(call.method, call.code.name, call.seconds())
        if call.failure and not call.allowed and (door := STEPS.get(call.failure.kind)):
            self._metrics.call_denied(door)

    def job_started(self, waited_seconds: float) -> None:
        """A job left the queue."""
        self._metrics.job_started(waited_seconds)

    def job_ended(self, kind: JobKind, state: JobState, phases: Mapping[str, float], released_rows: int) -> None:
        """A job ended."""
        self._metrics.job_ended(kind.value.lower(), state.value.lower(), phases, released_rows)

    def publication_ended(self, target: str, outcome: PublicationState) -> None:
        """An attempt to publish or to remove ended."""
        self._metrics.publication_ended(target, outcome.value.lower())


def watch_server(
    metrics: Metrics, database: Database, jobs: JobManager, audit: Audit, endpoint: ServerEndpoint
) -> None:
    """Lets the metrics ask for what nobody counts."""
    file = database.path
    log = file.with_name(f"{file.name}.wal")
    metrics.watch("tableveil_ready", "Whether it takes calls: 1 or 0.", lambda: endpoint.ready)
    metrics.watch("tableveil_queued_jobs", "Jobs that wait.", lambda: jobs.load().queued)
    metrics.watch("tableveil_running_jobs", "Jobs that run.", lambda: jobs.load().running)
    metrics.watch(
        "tableveil_oldest_queued_job_seconds", "How long a job waits by now.", lambda: jobs.load().oldest_seconds
    )
    metrics.watch("tableveil_memory_granted_bytes", "Memory that running jobs have.", lambda: jobs.load().granted)
    metrics.watch("tableveil_memory_limit_bytes", "Memory that jobs share.", lambda: jobs.load().memory)
    metrics.watch("tableveil_disk_free_bytes", "Room beside the database.", lambda: free_bytes(file.parent))
    metrics.watch("tableveil_database_bytes", "The database and its log.", lambda: _size(file) + _size(log))
    metrics.watch("tableveil_audit_lag_entries", "Entries that the database does not have yet.", lambda: audit.lag)
    metrics.watch(
        "tableveil_last_backup_timestamp_seconds",
        "When the last backup was made; not a number if none was.",
        lambda: _in_state(database, last_backup_seconds),
    )
    metrics.watch(
        "tableveil_failed_publications",
        "Releases whose last attempt at a target failed.",
        lambda: _in_state(database, failed_publications),
    )
    if (certificates := endpoint.certificates) is not None:
        metrics.watch(
            "tableveil_certificate_expiry_timestamp_seconds",
            "When the server's certificate expires.",
            lambda: certificates.ends.timestamp(),
        )


def last_backup_seconds(ledger: Ledger) -> float:
    """When the last backup was made, in seconds since 1970; not a number if none was."""
    noted = backups.latest_first(ledger)
    return noted[0].made_at.replace(tzinfo=UTC).timestamp() if noted else math.nan


def failed_publications(ledger: Ledger) -> float:
    """How many publications failed at their last attempt."""
    return float(len(publications.failing(ledger)))


def _in_state(database: Database, read: Callable[[Ledger], float]) -> float:
    """A figure that the state has; not a number while the database cannot be read."""
    try:
        with database.ledger() as ledger:
            return read(ledger)
    except TableveilError:
        return math.nan


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
