"""Running a console until it is stopped."""

import errno
import math
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import uvicorn

from tableveil.console.app import make_app
from tableveil.console.sessions import Sessions
from tableveil.console.settings import ConsoleSettings
from tableveil.errors import BusyError, InvalidError, shortened
from tableveil.serving.front import SECONDS_TO_ASK, Front, FrontLimits, Passages, spelled_host

_SHARE_OF_ADDRESS = 0.5
"""The share of all connections that one address may have: a single machine must not keep others out."""


def run_console(settings: ConsoleSettings, opened: Callable[[str], None]) -> None:
    """Serves the console until Ctrl-C or SIGTERM; `opened` gets its address once it listens there.

    Raises:
        InvalidError: others could read what visitors see, or this machine cannot listen there.
        BusyError: another process listens there.
    """
    settings.check()
    # Uploads are bounded by the disk, and strangers by the time in which they ask: uvicorn has no limit of its own.
    proxies = frozenset(map(spelled_host, settings.proxies))
    limits = FrontLimits(math.inf, _SHARE_OF_ADDRESS, proxies, SECONDS_TO_ASK)
    passages = Passages(limits)
    with socket.create_server(("127.0.0.1", 0)) as inner, _front(settings, inner.getsockname()[1], passages) as front:
        opened(_address(settings, front.port))
        uvicorn.Server(configured(settings, passages)).run(sockets=[inner])


def configured(settings: ConsoleSettings, passages: Passages) -> uvicorn.Config:
    """The server of a console, without a log of addresses, which name tables, and of what strangers send."""
    return uvicorn.Config(
        make_app(settings, Sessions(), passages),
        ssl_certfile=_text(settings.tls_certificate),
        ssl_keyfile=_text(settings.tls_key),
        access_log=False,
        log_level="error",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=64 * 1024,
    )


@contextmanager
def _front(settings: ConsoleSettings, inner: int, passages: Passages) -> Iterator[Front]:
    try:
        front = Front(settings.host, settings.port, inner, passages)
    except OSError as error:
        actual = f"{shortened(f'{settings.host}:{settings.port}')}, which the system refuses: {error.strerror}"
        if error.errno == errno.EADDRINUSE:
            raise BusyError.of("ADDRESS_IN_USE", "address", actual, "a port that is free") from None
        expected = "an address of this machine and a port one may use"
        raise InvalidError.of("ADDRESS_UNUSABLE", "address", actual, expected) from None
    with closing(front):
        yield front


def _address(settings: ConsoleSettings, port: int) -> str:
    """As a browser takes it; a port of 0 is another one by now."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.secure else 'http'}://{host}:{port}"


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
