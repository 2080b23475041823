"""The handlers of a server's methods, for calls that come from within, and the requests of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import DecodeError, Message

from tableveil.errors import InvalidError
from tableveil.server.call import Call
from tableveil.server.idle import CallStream

Handle = Callable[[Any, grpc.ServicerContext], Any]


class Handlers:
    """Adds handlers to a server, in place of it, and remembers them."""

    def __init__(self, server: grpc.Server, services: Iterable[ServiceDescriptor]) -> None:
        """`services` will be added."""
        self._server = server
        self._paths = {
            method.input_type.full_name: f"/{service.full_name}/{method.name}"
            for service in services
            for method in service.methods
        }
        self._added: list[grpc.GenericRpcHandler] = []

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """As a server does."""
        self._server.add_generic_rpc_handlers(handlers)
        self._added.extend(handlers)

    def add_registered_method_handlers(
        self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]
    ) -> None:
        """As a server does; these are added as generic ones, too."""
        self._server.add_registered_method_handlers(service, handlers)

    def of(self, request: Message) -> tuple[str, Handle]:
        """The name and the handler of the method of one request and one answer that takes such a request."""
        path = self._paths[request.DESCRIPTOR.full_name]
        details = cast(grpc.HandlerCallDetails, SimpleNamespace(method=path))
        handler = next(filter(None, (added.service(details) for added in self._added)))
        assert handler.unary_unary is not None
        return path, handler.unary_unary


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
