"""The page of metrics, from a server's and an endpoint's own definitions."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from prometheus_client.parser import text_string_to_metric_families

from tableveil.endpoint.endpoint import watch_endpoint
from tableveil.metrics import Metrics
from tableveil.server.metered import watch_server
from tests.reference.markdown import head, names, table

INTRODUCTION = """\
Service and endpoint answer at `--metrics-address` over HTTP, without TLS or a token. `/metrics` has these figures in
the format of Prometheus, together with `process_*` for memory, processor time and open files. `/healthz` says whether
the process lives, and `/readyz` whether it takes calls. No label names a table, a principal, or anything else that a
caller chose. Calls of unknown methods count as one method, `other`.
[operator.md](../guides/operator.md#metrics) says what to watch.
"""


def page() -> Iterator[str]:
    """A table for the service, and one for the endpoint."""
    yield head("Metrics", "This page has every figure for monitoring.", "the definitions of the figures")
    yield INTRODUCTION
    of_service, of_endpoint = _service(), _endpoint()
    yield "## Service\n"
    yield from table(["metric", "type", "labels", "meaning"], of_service)
    yield "## Endpoint\n"
    yield "An endpoint has the figures of calls, and these of its own. Its methods are the commands of Flight SQL.\n"
    yield from table(["metric", "type", "labels", "meaning"], [row for row in of_endpoint if row not in of_service])


def _counted() -> Metrics:
    """Figures of which each has a label: otherwise their texts have none."""
    metrics = Metrics(["method"], "version")
    metrics.call_began()
    metrics.call_ended("method", "OK", 0.0)
    metrics.call_denied("authentication")
    metrics.job_started(0.0)
    metrics.job_ended("release", "failed", {"reading": 0.0}, 0)
    metrics.publication_ended("shelf", "published")
    return metrics


def _service() -> list[list[str]]:
    metrics, stub = _counted(), cast(Any, SimpleNamespace)
    database = stub(path=Path("database.duckdb"), ledger=_unreadable)
    load = stub(queued=0, running=0, oldest_seconds=0.0, granted=0, memory=0)
    watch_server(metrics, database, stub(load=lambda: load), stub(lag=0), stub(ready=True, certificates=_Certificates))
    return _rows(metrics)


def _endpoint() -> list[list[str]]:
    metrics = _counted()
    watch_endpoint(metrics, ready=lambda: True, running=lambda: 0, limit=1)
    return _rows(metrics)


def _unreadable() -> Any:
    raise OSError


class _Certificates:
    ends = SimpleNamespace(timestamp=lambda: 0.0)


def _rows(metrics: Metrics) -> list[list[str]]:
    _, text = metrics.text()
    families = text_string_to_metric_families(text.decode().replace("# EOF\n", ""))
    return [
        [
            f"`{family.name}{'_total' * (family.type == 'counter')}`",
            family.type,
            names(dict.fromkeys(label for sample in family.samples for label in sample.labels if label != "le")),
            family.documentation,
        ]
        for family in families
        if family.name.startswith("tableveil_")
    ]
