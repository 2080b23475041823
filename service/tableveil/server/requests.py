"""The requests of calls, from their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from tableveil.errors import InvalidError
from tableveil.server.call import Call
from tableveil.server.idle import CallStream


def receive(call: Call, handler: grpc.RpcMethodHandler[Any, Any], requests: Iterator[bytes], stream: CallStream) -> Any:
    """The request of a method that takes one; gRPC receives its message only now.

    Raises:
        InvalidError: there is none, or it cannot be read.
    """
    with stream.waiting():
        request = next(requests, None)
    if request is None:
        raise InvalidError("REQUEST_MALFORMED", "there is no message, and this method takes one")
    call.received(len(request))
    return read(handler, request)


def read(handler: grpc.RpcMethodHandler[Any, Any], request: bytes) -> Any:
    """The request; raises `InvalidError` if it cannot be read."""
    assert handler.request_deserializer is not None
    try:
        return handler.request_deserializer(request)
    except DecodeError:
        raise InvalidError("REQUEST_MALFORMED", "the request is not the message that this method takes") from None
