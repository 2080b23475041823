"""The pipes between the endpoint and the processes of its queries: JSON objects, each after its length."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">I")

Message = dict[str, Any]
"""A JSON object."""


class Ended(Exception):
    """The other side closed the pipe, or its process is gone."""


def send(pipe: BinaryIO, message: Message) -> None:
    """Writes an object."""
    data = json.dumps(message).encode()
    pipe.write(_LENGTH.pack(len(data)) + data)


def receive(pipe: BinaryIO) -> Message:
    """Reads an object; raises `Ended` if the pipe ends before it does."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    message: Message = json.loads(_exactly(pipe, length))
    return message


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise Ended
    return data
