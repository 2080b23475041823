"""The messages of a load, which gRPC asks for in a thread of its own."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tableveil.client.loads import LoadRequests, file_requests
from tableveil.errors import InvalidError
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


def test_files_by_a_pattern(tmp_path: Path) -> None:
    for name in ("a-1.csv", "a-2.csv", "b-1.csv", "a-*.csv"):
        (tmp_path / name).write_text("n\n1\n")
    (tmp_path / "a-folder.csv").mkdir()

    def loaded(name: str) -> int:
        file = v1.ServerFile(path=str(tmp_path / name), csv=v1.CsvFormat())
        with file_requests(v1.LoadStart(), file) as requests:
            *_, last = requests
        return last.end.row_count

    assert loaded("a-[0-9].csv") == 2
    # A file of that very name counts before those that match.
    assert loaded("a-*.csv") == 1
    for name in ("c-*.csv", "c.csv", "a-f*.csv", ""):
        with pytest.raises(InvalidError, match="a file, or a pattern"):
            loaded(name)
