"""Running a console until it is stopped."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from tableveil.console.app import make_app
from tableveil.console.sessions import Sessions
from tableveil.console.settings import ConsoleSettings
from tableveil.errors import BusyError, InvalidError, shortened


def run_console(settings: ConsoleSettings, opened: Callable[[str], None]) -> None:
    """Serves the console until Ctrl-C or SIGTERM; `opened` gets its address once it listens there.

    Raises:
        InvalidError: others could read what visitors see, or this machine cannot listen there.
        BusyError: another process listens there.
    """
    settings.check()
    with _listening(settings) as bound:
        opened(_address(settings, bound.getsockname()[1]))
        uvicorn.Server(configured(settings)).run(sockets=[bound])


def configured(settings: ConsoleSettings) -> uvicorn.Config:
    """The server of a console, without a log of addresses: these name tables."""
    return uvicorn.Config(
        make_app(settings, Sessions()),
        ssl_certfile=_text(settings.tls_certificate),
        ssl_keyfile=_text(settings.tls_key),
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=64 * 1024,
    )


def _listening(settings: ConsoleSettings) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        actual = f"{shortened(f'{settings.host}:{settings.port}')}, which the system refuses: {error.strerror}"
        if error.errno == errno.EADDRINUSE:
            raise BusyError.of("ADDRESS_IN_USE", "address", actual, "a port that is free") from None
        expected = "an address of this machine and a port one may use"
        raise InvalidError.of("ADDRESS_UNUSABLE", "address", actual, expected) from None


def _address(settings: ConsoleSettings, port: int) -> str:
    """As a browser takes it; a port of 0 is another one by now."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.secure else 'http'}://{host}:{port}"


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
