"""The life of an endpoint's process."""

from __future__ import annotations

import logging
import os
import threading

from tableveil.endpoint.calls import hide_tracebacks
from tableveil.endpoint.endpoint import Endpoint
from tableveil.endpoint.settings import EndpointSettings
from tableveil.serving.log import configure_log
from tableveil.serving.signals import on_signals
from tableveil.serving.version import installed_version

logger = logging.getLogger("tableveil.endpoint")

_WAKING_SECONDS = 0.5


def run_endpoint(settings: EndpointSettings) -> None:
    """Serves until SIGTERM or SIGINT; call it in the main thread.

    One line on standard output says when it is ready, with the port it listens on. The log goes to standard error. A
    second signal ends the process at once.

    Raises:
        TableveilError: a setting is invalid, or the address cannot be used.
    """
    configure_log(settings.log_format)
    os.umask(0o077)
    hide_tracebacks()
    stop = threading.Event()
    with on_signals(stop):
        endpoint = Endpoint(settings)
        print(f"Tableveil {installed_version()} answers queries on {endpoint.uri}", flush=True)
        # Another thread may have got the signal: this one, in which Python handles it, has to wake up by itself.
        while not stop.wait(_WAKING_SECONDS):
            pass
        logger.info("stopping")
        endpoint.close()
    logger.info("stopped")
