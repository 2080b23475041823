"""Answers monitoring and probes at an address of their own."""

from __future__ import annotations

import errno
from collections.abc import Callable

from tableveil.errors import BusyError, InvalidError, shortened
from tableveil.fair_use import Places
from tableveil.metrics import Metrics, MetricsAddress
from tableveil.serving.address import check_metrics_address
from tableveil.serving.settings import IDLE_READERS


def listen_for_metrics(address: str, metrics: Metrics, ready: Callable[[], bool]) -> MetricsAddress:
    """Answers monitoring and probes at a checked address.

    Raises:
        BusyError: another process listens there.
        InvalidError: this machine cannot listen there.
    """
    try:
        place = check_metrics_address(address, allow_remote=True)
        return MetricsAddress(*place, metrics, ready, Places(IDLE_READERS).take)
    except OSError as error:
        found = f"{shortened(address)}, which the system refuses: {error.strerror}"
        if error.errno == errno.EADDRINUSE:
            raise BusyError.of("ADDRESS_IN_USE", "metrics_address", found, "a port that is free") from None
        raise InvalidError.of(
            "ADDRESS_UNUSABLE", "metrics_address", found, "an address of this machine and a port one may use"
        ) from None
