"""Wraps every call: leads it through access control, reads its requests, and counts streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import grpc

from tableveil.server.access_control import AccessControl
from tableveil.server.call import HEALTH, Call
from tableveil.server.handlers import read, receive
from tableveil.server.health_calls import HealthCalls
from tableveil.server.idle import CallStream, IdleStreams
from tableveil.server.limited import Slots


class CallInterceptor(grpc.ServerInterceptor):
    """Wraps the handlers of all services on the server.

    Every method takes a stream, as gRPC sees it. The one message of another method gRPC would receive by itself, before
    it hands over the call: from anybody, up to the largest message, in a thread that waits for the last byte. It
    receives no more of a stream than its window, until the server asks for a message: of a caller who was let in.
    """

    def __init__(self, access_control: AccessControl, streams: Slots, idle: IdleStreams) -> None:
        """`streams` holds a slot for each streaming call, because it holds a thread; `idle` ends those that wait."""
        self._access_control = access_control
        self._streams = streams
        self._idle = idle
        self._health = HealthCalls(access_control, idle)

    def close(self) -> None:
        """Takes no more checks of the health."""
        self._health.close()

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The handler that gRPC calls with raw requests, so that unreadable ones get a status of ours."""
        handler = continuation(handler_call_details)
        if handler is None:
            self._access_control.miss(handler_call_details.method)
            return None
        method = handler_call_details.method
        if method.startswith(HEALTH):
            return self._health.wrapped(method, handler)
        serialize = handler.response_serializer
        if handler.unary_unary:
            return grpc.stream_unary_rpc_method_handler(self._unary(method, handler), None, serialize)
        if handler.stream_unary:
            return grpc.stream_unary_rpc_method_handler(self._upload(method, handler), None, serialize)
        if handler.stream_stream:
            return grpc.stream_stream_rpc_method_handler(self._exchange(method, handler), None, serialize)
        return grpc.stream_stream_rpc_method_handler(self._download(method, handler), None, serialize)

    def _unary(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Any]:
        def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            with self._access_control.passed(method, context, stream=False) as call:
                assert handler.unary_unary is not None
                request = receive(call, handler, requests, CallStream(self._idle, context))
                call.response = handler.unary_unary(self._access_control.enter(call, request), context)
                return call.response

        return answer

    def _upload(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Any]:
        def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            with self._access_control.passed(method, context, stream=True) as call, self._streams.taken():
                assert handler.stream_unary is not None
                return handler.stream_unary(self._received(call, handler, requests, context), context)

        return answer

    # The generators take the slots themselves: a generator that never starts is never finished either.
    def _download(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Iterator[Any]]:
        def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
            with self._access_control.passed(method, context, stream=True) as call, self._streams.taken():
                assert handler.unary_stream is not None
                request = receive(call, handler, requests, CallStream(self._idle, context))
                asked = self._access_control.enter(call, request)
                yield from self._sent(call, handler.unary_stream(asked, context), context)

        return answer

    def _exchange(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Iterator[Any]]:
        def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
            with self._access_control.passed(method, context, stream=True) as call, self._streams.taken():
                assert handler.stream_stream is not None
                requested = self._received(call, handler, requests, context)
                yield from self._sent(call, handler.stream_stream(requested, context), context)

        return answer

    def _received(
        self,
        call: Call,
        handler: grpc.RpcMethodHandler[Any, Any],
        requests: Iterator[bytes],
        context: grpc.ServicerContext,
    ) -> Iterator[Any]:
        """The requests of a stream, once the first one, which says what it is about, was let in."""
        stream = CallStream(self._idle, context)

        def following() -> Iterator[Any]:
            while True:
                with stream.waiting():
                    request = next(requests, None)
                call.check_caller()
                if request is None:
                    return
                stream.moved(len(request))
                yield read(handler, request)

        received = following()
        first = next(received, None)
        call.received(0 if first is None else first.ByteSize())
        # A client that sends nothing asks for what an empty request does.
        self._access_control.enter(call, read(handler, b"") if first is None else first)
        return received if first is None else chain([first], received)

    def _sent(self, call: Call, responses: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        stream = CallStream(self._idle, context)
        for response in responses:
            call.check_caller()
            # gRPC asks for the next one when this one is on its way, which flow control may delay.
            with stream.waiting():
                yield response
            stream.moved(response.ByteSize())
