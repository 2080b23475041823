"""The figures that an endpoint has beside those of its calls."""

from __future__ import annotations

from collections.abc import Callable

from tableveil.metrics import Metrics


def watch_endpoint(metrics: Metrics, ready: Callable[[], bool], running: Callable[[], int], limit: int) -> None:
    """Lets the metrics ask for what nobody counts."""
    metrics.watch("tableveil_ready", "Whether it takes calls: 1 or 0.", ready)
    metrics.watch("tableveil_running_queries", "Queries that run.", running)
    metrics.watch("tableveil_queries_limit", "Queries that may run at once.", lambda: limit)
