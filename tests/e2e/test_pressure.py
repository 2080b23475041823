"""Strangers and callers who announce much and send little: the server's memory stays within bounds, and it answers."""

import ssl
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tableveil.client import Client
from tests.campaign.served import Served, serving
from tests.http2 import Connection
from tests.service.tls.authorities import Authority

MEBIBYTES = 2**20
LARGEST = 16 * MEBIBYTES
MOST_BYTES = 512 * MEBIBYTES
SECONDS = 60.0
UNARY, UPLOAD, HEALTH = (
    "/tableveil.v1.JobService/CheckPolicy",
    "/tableveil.v1.TableService/LoadTable",
    "/grpc.health.v1.Health/Check",
)


def flood(server: Served, token: str | None, tls: ssl.SSLContext | None, calls: int, most: int) -> int:
    """The calls that stay open of so many half-sent ones over 20 connections, at most so many after a while."""
    with ExitStack() as opened:
        strangers = [opened.enter_context(Connection(server.address, token, tls)) for _ in range(20)]
        for number in range(calls):
            method = HEALTH if number % 25 == 0 else (UNARY, UPLOAD)[number % 2]
            strangers[number % 20].call(method, LARGEST)
        quiet_since = time.monotonic()
        until = quiet_since + SECONDS
        while time.monotonic() < until and (
            time.monotonic() < quiet_since + 0.5 or sum(stranger.open for stranger in strangers) > most
        ):
            if sum(stranger.pump() for stranger in strangers):
                quiet_since = time.monotonic()
            else:
                time.sleep(0.01)
        return sum(stranger.open for stranger in strangers)


@pytest.mark.parametrize(
    ("calls", "encrypted"),
    [(400, False), *(pytest.param(1000, encrypted, marks=pytest.mark.long) for encrypted in (False, True))],
)
def test_half_sent_messages_take_little_memory(tmp_path: Path, calls: int, encrypted: bool) -> None:
    options: tuple[str, ...] = ()
    tls, root = None, None
    if encrypted:
        authority = Authority(tmp_path / "authority")
        files, root = authority.server(), authority.certificate
        options = ("--tls-certificate", str(files.certificate), "--tls-key", str(files.key))
        tls = ssl.create_default_context(cafile=str(root))
        tls.set_alpn_protocols(["h2"])
    with (
        serving(tmp_path / "clinic.duckdb", *options) as server,
        Client(server.address, token_file=server.token_file, ca_certificate=root) as client,
    ):
        before = server.status("VmRSS")
        assert flood(server, None, tls, calls, 16) <= 16, "only checks of the health may wait"
        assert list(client.list_jobs()) == []
        assert server.status("VmHWM") - before < MOST_BYTES
        assert flood(server, server.token_file.read_text().strip(), tls, calls, 18) <= 16 + 2
        assert server.status("VmHWM") - before < MOST_BYTES
        assert server.errors() == []
