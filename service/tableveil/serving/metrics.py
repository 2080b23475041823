"""Answers monitoring and probes at an address of their own."""

from collections.abc import Callable

from tableveil.fair_use import Places
from tableveil.metrics import Metrics, MetricsAddress
from tableveil.serving.address import listening_for_probes
from tableveil.serving.settings import IDLE_READERS


def listen_for_metrics(address: str, metrics: Metrics, ready: Callable[[], bool]) -> MetricsAddress:
    """Answers monitoring and probes at a checked address.

    Raises:
        BusyError: another process listens there.
        InvalidError: this machine cannot listen there.
    """
    with listening_for_probes(address, "metrics_address") as place:
        return MetricsAddress(*place, metrics, ready, Places(IDLE_READERS).take)
