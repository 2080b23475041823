"""The server's figures: what it counts, what it is asked for, and the address at which they are read."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path

from tableveil.audit import Audit
from tableveil.backend import Database
from tableveil.errors import BusyError, InvalidError, shortened
from tableveil.metrics import Metrics, MetricsAddress
from tableveil.operate import free_bytes
from tableveil.runtime import FailureKind, JobManager
from tableveil.server.address import check_metrics_address
from tableveil.server.call import Call
from tableveil.server.endpoint import Endpoint
from tableveil.state.jobs import JobState
from tableveil.state.kinds import JobKind
from tableveil.state.publications import PublicationState

DOORS = {
    FailureKind.UNAUTHENTICATED: "authentication",
    FailureKind.BUSY: "fair_use",
    FailureKind.DENIED: "authorization",
    # Also a name that is not the caller's reads like this.
    FailureKind.NOT_FOUND: "authorization",
}
"""The doors at which calls are refused, by the failures that they end in."""


class Meter:
    """Counts calls, as the `Meter` of the doors, and jobs, as their `Observer`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def began(self, call: Call) -> None:
        """Nothing is known of it but the method."""
        self._metrics.call_began()

    def ended(self, call: Call) -> None:
        """It has its code."""
        self._metrics.call_ended(call.method, call.code.name, call.seconds())
        if call.failure and not call.allowed and (door := DOORS.get(call.failure.kind)):
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


def watch_server(metrics: Metrics, database: Database, jobs: JobManager, audit: Audit, endpoint: Endpoint) -> None:
    """Lets the metrics ask for what nobody counts."""
    file = database.path
    log = file.with_name(f"{file.name}.wal")
    metrics.watch("tableveil_ready", "Whether the server takes calls.", lambda: endpoint.ready)
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
    if (certificates := endpoint.certificates) is not None:
        metrics.watch(
            "tableveil_certificate_expiry_timestamp_seconds",
            "When the server's certificate expires.",
            lambda: certificates.ends.timestamp(),
        )


def listen_for_metrics(address: str, metrics: Metrics, endpoint: Endpoint) -> MetricsAddress:
    """Answers monitoring and probes at a checked address.

    Raises:
        BusyError: another process listens there.
        InvalidError: this machine cannot listen there.
    """
    try:
        return MetricsAddress(*check_metrics_address(address, allow_remote=True), metrics, lambda: endpoint.ready)
    except OSError as error:
        found = f"{shortened(address)}, which the system refuses: {error.strerror}"
        if error.errno == errno.EADDRINUSE:
            raise BusyError.of("ADDRESS_IN_USE", "metrics_address", found, "a port that is free") from None
        raise InvalidError.of(
            "ADDRESS_UNUSABLE", "metrics_address", found, "an address of this machine and a port one may use"
        ) from None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
