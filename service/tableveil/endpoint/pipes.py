"""The pipes between the endpoint and the processes of its queries: JSON objects, each after its length."""

from __future__ import annotations

import json
import struct
from typing import Any, Protocol

_LENGTH = struct.Struct(">I")

Message = dict[str, Any]
"""A JSON object."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, nbytes: int, /) -> bytes:
        """So many bytes, fewer only at the end."""


class Writable(Protocol):
    """A stream that takes bytes."""

    def write(self, data: bytes, /) -> object:
        """Takes all of them."""


class Ended(Exception):
    """The other side closed the pipe, or its process is gone."""


def send(pipe: Writable, message: Message) -> None:
    """Writes an object."""
    data = json.dumps(message).encode()
    pipe.write(_LENGTH.pack(len(data)) + data)


def receive(pipe: Readable) -> Message:
    """Reads an object; raises `Ended` if the pipe ends before it does."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    message: Message = json.loads(_exactly(pipe, length))
    return message


def _exactly(pipe: Readable, size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise Ended
    return data
