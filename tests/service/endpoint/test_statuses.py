"""The status of each error, what is said of damaged parameters, sessions that end, and rights that end."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import grpc
import pyarrow as pa
import pytest
from adbc_driver_manager import AdbcStatusCode, Error
from google.protobuf import any_pb2
from google.protobuf.message import Message
from pyarrow import flight

from tableveil.audit.entry import read_entries
from tableveil.endpoint import readers
from tableveil.endpoint.endpoint import Endpoint
from tableveil.flight_sql import flight_sql_pb2 as sql
from tests.service.endpoint.published import DISCHARGES, KnownReaders, connected, publish, serving

HEADERS = (("authorization", "Bearer ann"),)
ANN = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer ann")])
PARAMETERS = (
    pa.table({"a": [2**63 - 1], "b": pa.array(["x"]).dictionary_encode()}),
    pa.table({"a": pa.array([-(2**62)], pa.duration("s")), "b": pa.array([2**31 - 1], pa.date32())}),
    pa.table({"a": pa.array([2**62], pa.timestamp("s")), "b": pa.array([1], pa.timestamp("us", tz="Mars/Olympus"))}),
    pa.table({"a": [{"x": 1}], "b": pa.array([2**64 - 1], pa.uint64())}),
)


@pytest.fixture(scope="module")
def known() -> KnownReaders:
    return KnownReaders(ann={7}, bob={7})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("statuses")


@pytest.fixture(scope="module")
def endpoint(place: Path, known: KnownReaders) -> Iterator[Endpoint]:
    (place / "published").mkdir()
    publish(place / "published", 7, "main", {"discharges": DISCHARGES})
    with serving(place, known) as endpoint:
        yield endpoint


def packed(message: Message) -> bytes:
    command = any_pb2.Any()
    command.Pack(message)
    return command.SerializeToString()


@pytest.mark.parametrize(
    ("statement", "status", "code"),
    [
        ("SELECT getenv('x')", AdbcStatusCode.INVALID_ARGUMENT, "[STATEMENT_INVALID]"),
        ("SELECT 'x'::INT + age FROM discharges", AdbcStatusCode.INVALID_ARGUMENT, "[STATEMENT_FAILED]"),
        ("SELECT d.no FROM discharges AS d", AdbcStatusCode.INVALID_ARGUMENT, 'Table "d" does not have a column'),
        ("FROM nothing", AdbcStatusCode.NOT_FOUND, "[TABLE_NOT_FOUND]"),
    ],
)
def test_errors_have_a_status_and_our_code(
    endpoint: Endpoint, statement: str, status: AdbcStatusCode, code: str
) -> None:
    with connected(endpoint) as connection, connection.cursor() as cursor, pytest.raises(Error) as raised:
        cursor.execute(statement)
    assert (raised.value.status_code, code in str(raised.value)) == (status, True)
    assert "line " not in str(raised.value).replace("in line ", "")


def test_a_stranger_and_a_command_that_nobody_answers(endpoint: Endpoint) -> None:
    with pytest.raises(Error) as raised, connected(endpoint, "eve") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert raised.value.status_code == AdbcStatusCode.UNAUTHENTICATED
    with flight.connect(endpoint.uri) as client, pytest.raises(pa.ArrowNotImplementedError, match="COMMAND_INVALID"):
        list(client.do_action(flight.Action("BeginTransaction", b""), ANN))


def test_a_session_that_ends_is_no_refused_call(endpoint: Endpoint, place: Path) -> None:
    with connected(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    with flight.connect(endpoint.uri) as client:
        [closed] = client.do_action(flight.Action("CloseSession", b""), ANN)
    assert closed.body.to_pybytes() == b"\x08\x01"
    [audit] = place.glob("*.audit.jsonl")
    ended = [entry for entry in read_entries(audit) if entry.method == "CloseSession"]
    assert {(entry.decision, entry.code) for entry in ended} == {("ALLOWED", "OK")}


def test_damaged_parameters_are_the_clients_fault(endpoint: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    random = Random(3)
    handle = json.dumps(["SELECT ?, ?", None]).encode()
    command = packed(sql.CommandPreparedStatementQuery(prepared_statement_handle=handle))
    codes = set()
    with grpc.insecure_channel(endpoint.address) as channel, flight.connect(endpoint.uri) as client:
        put = channel.stream_stream("/arrow.flight.protocol.FlightService/DoPut", bytes, bytes)
        for number in range(60):
            sink = pa.BufferOutputStream()
            sound = PARAMETERS[number % len(PARAMETERS)]
            with pa.ipc.new_stream(sink, sound.schema) as stream:
                stream.write_table(sound)
            sent = [
                [bytearray(part.metadata), bytearray(part.body or b"")]
                for part in pa.ipc.MessageReader.open_stream(sink.getvalue())
            ]
            changed = random.choice([part for message in sent[1:] for part in message if part])
            changed[random.randrange(len(changed))] = random.randrange(256)
            data = [_field(2, head) + _field(1000, body) for head, body in sent]
            data[0] = _field(1, b"\x08\x02" + _field(2, command)) + data[0]
            try:
                list(put(iter(data), metadata=HEADERS, timeout=30))
            except grpc.RpcError as error:
                codes.add(error.code())
            # Damaged ones in a handle that the client made up.
            whole = bytearray(sink.getvalue())
            whole[random.randrange(len(whole))] = random.randrange(256)
            made_up = json.dumps(["SELECT ?, ?", base64.b64encode(whole).decode()]).encode()
            ticket = flight.Ticket(packed(sql.TicketStatementQuery(statement_handle=made_up)))
            with suppress(pa.ArrowInvalid):
                client.do_get(ticket, ANN).read_all()
    assert codes <= {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNKNOWN}
    assert grpc.StatusCode.INVALID_ARGUMENT in codes
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.long
def test_a_query_ends_with_the_token_of_its_caller(
    endpoint: Endpoint, known: KnownReaders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token is revoked before the first row."""
    monkeypatch.setattr(readers, "SECONDS_REMEMBERED", 0.5)
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
    handle = json.dumps([f"{numbers} SELECT count(*) FROM n a, n b, n c, n d, discharges", None]).encode()
    ticket = flight.Ticket(packed(sql.TicketStatementQuery(statement_handle=handle)))
    options = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer bob")])
    timer, began = _later(known), time.monotonic()
    try:
        with flight.connect(endpoint.uri) as client, pytest.raises(flight.FlightError) as raised:
            client.do_get(ticket, options).read_all()
    finally:
        timer.join()
    assert time.monotonic() - began < 30.0
    assert isinstance(raised.value, flight.FlightUnauthenticatedError)
    assert _soon(lambda: endpoint.processes.running == 0)


def _later(known: KnownReaders) -> threading.Timer:
    """Revokes the token in a second."""
    timer = threading.Timer(1.0, known.releases.pop, ["bob"])
    timer.start()
    return timer


def _soon(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20.0
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


def _field(number: int, data: bytes | bytearray) -> bytes:
    """A field of a protobuf message that holds bytes; nothing for none."""
    return _varint(number << 3 | 2) + _varint(len(data)) + bytes(data) if data else b""


def _varint(number: int) -> bytes:
    low, more = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(more) if more else bytes([low])
