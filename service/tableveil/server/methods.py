"""The roles that each method needs, as the protos declare them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection

from tableveil.access import AccessRole
from tableveil.convert.enums import ACCESS_ROLES
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
