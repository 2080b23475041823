"""Lets handlers answer a repeated request as they answered the first one of its name."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tableveil.runtime import AnsweredRequests
from tableveil.server.call import caller
from tableveil.server.handlers import Handle
from tableveil.state.answered_requests import RequestKey


def answering_once(answered: AnsweredRequests, method: MethodDescriptor, handle: Handle) -> Handle:
    """The handler, which makes a change once for each name that requests give it."""

    def answer(request: Message, context: grpc.ServicerContext) -> Message:
        return once(answered, method, _Content([request]), lambda _: handle(request, context))

    def answer_stream(requests: Iterator[Message], context: grpc.ServicerContext) -> Message:
        return once(answered, method, _Content(requests), lambda content: handle(content, context))

    return answer_stream if method.client_streaming else answer


def once(
    answered: AnsweredRequests,
    method: MethodDescriptor,
    content: _Content,
    handle: Callable[[Iterator[Message]], Message],
) -> Message:
    """The answer of a request, or of the first one of its name."""
    if not content.name:
        return handle(content.messages)
    made: list[Message] = []

    def handled() -> bytes:
        made.append(handle(content.hashed))
        return _without_secrets(made[0]).SerializeToString()

    key = RequestKey(caller().name, f"{method.containing_service.full_name}/{method.name}", content.name)
    first = answered.once(key, content.digest, handled)
    return made[0] if first is None else GetMessageClass(method.output_type).FromString(first)


class _Content:
    """The messages of one request, the first of which has its name. They may be read once."""

    def __init__(self, messages: Iterable[Message]) -> None:
        rest = iter(messages)
        first = next(rest, None)
        self.name: str = getattr(first, "request_id", "")
        self.messages = rest if first is None else chain([first], rest)
        self._hash = hmac.new(self.name.encode(), digestmod="sha256")
        self.hashed = map(self._hash_on, self.messages)

    def digest(self) -> str:
        """Identifies all of the messages, the unread ones too, except for the name."""
        for _ in self.hashed:
            pass
        return self._hash.hexdigest()

    def _hash_on(self, message: Message) -> Message:
        content = _copy(message)
        content.ClearField("request_id")
        text = content.SerializeToString(deterministic=True)
        self._hash.update(len(text).to_bytes(8, "big") + text)
        return message


def _without_secrets(answer: Message) -> Message:
    """The part of an answer that may be kept."""
    kept: Message = _copy(answer)
    for field in kept.DESCRIPTOR.fields:
        if field.GetOptions().debug_redact:
            kept.ClearField(field.name)
    return kept


def _copy(message: Message) -> Any:
    copied = type(message)()
    copied.CopyFrom(message)
    return copied
