"""Rows that come with a call: an Arrow IPC stream, read from its messages as the database asks for more."""

import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tableveil.convert.loads import rejected_line_from_proto
from tableveil.errors import InvalidError
from tableveil.loading import RejectedLine
from tableveil.v1 import table_service_pb2 as v1

_DAYS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class IncomingRows:
    """The batches of an Arrow stream in messages, each checked before the database sees it."""

    def __init__(self, requests: Iterator[v1.LoadTableRequest]) -> None:
        """Waits for the schema.

        Raises:
            InvalidError: it is no Arrow stream.
        """
        self._bytes = _MessageBytes(requests)
        try:
            stream = pa.ipc.open_stream(io.BufferedReader(self._bytes, 2**20))
        except (pa.ArrowException, OSError, EOFError) as error:
            raise self._bytes.failure or _not_arrow() from error
        checked = self._bytes.checked(stream)
        self.reader: pa.RecordBatchReader = pa.RecordBatchReader.from_batches(stream.schema, checked)

    def end(self) -> tuple[int, tuple[RejectedLine, ...]]:
        """See `tableveil.runtime.loads.Stream`."""
        if (failure := self._bytes.failure) is not None:
            # It is raised through frames that hold these rows, and Arrow hides that from Python's garbage collection.
            self._bytes.failure = None
            try:
                raise failure
            finally:
                del failure
        end = self._bytes.end
        if end is None:
            raise InvalidError.of(
                "STREAM_INCOMPLETE",
                "end",
                "no end of the stream",
                "a last message that says how many rows there were",
                "The stream was cut off; nothing was loaded.",
            )
        return end.row_count, tuple(map(rejected_line_from_proto, end.rejected_lines))


class _MessageBytes(io.RawIOBase):
    """The bytes of the messages up to the one that is marked as the last.

    Arrow hides what its readers refer to from Python's garbage collection. So this must refer to none, not even by the
    frames of a failure: rows that a load never reads, or not to their end, would stay in memory.
    """

    def __init__(self, requests: Iterator[v1.LoadTableRequest]) -> None:
        super().__init__()
        self._requests = requests
        self._piece = memoryview(b"")
        self.end: v1.LoadEnd | None = None
        self.failure: BaseException | None = None

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed has no name for buffers here
        """Fills the start of the buffer; 0 at the end."""
        while not self._piece:
            if not self._next():
                return 0
        size = min(len(buffer), len(self._piece))
        buffer[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size

    def drain(self) -> None:
        """Reads on to the end: the stream's own end comes before it."""
        while self._next():
            pass

    def checked(self, stream: pa.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
        """The batches of the stream that was opened on these bytes."""
        try:
            for batch in stream:
                # Text that is no UTF-8, or offsets out of bounds, must not reach the database.
                _validate(batch)
                yield batch
            self.drain()
        except BaseException as error:
            # An error raised here reaches the database as a text, so the error itself is kept.
            if self.failure is None:
                self.failure = _not_arrow() if isinstance(error, (pa.ArrowException, OSError)) else error
            raise
        finally:
            # The failure keeps this frame.
            del stream

    def _next(self) -> bool:
        """Takes the next piece; returns whether there was one."""
        if self.end is not None:
            return False
        try:
            request = next(self._requests, None)
        except BaseException as error:
            # The client is gone, or sent an unreadable message.
            self.failure = error
            raise
        if request is None:
            return False
        match request.WhichOneof("part"):
            case "end":
                self.end = request.end
                return False
            case "arrow_ipc":
                self._piece = memoryview(request.arrow_ipc)
                return True
        self.failure = InvalidError.of("LOAD_INVALID", "part", "neither rows nor their end", "arrow_ipc or end")
        raise self.failure


def _validate(batch: pa.RecordBatch) -> None:
    """Raises `ArrowInvalid`. Unlike Arrow, the database has a time 24:00:00."""
    batch.validate()
    for column in batch.columns:
        if not pa.types.is_time(column.type):
            column.validate(full=True)
            continue
        numbers = column.view(pa.int64() if pa.types.is_time64(column.type) else pa.int32())
        numbers.validate(full=True)
        outside = pc.or_(pc.less(numbers, 0), pc.greater(numbers, _DAYS[column.type.unit]))
        if pc.any(outside).as_py():
            raise pa.ArrowInvalid("a time that no day has")


def _not_arrow() -> InvalidError:
    error = InvalidError.of("ARROW_INVALID", "arrow_ipc", "bytes that are no Arrow IPC stream", "an Arrow IPC stream")
    assert isinstance(error, InvalidError)
    return error
