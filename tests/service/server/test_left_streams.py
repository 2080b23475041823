"""Streams that their client leaves, ends half or never continues: the server has its slot and the table again."""

import base64
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import grpc
import pytest

from tableveil.client.token import with_token
from tableveil.v1 import hierarchy_service_pb2_grpc, release_service_pb2_grpc
from tableveil.v1.hierarchy_service_pb2 import CreateHierarchyRequest
from tableveil.v1.policy_pb2 import HierarchyRow
from tableveil.v1.release_service_pb2 import ReadObjectRequest
from tests.service.access.house import House, policy, prepare, served, submitted

CALLS = Path(__file__).parents[2] / "e2e" / "calls.mjs"
NODE = CALLS.parents[2] / "examples" / "node" / "node_modules" / ".package-lock.json"
ROWS = 300_000
SECONDS = 60.0
READ = ReadObjectRequest(release="releases/1", object="released")

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not NODE.exists(), reason="needs Node.js, and `npm ci` in examples/node"
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server that takes one stream at once, and a release that is larger than what the network keeps."""
    place = tmp_path_factory.mktemp("left")
    prepare(place)
    with duckdb.connect(place / "clinic.duckdb") as connection:
        connection.execute(
            "CREATE OR REPLACE TABLE ward_a.patients AS SELECT i % 50 AS age, (i % 3)::VARCHAR AS ward, "
            f"'illness ' || md5((i % 500)::VARCHAR) AS illness, i AS code FROM range({ROWS}) r(i)"
        )
    with served(place, stream_limit=1) as house:
        job = submitted(house, "ann", "JobService/SubmitJob", policy=policy("ward_a"))
        assert job.result == READ.release, job.failure
        yield house


def connected(house: House) -> grpc.Channel:
    return with_token(grpc.insecure_channel(house.server.address), lambda: house.token_file("ann").read_text())


def at_last(call: Callable[[], Any]) -> Any:
    """The answer, as soon as there is a slot."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            found: Any = error
            if found.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED or time.monotonic() > until:
                raise
        time.sleep(0.02)


def read_whole(house: House) -> int:
    """The bytes of the release, which takes the one slot."""
    with connected(house) as channel:
        stub = release_service_pb2_grpc.ReleaseServiceStub(channel)
        found: int = at_last(lambda: sum(len(piece.arrow_ipc) for piece in stub.ReadObject(READ, timeout=SECONDS)))
        return found


@pytest.mark.parametrize("leave", ["cancel", "deadline", "close"])
def test_a_read_that_is_left_frees_its_slot(house: House, leave: str) -> None:
    whole = read_whole(house)
    for _ in range(2):
        with connected(house) as channel:
            read = release_service_pb2_grpc.ReleaseServiceStub(channel).ReadObject
            stream = at_last(partial(begun, read, 0.5 if leave == "deadline" else SECONDS))
            if leave == "cancel":
                stream.cancel()
            elif leave == "deadline":
                ended = threading.Event()
                if stream.add_callback(ended.set):
                    ended.wait(SECONDS)
                assert stream.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            else:
                channel.close()
            assert read_whole(house) == whole > 2**20


def begun(read: Any, seconds: float) -> Any:
    """A stream after its first answer, or its deadline on a busy machine."""
    stream = read(READ, timeout=seconds)
    try:
        next(stream)
    except grpc.RpcError as error:
        found: Any = error
        if found.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise
    return stream


def one_of(name: str, rows: int) -> CreateHierarchyRequest:
    """The first row of so many."""
    return CreateHierarchyRequest(name=name, row_count=rows, rows=[HierarchyRow(labels=["a", "*"])])


def uploaded(house: House, name: str, rows: int) -> Any:
    """Uploads the first of so many rows, and ends the stream of requests."""
    with connected(house) as channel:
        stub = hierarchy_service_pb2_grpc.HierarchyServiceStub(channel)
        return stub.CreateHierarchy(iter([one_of(name, rows)]), timeout=SECONDS)


def test_an_upload_that_closes_half_way_keeps_nothing(house: House) -> None:
    with pytest.raises(grpc.RpcError, match="cut off before its end") as raised:
        at_last(lambda: uploaded(house, "ward_a/halved", 2))
    found: Any = raised.value
    assert found.code() is grpc.StatusCode.CANCELLED
    assert at_last(lambda: uploaded(house, "ward_a/halved", 1)).version == 1


@pytest.mark.parametrize("leave", ["cancel", "deadline", "close"])
def test_an_upload_that_is_left_frees_its_slot(house: House, leave: str) -> None:
    name = f"ward_a/left_by_{leave}"
    sent, left = threading.Event(), threading.Event()

    def requests() -> Iterator[CreateHierarchyRequest]:
        yield one_of(name, 2)
        sent.set()
        left.wait(SECONDS)

    assert read_whole(house), "the slot of the test before is free"
    with connected(house) as channel:
        stub = hierarchy_service_pb2_grpc.HierarchyServiceStub(channel)
        call = stub.CreateHierarchy.future(requests(), timeout=2.0 if leave == "deadline" else SECONDS)
        assert sent.wait(SECONDS)
        if leave == "cancel":
            call.cancel()
        elif leave == "deadline":
            failed: Any = call.exception()
            assert failed.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        else:
            channel.close()
        left.set()
    assert at_last(lambda: uploaded(house, name, 1)).version == 1


def node(house: House, method: str, request: Any, *how: str) -> dict[str, int]:
    """How often which status came to a client in Node.js; nothing if it vanished."""
    encoded = base64.b64encode(request.SerializeToString()).decode()
    command = ["node", str(CALLS), house.server.address, f"/tableveil.v1.{method}", encoded, *how]
    environment = {**os.environ, "TABLEVEIL_TOKEN": house.token_file("ann").read_text()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * SECONDS, check=False)
    found: dict[str, int] = {}
    with suppress(ValueError):
        found = json.loads(done.stdout)
    assert (done.returncode == 0) == bool(found), done.stderr
    return found


@pytest.mark.long
@needs_node
@pytest.mark.parametrize(
    ("how", "status"), [(("cancel",), "CANCELLED"), (("deadline", "3"), "DEADLINE_EXCEEDED"), (("vanish",), None)]
)
def test_a_read_that_node_leaves_frees_its_slot(house: House, how: tuple[str, ...], status: str | None) -> None:
    whole = read_whole(house)
    for _ in range(2):
        found = [text.partition(" ")[0] for text in node(house, "ReleaseService/ReadObject", READ, *how)]
        assert found == ([] if status is None else [status])
        assert read_whole(house) == whole


@pytest.mark.long
@needs_node
def test_an_upload_that_node_closes_half_way_keeps_nothing(house: House) -> None:
    (found,) = node(house, "HierarchyService/CreateHierarchy", one_of("ward_a/node", 2), "half")
    assert found.startswith("CANCELLED the upload was cut off"), found
    assert at_last(lambda: uploaded(house, "ward_a/node", 1)).version == 1
