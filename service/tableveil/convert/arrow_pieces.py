"""Cuts an Arrow IPC stream into pieces that fit into messages."""

import io
from collections.abc import Iterator

import pyarrow as pa

PIECE_SIZE = 2**20


def arrow_pieces(reader: pa.RecordBatchReader, size: int = PIECE_SIZE) -> Iterator[bytes]:
    """The stream's bytes in order, in pieces of `size` but for the last; batches are read as pieces are asked for."""
    written = _Written()
    with pa.ipc.new_stream(written, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            yield from written.take(size)
    yield from written.take(1, size)


class _Written(io.RawIOBase):
    """Keeps what was written until it is taken; the position only grows, as the writer's alignment needs."""

    def __init__(self) -> None:
        super().__init__()
        self._pending = bytearray()
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    # The base takes any buffer, and so does this.
    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        self._pending += data
        self._position += len(data)
        return len(data)

    def take(self, least: int, size: int | None = None) -> Iterator[bytes]:
        """Takes pieces of `size` (else `least`) bytes as long as at least `least` are left."""
        while len(self._pending) >= least:
            piece = bytes(self._pending[: size or least])
            del self._pending[: size or least]
            yield piece
