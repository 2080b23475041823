"""The command listens where it says."""

from __future__ import annotations

import signal
import socket
import urllib.request

import pytest

from tableveil.console.run import run_console
from tableveil.console.settings import ConsoleSettings
from tableveil.errors import BusyError
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
