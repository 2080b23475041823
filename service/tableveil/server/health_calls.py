"""Checks of the health, for which nobody needs a token: they take neither threads nor much memory from other calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import grpc

from tableveil.errors import InvalidError
from tableveil.fair_use import Places
from tableveil.runtime.model import Failure
from tableveil.server.access_control import AccessControl
from tableveil.server.call import Call
from tableveil.server.handlers import receive
from tableveil.server.idle import CallStream, IdleStreams
from tableveil.server.status import status_of
from tableveil.serving.settings import HEALTH_MESSAGES, HEALTH_QUEUE, HEALTH_THREADS, HEALTH_WATCHES

_MOMENT_SECONDS = 0.05
"""The message of a check comes with it, and an answer is taken at once, as a rule; so long another one waits."""


class HealthCalls:
    """Wraps the handlers of the health service, for threads of their own."""

    def __init__(self, access_control: AccessControl, idle: IdleStreams) -> None:
        self._access_control = access_control
        self._idle = idle
        self._threads = _Threads(HEALTH_THREADS, "tableveil-health")
        self._messages = Places(HEALTH_MESSAGES, _MOMENT_SECONDS)
        self._sending = Places(HEALTH_MESSAGES, _MOMENT_SECONDS)
        self._watches = Places(HEALTH_WATCHES)

    def wrapped(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The handler that gRPC calls with a stream of raw requests; None if too many checks wait."""
        if self._threads.waiting >= HEALTH_QUEUE:
            return None
        # gRPC looks for these attributes of a handler.
        if handler.unary_unary:
            check = self._check(method, handler)
            vars(check)["experimental_thread_pool"] = self._threads
            return grpc.stream_unary_rpc_method_handler(check, None, handler.response_serializer)
        watch = self._watch(method, handler)
        vars(watch).update(experimental_thread_pool=self._threads, experimental_non_blocking=True)
        return grpc.stream_stream_rpc_method_handler(watch, None, handler.response_serializer)

    def close(self) -> None:
        """Takes no more checks."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Any]:
        def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            with self._access_control.passed(method, context, stream=False) as call:
                assert handler.unary_unary is not None
                return handler.unary_unary(self._received(call, handler, requests, context), context)

        return answer

    def _watch(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., None]:
        """It passes no access control: it has no end that this could measure."""

        def answer(requests: Iterator[bytes], context: grpc.ServicerContext, send: Callable[[Any], None]) -> None:
            watch: Any = handler.unary_stream
            try:
                request = self._received(Call(method, None, context.peer()), handler, requests, context)
            except InvalidError as error:
                context.abort_with_status(status_of(Failure.of(error)))
            leave = self._watches.take(context.cancel)
            if not context.add_callback(leave):
                leave()
                return

            def sent(response: Any) -> None:
                # It waits until the client takes it.
                with self._sending.taken(context.cancel):
                    send(response)

            watch(request, context, sent, self._threads.submit)

        return answer

    def _received(
        self,
        call: Call,
        handler: grpc.RpcMethodHandler[Any, Any],
        requests: Iterator[bytes],
        context: grpc.ServicerContext,
    ) -> Any:
        with self._messages.taken(context.cancel):
            return receive(call, handler, requests, CallStream(self._idle, context))


class _Threads(ThreadPoolExecutor):
    """Threads that know how much work waits for one of them."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, name)
        self.waiting = 0
        self._counting = threading.Lock()

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        with self._counting:
            self.waiting += 1
        return super().submit(self._begin, work, *arguments, **options)

    def _begin(self, work: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
        with self._counting:
            self.waiting -= 1
        return work(*arguments, **options)
