"""Tables as Arrow, read from the call piece by piece."""

import io
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import grpc
import pyarrow as pa

from tableveil.errors import InvalidError, TableveilError, shortened


class Piece(Protocol):
    """A message with the next bytes of an Arrow IPC stream."""

    @property
    def arrow_ipc(self) -> bytes:
        """The bytes."""
        ...


class Pieces(Protocol):
    """A call that streams them."""

    def __next__(self) -> Piece:
        """The next message."""
        ...

    def cancel(self) -> object:
        """Ends the call."""
        ...


ErrorOf = Callable[[grpc.RpcError], TableveilError]


class PieceReader(io.RawIOBase):
    """The bytes of a call that streams an object, as a file; memory holds one piece.

    Closing it, or dropping it, ends the call, and with it the server's work.
    """

    def __init__(self, pieces: Pieces, error_of: ErrorOf) -> None:
        self._pieces = pieces
        self._error_of = error_of
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed has no name for buffers here
        """Fills the start of the buffer; 0 at the end."""
        while not self._piece:
            try:
                self._piece = memoryview(next(self._pieces).arrow_ipc)
            except StopIteration:
                return 0
            except grpc.RpcError as error:
                # gRPC keeps the call, which is the error. Its traceback would keep the objects of the reading code
                # alive.
                raise self._error_of(error.with_traceback(None)) from None
        size = min(len(buffer), len(self._piece))
        buffer[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size

    def close(self) -> None:
        """Ends the call."""
        self._pieces.cancel()
        super().close()


class ObjectReader(pa.ipc.RecordBatchStreamReader):  # type: ignore[misc]  # Arrow carries no types
    """The object as a stream of batches; its schema has arrived when this is made.

    Closing it ends the call, which closing one of Arrow's own readers does not.
    """

    def __init__(self, pieces: Pieces, error_of: ErrorOf) -> None:
        # Arrow reads a few bytes at a time.
        self._source = io.BufferedReader(PieceReader(pieces, error_of))
        super().__init__(self._source)

    def close(self) -> None:
        """Ends the call; there is nothing more to read."""
        super().close()
        self._source.close()


def collected_into(kind: str, read: Callable[[], pa.RecordBatchReader]) -> Any:
    """All of a stream, as a table of Arrow, or a data frame of pandas or polars."""
    if kind not in _KINDS:
        raise InvalidError.of("READ_INVALID", "into", shortened(kind), f"one of {', '.join(_KINDS)}")
    if not find_spec(_KINDS[kind]):
        hint = f"Install it: pip install {kind}."
        raise InvalidError.of("READ_INVALID", "into", f"{kind}, which is not installed", "an installed library", hint)
    with read() as reader:
        table = reader.read_all()
    if kind == "polars":
        return import_module("polars").from_arrow(table)
    return table.to_pandas() if kind == "pandas" else table


_KINDS = {"arrow": "pyarrow", "pandas": "pandas", "polars": "polars"}
