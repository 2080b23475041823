"""Rows that come with a call, and what is left of them when it fails."""

from __future__ import annotations

import gc
import io
import weakref
from collections.abc import Iterator

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
        writer.write_table(rows)
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
