"""The access control that each call passes before it is handled.

In this order: it is measured, its caller is authenticated, limited to a fair use, authorized for what the request
names, and recorded.
"""

import logging
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import sleep
from typing import Protocol, TypeVar

import grpc
from google.protobuf.message import Message

from tableveil.access import Grant, scopes, visibility
from tableveil.backend import Scopes, see_from_now_on
from tableveil.control import Stopped
from tableveil.errors import BusyError, CancelledError, DeniedError, InternalError, TableveilError, UnauthenticatedError
from tableveil.identity import Authenticator, Credentials, Principal, Unauthenticated
from tableveil.runtime.model import Failure
from tableveil.server.call import CALL, HEALTH, REFLECTION, Call, MethodAccess
from tableveil.server.open_streams import OpenStreams
from tableveil.server.status import status_of
from tableveil.serving.tls import certificate_names

logger = logging.getLogger("tableveil.server")


def failure_of(call: Call, error: BaseException) -> Failure:
    """The failure that the client is told; raises the error on if the client is gone."""
    match error:
        case Stopped():
            return Failure.of(CancelledError("CANCELLED", "nobody waits for it any more"))
        case UnauthenticatedError() | BusyError(code="RATE_LIMITED"):
            # A line for each would let anybody fill the disk; the audit counts them.
            return Failure.of(error)
        case TableveilError():
            fields = {"method": call.method, "code": error.code, "correlation": call.correlation}
            logger.info("%s: %s", call.method, error.code, extra=fields)
            return Failure.of(error)
        case Exception() if not isinstance(error, grpc.RpcError):
            return Failure.of(_unexpected(call, error))
    # gRPC knows its own exception by identity.
    raise error


def _unexpected(call: Call, error: Exception) -> InternalError:
    """The client's view of a defect: an id to look for in the log.

    The log gets the place, but no text: it may be data.
    """
    method, correlation = call.method, call.correlation
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


class RolesByScope:
    """Refuses callers who have none of a method's roles anywhere.

    For the others, resources beyond their scopes are not there: all names in requests are looked up by sessions that
    see as their caller does. So a name of others reads like one that does not exist, whatever leads to it.
    """

    def __init__(
        self,
        grants: Callable[[], Collection[Grant]],
        standing: Callable[[Principal], Principal] = lambda caller: caller,
    ) -> None:
        """`grants` gives those that count at the moment, `standing` the caller with the roles that count then."""
        self._grants = grants
        self._standing = standing

    def authorize(self, call: Call) -> None:
        """Raises `DeniedError` if the caller has none of the method's roles on anything, or on the whole server."""
        caller, grants, standing = call.principal, self._grants, self._standing
        assert caller is not None
        roles = call.access.roles if call.access is not None else frozenset()
        if call.access is not None:
            held = scopes(grants(), caller, roles)
            if held == Scopes() or (call.access.whole_server and not held.everything):
                where = " on the whole server" * call.access.whole_server
                wanted = f"{', '.join(sorted(role.lower() for role in roles))}{where}"
                method, hint = call.method.rpartition("/")[2], "Ask an admin of the server."
                raise DeniedError.of("PERMISSION_DENIED", method, "none of these roles", wanted, hint)
        see_from_now_on(lambda: visibility(grants(), standing(caller), roles))
