"""The calls that a console makes, and everything that the service told it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import grpc


@dataclass
class Told:
    """The methods that were called, those of them that failed, and the answers as text."""

    methods: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    text: str = ""


class Listener(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamUnaryClientInterceptor):
    """Hears each call of a channel; `told` is emptied by the test."""

    def __init__(self) -> None:
        self.told = Told()

    def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        """One answer."""
        return self._noted(details, continuation(details, request))

    def intercept_stream_unary(self, continuation: Callable[..., Any], details: Any, requests: Any) -> Any:
        """One answer."""
        return self._noted(details, continuation(details, requests))

    def intercept_unary_stream(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        """Many answers."""
        self.told.methods.append(details.method)
        return _Heard(continuation(details, request), self.told)

    def _noted(self, details: Any, call: Any) -> Any:
        self.told.methods.append(details.method)
        if call.code() is grpc.StatusCode.OK:
            self.told.text += str(call.result())
        else:
            self.told.failed.append(details.method)
            self.told.text += str(call.details())
        return call


class _Heard:
    """A stream whose messages are noted as they are read."""

    def __init__(self, call: Any, told: Told) -> None:
        self._call, self._told = call, told

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            message = next(self._call)
        except grpc.RpcError:
            self._told.failed.append("stream")
            raise
        self._told.text += repr(message.SerializeToString())
        return message

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)
