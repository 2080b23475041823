"""The life of the server's process: it is opened, announced, and ended by a signal."""

import logging
import os
import sys
import threading

from tableveil.server.server import TableveilServer
from tableveil.serving.log import configure_log
from tableveil.serving.settings import STOP_LIMIT_SECONDS, ServeSettings
from tableveil.serving.signals import on_signals
from tableveil.serving.version import installed_version

logger = logging.getLogger("tableveil.server")

WAKING_SECONDS = 0.5

SWITCH_SECONDS = 0.0005
"""A call gives up Python's lock in each of its statements, and a search beside it holds the lock as long as this:
Python's own 5 ms made calls wait longer for the lock than for the database."""


def run_server(settings: ServeSettings) -> int:
    """Serves until SIGTERM or SIGINT and returns the exit code, 0; call it in the main thread.

    If the database fails and must be reopened, the server ends by itself and returns 1: its supervisor has to start it
    again.

    One line on standard output says when the server is ready, with the port it listens on. The log goes to standard
    error. A second signal ends the process at once, without losing anything that was committed. Work that does not end
    in time ends with the process; then the function does not return.

    Raises:
        TableveilError: a setting is invalid, the database cannot be opened, or the address cannot be used.
    """
    configure_log(settings.log_format)
    # The database, if the server creates it, and the files beside it hold raw values.
    os.umask(0o077)
    sys.setswitchinterval(SWITCH_SECONDS)
    stop = threading.Event()
    with on_signals(stop):
        server = TableveilServer(settings)
        print(
            f"Tableveil {installed_version()} serves {settings.database} on {', '.join(server.addresses)}", flush=True
        )
        # Another thread may have got the signal: this one, in which Python handles it, has to wake up by itself.
        while works := server.works():
            if stop.wait(WAKING_SECONDS):
                break
        logger.info("stopping")
        if not works:
            logger.error("the database failed and must be opened anew: start the server again")
            stop.set()
        code = 0 if works else 1
        # In a thread of its own, so that this one is free to handle the second signal.
        ended: list[bool] = []
        closing = threading.Thread(target=lambda: ended.append(server.close()), name="tableveil-close", daemon=True)
        closing.start()
        closing.join(STOP_LIMIT_SECONDS)
        if ended != [True]:
            # Python would wait for the threads that still run.
            logger.warning("stopped, with work given up that did not end in time; nothing that was committed is lost")
            os._exit(code)
    logger.info("stopped")
    return code
