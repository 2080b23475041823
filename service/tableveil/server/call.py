"""A call, as access control comes to know it, its caller, and the roles that its method needs."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from secrets import token_hex

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection

from tableveil.access import AccessRole
from tableveil.control import Control
from tableveil.convert.enums import ACCESS_ROLES
from tableveil.errors import CancelledError, UnauthenticatedError
from tableveil.identity import Principal
from tableveil.runtime.model import Failure
from tableveil.v1 import access_pb2


@dataclass(frozen=True, slots=True)
class MethodAccess:
    """Any one of the roles suffices, for all that the fields at the paths `resources` name; see `access.proto`.

    It has to hold on the `whole_server` if the method is about more than what its caller sees.
    """

    roles: frozenset[AccessRole]
    resources: tuple[str, ...] = ()
    is_stream: bool = False
    whole_server: bool = False


def declared(services: Iterable[ServiceDescriptor]) -> Mapping[str, MethodAccess]:
    """The access to each method, by its full name as calls have it.

    Raises:
        AssertionError: a method declares none.
    """
    by_method = {}
    for service in services:
        for method in service.methods:
            access = method.GetOptions().Extensions[access_pb2.access]
            roles = frozenset(filter(None, map(ACCESS_ROLES.from_proto, access.roles)))
            assert roles, f"{method.full_name} declares no access"
            is_stream = method.client_streaming or method.server_streaming
            by_method[f"/{service.full_name}/{method.name}"] = MethodAccess(
                roles, tuple(access.resources), is_stream, access.whole_server
            )
    return by_method


REFLECTION = f"/{reflection.SERVICE_NAME}/"
"""The methods that tell what is in the protos, to everybody whom the server knows."""

HEALTH = f"/{health.SERVICE_NAME}/"
"""The methods that anybody may call."""

UNDECLARED = (f"{HEALTH}Check", f"{HEALTH}Watch", f"{REFLECTION}ServerReflectionInfo")
"""All of these."""


def _nothing(_: int) -> None:
    pass


@dataclass(slots=True)
class Call:
    """One call. Each step of access control fills in what it finds out; the fields below `began` are empty before.

    `access` is None for methods that everybody may call whom the server knows. The `request` is the first one of a
    stream; `received` is called with its bytes. `refusal` says why the caller is nobody: for the audit, not for the
    caller. A call is `allowed` once it is authorized, and `begun` once that is recorded. `queried` are the tables that
    its queries name. The log and the audit know it by its `correlation`.
    """

    method: str
    access: MethodAccess | None
    peer: str
    began: float = field(default_factory=time.monotonic)
    correlation: str = field(default_factory=lambda: token_hex(8))
    principal: Principal | None = None
    refusal: str = ""
    received: Callable[[int], None] = _nothing
    request: Message | None = None
    allowed: bool = False
    begun: bool = False
    queried: set[str] = field(default_factory=set)
    response: Message | None = None
    failure: Failure | None = None
    code: grpc.StatusCode = grpc.StatusCode.OK

    def seconds(self) -> float:
        """How long it takes by now."""
        return time.monotonic() - self.began

    def check_caller(self) -> None:
        """Raises `UnauthenticatedError`, of one text for whatever was wrong with a token, if the caller is nobody."""
        if self.refusal:
            raise UnauthenticatedError.of(
                "UNAUTHENTICATED",
                "authorization",
                "no token that this server accepts",
                "a valid token",
                "Name its file with --token-file or TABLEVEIL_TOKEN_FILE, or put it into TABLEVEIL_TOKEN. The server "
                "keeps its first one beside its database, in .FILE.token; an admin makes others with `tableveil tokens "
                "create`. After a restore all of them are suspended: see docs/reference/doors.md.",
            )


CALL: ContextVar[Call] = ContextVar("call")
"""Set by access control, with its principal; gRPC gives each call a context of its own."""


def caller() -> Principal:
    """The principal that calls; only a handler may ask, in the thread of its call."""
    principal = CALL.get().principal
    assert principal is not None
    return principal


def control_of(context: grpc.ServicerContext) -> Control:
    """Says to stop once the client is gone, its deadline is over, or the server ends the call.

    Raises:
        CancelledError: one of these is true already.
    """
    control = Control()
    if not context.add_callback(control.cancel):
        raise CancelledError("CANCELLED", "the client is gone")
    return control
