"""The server's figures. Their labels are bounded, and name no table, principal or anything else that a caller chose."""

import math
from collections.abc import Callable, Collection, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import choose_encoder

# Otherwise every counter brings another figure, of when it was made.
disable_created_metrics()  # type: ignore[no-untyped-call]

OTHER_METHOD = "other"
"""Counts calls of methods that the server does not have: their names are the caller's."""

_CALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
_JOB_SECONDS = (0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 4 * 3600)


class Metrics:
    """Counts what happens, and asks for the rest when it is read. May be used from any thread."""

    def __init__(self, methods: Collection[str], version: str) -> None:
        """`methods` are those of the server, by their full names as calls have them."""
        self._methods = frozenset(methods)
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        info = Gauge("tableveil_info", "Always 1, with the version.", ["version"], registry=registry)
        info.labels(version).set(1)
        self._open = Gauge("tableveil_open_calls", "Calls that have not ended, streams included.", registry=registry)
        self._calls = Counter(
            "tableveil_calls", "Calls that ended, by method and gRPC code.", ["method", "code"], registry=registry
        )
        self._call_seconds = Histogram(
            "tableveil_call_seconds",
            "Duration of calls by method; a stream's is as long as it is open.",
            ["method"],
            buckets=_CALL_SECONDS,
            registry=registry,
        )
        self._denied = Counter(
            "tableveil_denied_calls",
            "Calls refused at a door: authentication, fair_use or authorization.",
            ["door"],
            registry=registry,
        )
        self._jobs_ended = Counter(
            "tableveil_jobs_ended", "Jobs that ended, by kind and state.", ["kind", "state"], registry=registry
        )
        self._waiting = Histogram(
            "tableveil_job_waiting_seconds",
            "Time that jobs waited before they started.",
            buckets=_JOB_SECONDS,
            registry=registry,
        )
        self._phases = Histogram(
            "tableveil_job_phase_seconds",
            "Time of jobs in each phase.",
            ["phase"],
            buckets=_JOB_SECONDS,
            registry=registry,
        )
        self._rows = Counter("tableveil_released_rows", "Rows that releases wrote.", registry=registry)
        self._publications = Counter(
            "tableveil_publications",
            "Attempts to publish releases or to remove them: published, removed, failed, or waiting to be tried again.",
            ["target", "outcome"],
            registry=registry,
        )

    def call_began(self) -> None:
        """A call came in; its method may be one that the server does not have."""
        self._open.inc()

    def call_ended(self, method: str, code: str, seconds: float) -> None:
        """A call ended with a gRPC code."""
        self._open.dec()
        method_name = method if method in self._methods else OTHER_METHOD
        self._calls.labels(method_name, code).inc()
        self._call_seconds.labels(method_name).observe(seconds)

    def call_denied(self, door: str) -> None:
        """A call was refused at a door, such as authentication."""
        self._denied.labels(door).inc()

    def job_started(self, waited_seconds: float) -> None:
        """A job left the queue."""
        self._waiting.observe(waited_seconds)

    def job_ended(self, kind: str, state: str, phases: Mapping[str, float], released_rows: int) -> None:
        """A job ended; `phases` are the seconds that it took in each."""
        self._jobs_ended.labels(kind, state).inc()
        for phase, seconds in phases.items():
            self._phases.labels(phase).observe(seconds)
        self._rows.inc(released_rows)

    def publication_ended(self, target: str, outcome: str) -> None:
        """An attempt at a target, which the operator named, ended."""
        self._publications.labels(target, outcome).inc()

    def watch(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """A figure that is asked for when the metrics are read; one that the system cannot tell is NaN."""
        Gauge(name, meaning, registry=self._registry).set_function(lambda: _told(read))

    def text(self, accepted: str = "") -> tuple[str, bytes]:
        """All figures, with their content type: a form that the reader accepts."""
        encoder, content_type = choose_encoder(accepted)
        return content_type, encoder(self._registry)


def _told(read: Callable[[], float]) -> float:
    try:
        return read()
    except OSError:
        return math.nan
