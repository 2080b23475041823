"""The access control that each call passes before it is handled.

In this order: it is measured, its caller is authenticated, limited to a fair use, authorized for what the request
names, and recorded.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import sleep
from typing import Protocol, TypeVar

import grpc
from google.protobuf.message import Message

from tableveil.errors import TableveilError
from tableveil.identity import Authenticator, Credentials, Unauthenticated
from tableveil.runtime.model import Failure
from tableveil.server.call import Call
from tableveil.server.caller import CALL
from tableveil.server.failed_calls import failure_of
from tableveil.server.methods import HEALTH, REFLECTION, MethodAccess
from tableveil.server.open_streams import OpenStreams
from tableveil.server.status import status_of
from tableveil.serving.tls import certificate_names

DELAY_SECONDS = 0.01
DELAYED_AT_ONCE = 4

Request = TypeVar("Request", bound=Message)
Answer = TypeVar("Answer", bound=Message)


class CallMeter(Protocol):
    """Counts calls."""

    def began(self, call: Call) -> None:
        """Nothing is known of it but the method."""

    def ended(self, call: Call) -> None:
        """It has its code."""


class CallLimits(Protocol):
    """Limits the calls of each principal."""

    def admitted(self, call: Call) -> AbstractContextManager[None]:
        """Holds what the call takes of a limit; raises `BusyError` if nothing is left."""


class Authorizer(Protocol):
    """Knows who may do what."""

    def authorize(self, call: Call) -> None:
        """Raises `DeniedError`, or `NotFoundError` if the caller may not even know that something is there."""


class CallAudit(Protocol):
    """Records calls."""

    def begin(self, call: Call) -> None:
        """Before an authorized call is handled; raises an error if it could not be recorded."""

    def end(self, call: Call) -> None:
        """After every call, also a refused one, which has no `begin`; it has its code and failure."""


class AccessControl:
    """Lets calls in. `methods` has the access of each method."""

    def __init__(
        self,
        methods: Mapping[str, MethodAccess],
        authenticator: Authenticator,
        authorizer: Authorizer,
        audit: CallAudit | None = None,
        fair_use: CallLimits | None = None,
        meter: CallMeter | None = None,
    ) -> None:
        self._methods = methods
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._audit = audit
        self._fair_use = fair_use
        self._meter = meter
        self._streams = OpenStreams(authenticator)
        # Strangers who come at once hold no more threads than these; the others are refused without delay.
        self._delayed = threading.BoundedSemaphore(DELAYED_AT_ONCE)

    def close(self) -> None:
        """Looks after open streams no more."""
        self._streams.close()

    @contextmanager
    def passed(self, method: str, context: grpc.ServicerContext, *, stream: bool) -> Iterator[Call]:
        """A call whose caller is known and within the limits, while it is handled; its end is recorded.

        A failure in the block becomes the call's status. The stream of a caller who is not accepted any more ends.
        """
        access = None if method.startswith((HEALTH, REFLECTION)) else self._methods[method]
        call = Call(method, access, context.peer())
        if not context.is_active():
            # A client that cancels its calls as soon as they are sent makes others wait no longer than it must.
            call.code = grpc.StatusCode.CANCELLED
            self._count(call)
            context.abort(grpc.StatusCode.CANCELLED, "the client is gone")
        try:
            with self._recorded(call), self._let_in(call, context, stream):
                yield call
        except BaseException:
            if call.failure is None:
                raise
            context.abort_with_status(status_of(call.failure))

    def enter(self, call: Call, request: Request) -> Request:
        """The request, or the first one of a stream, once the caller may do what it asks for."""
        call.request = request
        if not call.method.startswith(HEALTH):
            self._authorizer.authorize(call)
            call.allowed = True
            if self._audit:
                self._audit.begin(call)
        return request

    def call_again(self, method: str, request: Message, handle: Callable[[Message], Answer]) -> Answer:
        """The answer to a call that the handler of another one makes for its caller, whose rights and limits count.

        It is measured, authorized and recorded as if the caller had made it. Raises the errors of both.
        """
        outer = CALL.get()
        call = Call(method, self._methods[method], outer.peer, correlation=outer.correlation, principal=outer.principal)
        with self._recorded(call):
            call.response = answer = handle(self.enter(call, request))
            return answer

    def miss(self, method: str) -> None:
        """Counts a call of a method that the server does not have."""
        self._count(Call(method, None, "", code=grpc.StatusCode.UNIMPLEMENTED))

    def _count(self, call: Call) -> None:
        if self._meter:
            self._meter.began(call)
            self._meter.ended(call)

    @contextmanager
    def _recorded(self, call: Call) -> Iterator[None]:
        """Measures a call and records its end. An error of the block is raised on, and so is one that it causes here.

        The call then has its failure, unless its client is gone.
        """
        if self._meter:
            self._meter.began(call)
        try:
            yield
        except BaseException as error:
            try:
                call.failure = failure_of(call, error)
                call.code = status_of(call.failure).code
            except BaseException:
                call.code = grpc.StatusCode.CANCELLED
            raise
        finally:
            self._leave(call)

    def _leave(self, call: Call) -> None:
        try:
            if self._audit:
                self._audit.end(call)
        except TableveilError as error:
            # Nobody may do anything unrecorded.
            call.failure = Failure.of(error)
            call.code = status_of(call.failure).code
            raise
        finally:
            if self._meter:
                self._meter.ended(call)

    def _delay(self) -> None:
        """Lets a stranger wait: trying many tokens in a row takes long, and takes little from others."""
        if self._delayed.acquire(blocking=False):
            try:
                sleep(DELAY_SECONDS)
            finally:
                self._delayed.release()

    @contextmanager
    def _let_in(self, call: Call, context: grpc.ServicerContext, stream: bool) -> Iterator[None]:
        if call.method.startswith(HEALTH):
            yield
            return
        try:
            credentials = _credentials(context)
            call.principal = self._authenticator.authenticate(credentials)
        except Unauthenticated as refused:
            call.refusal = refused.reason
            self._delay()
        call.check_caller()
        assert call.principal is not None
        CALL.set(call)
        with (
            self._fair_use.admitted(call) if self._fair_use else nullcontext(),
            self._streams.watched(call, credentials, context) if stream else nullcontext(),
        ):
            yield


def _credentials(context: grpc.ServicerContext) -> Credentials:
    """The proofs that came with a call; raises `Unauthenticated` if there are two tokens, or none that can be read."""
    sent = [value for name, value in context.invocation_metadata() if name == "authorization"]
    bearer = None
    if sent:
        kind, _, bearer = sent[0].partition(" ") if isinstance(sent[0], str) else ("", "", "")
        if len(sent) > 1 or kind.lower() != "bearer" or not bearer.isascii():
            raise Unauthenticated("two tokens" if len(sent) > 1 else "no bearer token")
    return Credentials(bearer, certificate_names(context), context.peer())
