"""Reading objects as Arrow over a real channel."""

import gc
import weakref
from importlib.util import find_spec

import pyarrow as pa
import pytest

from tableveil.client import Client, UnreachableError
from tableveil.errors import InvalidError, NotFoundError
from tests.service.client.fake_service import PIECE, FakeService, ipc

SMALL = pa.table({"age": ["[20, 30[", "*", None], "n": pa.array([1, 2, 3], pa.int64())})
LARGE = pa.table({"n": range(1_000_000)})


@pytest.mark.parametrize("table", [SMALL, SMALL.slice(0, 0), LARGE.slice(0, 100_000)], ids=["small", "empty", "large"])
def test_arrives_as_it_was(client: Client, service: FakeService, table: pa.Table) -> None:
    service.objects["x"] = table
    assert client.read_table("1", "x") == table


def test_arrives_in_batches(client: Client, service: FakeService) -> None:
    service.objects["x"] = LARGE.slice(0, 1000)
    with client.read("releases/1", "x") as reader:
        assert reader.schema == LARGE.schema
        assert [batch.num_rows for batch in reader] == [100] * 10


def test_is_read_no_faster_than_used(client: Client, service: FakeService) -> None:
    service.objects["x"] = LARGE
    pieces = len(ipc(LARGE)) // PIECE
    with client.read("1", "x") as reader:
        reader.read_next_batch()
        assert service.pieces_sent < pieces / 10
    # Closing ends the call, long before all is sent.
    assert service.read_ended.wait(20)
    assert service.pieces_sent < pieces / 10


def test_a_dropped_reader_ends_the_call(client: Client, service: FakeService) -> None:
    service.objects["x"] = LARGE
    reader = client.read("1", "x")
    reader.read_next_batch()
    del reader
    gc.collect()
    assert service.read_ended.wait(20)


def test_no_such_object(client: Client) -> None:
    with pytest.raises(NotFoundError):
        client.read("1", "x")


def test_a_failed_call_keeps_nothing_of_whoever_reads(client: Client) -> None:
    class Held:
        pass

    def read() -> weakref.ref[Held]:
        held = Held()
        with pytest.raises(NotFoundError):
            client.read("1", "x")
        return weakref.ref(held)

    held = read()
    gc.collect()
    assert held() is None


def test_a_stream_that_breaks(client: Client, service: FakeService) -> None:
    service.objects["x"] = LARGE
    service.break_after = 100_000
    with client.read("1", "x") as reader, pytest.raises(UnreachableError):
        reader.read_all()


def test_arrives_as_it_is_asked_for(client: Client, service: FakeService) -> None:
    service.objects["x"] = SMALL
    assert client.read(1, "x", into="arrow") == SMALL
    if find_spec("pandas"):
        assert client.read(1, "x", into="pandas")["n"].tolist() == [1, 2, 3]
    if find_spec("polars"):
        assert client.read(1, "x", into="polars")["n"].to_list() == [1, 2, 3]
    else:
        with pytest.raises(InvalidError, match="pip install polars"):
            client.read(1, "x", into="polars")
    with pytest.raises(InvalidError, match="one of arrow, pandas, polars"):
        client.read(1, "x", into="excel")  # type: ignore[call-overload]
