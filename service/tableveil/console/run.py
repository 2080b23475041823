"""Running a console until it is stopped."""

from __future__ import annotations

from pathlib import Path

import uvicorn

from tableveil.console.app import make_app
from tableveil.console.sessions import Sessions
from tableveil.console.settings import ConsoleSettings


def run_console(settings: ConsoleSettings) -> None:
    """Serves the console until Ctrl-C or SIGTERM.

    Raises:
        InvalidError: others could read what visitors see.
    """
    settings.check()
    uvicorn.Server(configured(settings)).run()


def configured(settings: ConsoleSettings) -> uvicorn.Config:
    """The server of a console, without a log of addresses: these name tables."""
    return uvicorn.Config(
        make_app(settings, Sessions()),
        host=settings.host,
        port=settings.port,
        ssl_certfile=_text(settings.tls_certificate),
        ssl_keyfile=_text(settings.tls_key),
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=64 * 1024,
    )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
