"""Strangers and callers who send much for no call: the endpoint closes their connections, and answers the others."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
import pytest
from pyarrow import flight

from tableveil.endpoint.endpoint import Endpoint
from tableveil.serving import front
from tests.http2 import Connection
from tests.service.endpoint.published import DISCHARGES, KnownReaders, connected, publish, serving

FLIGHT = "/arrow.flight.protocol.FlightService/"
METHODS = ("Handshake", "ListFlights", "GetFlightInfo", "GetSchema", "DoGet", "DoPut", "DoExchange", "DoAction")
SECONDS = 60.0
MEBIBYTES = 2**20


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    place = tmp_path_factory.mktemp("front")
    (place / "published").mkdir()
    publish(place / "published", 7, "main", {"discharges": DISCHARGES})
    with serving(place, KnownReaders(ann={7})) as endpoint:
        yield endpoint


def until(condition: Callable[[], bool], connections: list[Connection]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        if not sum(connection.pump() for connection in connections):
            time.sleep(0.005)


def rows(connection: flight_sql.Connection) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM discharges")
        ((found,),) = cursor.fetchall()
    return int(found)


def resident() -> int:
    """Bytes of this process, in which the endpoint is."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def test_half_sent_messages_of_strangers_take_little_memory(endpoint: Endpoint) -> None:
    before = resident()
    with ExitStack() as opened, connected(endpoint) as ann:
        strangers = [opened.enter_context(Connection(endpoint.address)) for _ in range(20)]
        for number in range(1000):
            strangers[number % 20].call(FLIGHT + METHODS[number % len(METHODS)], 16 * MEBIBYTES)
        until(lambda: all(each.closed for each in strangers), strangers)
        assert rows(ann) == 60
        assert resident() - before < 256 * MEBIBYTES


@pytest.mark.parametrize("method", METHODS)
def test_a_huge_message_of_a_stranger_ends_the_connection(endpoint: Endpoint, method: str) -> None:
    with Connection(endpoint.address, "tvl_no") as stranger:
        stranger.call(FLIGHT + method, 2**31)
        until(lambda: stranger.closed or not stranger.open, [stranger])
        assert stranger.sent < 16 * MEBIBYTES


def test_a_known_caller_sends_no_more_than_calls_need(endpoint: Endpoint) -> None:
    with Connection(endpoint.address, "ann") as greedy:
        for _ in range(20):
            greedy.call(f"{FLIGHT}DoAction", 16 * MEBIBYTES)
        until(lambda: greedy.closed, [greedy])
        assert greedy.sent < front.BYTES_OF_KNOWN


@pytest.mark.long
def test_statements_and_parameters_of_any_number_find_room(endpoint: Endpoint) -> None:
    with connected(endpoint) as ann, ann.cursor() as cursor:
        for _ in range(3):
            cursor.execute("SELECT count(*) FROM discharges WHERE ward <> ?", ["x" * 800_000])
            assert cursor.fetchall() == [(60,)]
        padding = " " * 15_000
        for _ in range(40):
            cursor.execute(f"SELECT count(*){padding}FROM discharges")
            assert cursor.fetchall() == [(60,)]


def test_the_oldest_stranger_gives_way(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "STRANGERS", 4)
    host, port = endpoint.address.rsplit(":", 1)
    with ExitStack() as opened, connected(endpoint) as ann:
        assert rows(ann) == 60
        strangers = [opened.enter_context(socket.create_connection((host, int(port)), SECONDS)) for _ in range(12)]
        for lost in strangers[:4]:
            with suppress(ConnectionError):
                while lost.recv(2**16):
                    pass
        assert rows(ann) == 60
        with connected(endpoint) as another:
            assert rows(another) == 60


def test_malformed_and_abandoned_connections_do_not_matter(endpoint: Endpoint) -> None:
    host, port = endpoint.address.rsplit(":", 1)
    for content in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 1000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 5000):
        with socket.create_connection((host, int(port)), SECONDS) as connection:
            connection.sendall(content)
    with Connection(endpoint.address) as stranger:
        for method in METHODS:
            stream = stranger.call(FLIGHT + method, 50, most=0)
            stranger.send_data(stream, b"\xff" * 50, ends=True)
        until(lambda: not stranger.open, [stranger])
    with connected(endpoint) as ann:
        assert rows(ann) == 60


def test_the_audit_names_the_client_s_own_address(endpoint: Endpoint) -> None:
    seen = []
    passages = endpoint._passages
    with connected(endpoint) as ann:
        assert rows(ann) == 60
        seen = [each.peer for each in passages.all() if each.principals]
    assert seen
    assert all(peer.startswith("ipv4:127.0.0.1:") for peer in seen)
    assert passages.peer("ipv4:127.0.0.1:0") == "ipv4:127.0.0.1:0"
    with pytest.raises(flight.FlightUnauthenticatedError):
        list(flight.connect(endpoint.uri).do_action(flight.Action("CloseSession", b"")))


def test_small_answers_leave_at_once(endpoint: Endpoint) -> None:
    """Without TCP_NODELAY each waits for the client's word on the one before: 40 ms a call, and 6 calls for a tree."""
    with connected(endpoint) as ann:
        assert rows(ann) == 60
        sockets = [each for passage in endpoint._front._passages.all() for each in passage.sockets]
        assert len(sockets) >= 2
        assert all(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in sockets)
