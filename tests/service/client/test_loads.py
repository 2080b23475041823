"""The messages of a load, which gRPC asks for in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa

from tableveil.client.loads import LoadRequests
from tableveil.v1 import table_service_pb2 as v1

ROWS = pa.record_batch({"a": range(200_000)})


def test_a_load_that_ends_early_waits_for_the_message_on_its_way() -> None:
    reading, may_go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def rows() -> Iterator[pa.RecordBatch]:
        reading.set()
        may_go_on.wait()
        yield ROWS

    requests = LoadRequests(v1.LoadStart(), pa.RecordBatchReader.from_batches(ROWS.schema, rows()))
    sent: list[v1.LoadTableRequest] = []
    sender = threading.Thread(target=lambda: sent.extend(requests))
    sender.start()
    reading.wait()

    def end() -> None:
        requests.end()
        ended.set()

    ender = threading.Thread(target=end)
    ender.start()
    assert not ended.wait(0.05)
    may_go_on.set()
    sender.join()
    ender.join()
    assert requests.failure is None
    # The piece that was being made goes out; there would be another one, and the end.
    assert [message.WhichOneof("part") for message in sent] == ["start", "arrow_ipc"]
