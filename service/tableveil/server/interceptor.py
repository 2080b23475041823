"""Wraps every call: reads requests, counts streams, and turns errors into statuses."""

from __future__ import annotations

import logging
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from tableveil.control import Stopped
from tableveil.errors import CancelledError, InternalError, InvalidError, TableveilError
from tableveil.runtime.model import Failure
from tableveil.server.idle import IdleStreams
from tableveil.server.slots import Slots
from tableveil.server.status import status_of

logger = logging.getLogger("tableveil.server")


class CallInterceptor(grpc.ServerInterceptor):
    """Wraps the handlers of all services on the server."""

    def __init__(self, streams: Slots, idle: IdleStreams) -> None:
        """`streams` holds a slot for each streaming call, because it holds a thread; `idle` ends those that wait."""
        self._streams = streams
        self._idle = idle

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The handler that gRPC calls with raw requests, so that unreadable ones get a status of ours."""
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method
        serialize = handler.response_serializer
        if handler.unary_unary:
            return grpc.unary_unary_rpc_method_handler(self._unary(method, handler), None, serialize)
        if handler.stream_unary:
            return grpc.stream_unary_rpc_method_handler(self._upload(method, handler), None, serialize)
        if handler.stream_stream:
            return grpc.stream_stream_rpc_method_handler(self._exchange(method, handler), None, serialize)
        if getattr(handler.unary_stream, "experimental_non_blocking", False):
            # Watching the health holds no thread, and could not be wrapped.
            return handler
        return grpc.unary_stream_rpc_method_handler(self._download(method, handler), None, serialize)

    def _unary(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Any]:
        def answer(request: bytes, context: grpc.ServicerContext) -> Any:
            with _failures_as_statuses(method, context):
                assert handler.unary_unary is not None
                return handler.unary_unary(_read(handler, request), context)

        return answer

    def _upload(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Any]:
        def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            with _failures_as_statuses(method, context), self._streams.taken():
                assert handler.stream_unary is not None
                return handler.stream_unary(self._received(handler, requests, context), context)

        return answer

    # The generators take the slots themselves: a generator that never starts is never finished either.
    def _download(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Iterator[Any]]:
        def answer(request: bytes, context: grpc.ServicerContext) -> Iterator[Any]:
            with _failures_as_statuses(method, context), self._streams.taken():
                assert handler.unary_stream is not None
                yield from self._sent(handler.unary_stream(_read(handler, request), context), context)

        return answer

    def _exchange(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Iterator[Any]]:
        def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
            with _failures_as_statuses(method, context), self._streams.taken():
                assert handler.stream_stream is not None
                requested = self._received(handler, requests, context)
                yield from self._sent(handler.stream_stream(requested, context), context)

        return answer

    def _received(
        self, handler: grpc.RpcMethodHandler[Any, Any], requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[Any]:
        while True:
            with self._idle.waiting(context):
                request = next(requests, None)
            if request is None:
                return
            yield _read(handler, request)

    def _sent(self, responses: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        for response in responses:
            # gRPC asks for the next one when this one is on its way, which flow control may delay.
            with self._idle.waiting(context):
                yield response


def _read(handler: grpc.RpcMethodHandler[Any, Any], request: bytes) -> Any:
    assert handler.request_deserializer is not None
    try:
        return handler.request_deserializer(request)
    except DecodeError:
        raise InvalidError("REQUEST_MALFORMED", "the request is not the message that this method takes") from None


@contextmanager
def _failures_as_statuses(method: str, context: grpc.ServicerContext) -> Iterator[None]:
    try:
        yield
    except grpc.RpcError:
        # The client is gone; gRPC knows its own exception by identity.
        raise
    except Stopped:
        context.abort_with_status(status_of(Failure.of(CancelledError("CANCELLED", "nobody waits for it any more"))))
    except TableveilError as error:
        logger.info("%s: %s", method, error.code, extra={"method": method, "code": error.code})
        context.abort_with_status(status_of(Failure.of(error)))
    except Exception as error:
        context.abort_with_status(status_of(Failure.of(_unexpected(method, error))))


def _unexpected(method: str, error: Exception) -> InternalError:
    """The client's view of a defect: an id to look for in the log.

    The log gets the place, but no text: it may be data.
    """
    correlation = uuid.uuid4().hex[:16]
    frames = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    fields = {"method": method, "correlation": correlation}
    logger.error("%s failed [%s]: %s at %s", method, correlation, _types(error), place, extra=fields)
    return InternalError("INTERNAL", f"an unexpected error; the server's log tells more at [{correlation}]")


def _types(error: BaseException) -> str:
    """Types of an exception and of those that led to it."""
    names = [type(error).__name__]
    while (cause := error.__cause__ or error.__context__) is not None and len(names) < 5:
        names.append(type(cause).__name__)
        error = cause
    return " from ".join(names)
