"""The command listens where it says."""

import resource
import signal
import socket
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tableveil.console.run import run_console
from tableveil.console.settings import ConsoleSettings
from tableveil.errors import BusyError
from tableveil.serving.front import SECONDS_TO_ASK
from tests.e2e.forked import Command


def test_a_free_port_is_told() -> None:
    console = Command("console", "--service", "127.0.0.1:1", "--address", "127.0.0.1:0")
    try:
        address = console.stdout.readline().split()[-1]
        assert not address.endswith(":0")
        with urllib.request.urlopen(f"{address}/sign-in", timeout=60) as answer:
            assert b"Your token" in answer.read()
    finally:
        console.send_signal(signal.SIGTERM)
        console.wait()


def test_an_address_that_cannot_be_had_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = ConsoleSettings("127.0.0.1:1", port=taken.getsockname()[1])
        with pytest.raises(BusyError) as error:
            run_console(settings, print)
    assert (error.value.code, error.value.faults[0].field) == ("ADDRESS_IN_USE", "address")


def test_half_sent_requests_of_strangers_keep_nobody_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    console = Command("console", "--service", "127.0.0.1:1", "--address", "127.0.0.1:0", log=log)
    try:
        address = console.stdout.readline().split()[-1]
        # As many descriptors as 48 connections need.
        resource.prlimit(console.number, resource.RLIMIT_NOFILE, (400, 400))
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        with ExitStack() as opened:
            strangers = [opened.enter_context(socket.create_connection(place, 60)) for _ in range(200)]
            for number, stranger in enumerate(strangers):
                with suppress(ConnectionError):
                    stranger.sendall((b"GET /sign-in HT", b"\0\xff\r\n\r\n")[number % 2])
            started = time.monotonic()
            with urllib.request.urlopen(f"{address}/sign-in", timeout=60) as answer:
                assert b"Your token" in answer.read()
            assert time.monotonic() - started < 5
            # Nobody is here any more after the time in which to ask.
            for stranger in strangers:
                stranger.settimeout(SECONDS_TO_ASK + 20)
                with suppress(ConnectionError):
                    while stranger.recv(2**16):
                        pass
        assert log.read_text().count("\n") <= 3
    finally:
        console.send_signal(signal.SIGTERM)
        console.wait()
