"""Rows that come with a call, and what is left of them when it fails."""

import gc
import io
import weakref
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from tableveil.server.incoming import IncomingRows
from tableveil.v1 import table_service_pb2 as v1


class GoneError(Exception):
    """The client is gone."""


class Held:
    """A resource of the loading code, such as a session."""


def cut_off() -> Iterator[v1.LoadTableRequest]:
    rows, sink = pa.table({"n": range(1000)}), io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows, 100)
    yield v1.LoadTableRequest(arrow_ipc=sink.getvalue()[:-1000])
    raise GoneError


def test_a_stream_that_fails_keeps_nothing_of_whoever_loads() -> None:
    def load() -> weakref.ref[Held]:
        held = Held()
        rows = IncomingRows(cut_off())
        with pytest.raises(GoneError):
            rows.reader.read_all()
        with pytest.raises(GoneError):
            rows.end()
        return weakref.ref(held)

    held = load()
    gc.collect()
    assert held() is None


def nothing(rows: IncomingRows) -> None:
    """Reads nothing, like a load that is refused once the schema is known."""


def read_first(rows: IncomingRows) -> None:
    rows.reader.read_next_batch()


def read_all(rows: IncomingRows) -> None:
    with pytest.raises(GoneError):
        rows.reader.read_all()


@pytest.mark.parametrize("read", [nothing, read_first, read_all])
def test_rows_that_are_not_read_to_their_end_leave_nothing(read: Callable[[IncomingRows], None]) -> None:
    """A server would hold the messages of every refused load, and all that the call refers to, until it ends."""

    def load() -> weakref.ref[Iterator[v1.LoadTableRequest]]:
        requests = cut_off()
        read(IncomingRows(requests))
        return weakref.ref(requests)

    requests = load()
    gc.collect()
    assert requests() is None
