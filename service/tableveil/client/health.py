"""Whether a server lives and is ready, by gRPC's health protocol."""

from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tableveil.client.encryption import Encryption
from tableveil.client.failures import UnreachableError, error_of_call
from tableveil.v1 import job_service_pb2

SECONDS_TO_TELL = 5.0

_READY = job_service_pb2.DESCRIPTOR.services_by_name["JobService"].full_name


def check_health(channel: grpc.Channel, address: str, encryption: Encryption | None, ready: bool) -> None:
    """Returns if the server lives, with `ready` if it takes calls.

    Raises:
        UnreachableError: the server does not live, or did not answer in time.
    """
    request = health_pb2.HealthCheckRequest(service=_READY if ready else "")
    try:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        status = stub.Check(request, timeout=SECONDS_TO_TELL).status
    except grpc.RpcError as error:
        reason = error_of_call(error, address, encryption)
        if isinstance(reason, UnreachableError):
            raise reason from None
        raise UnreachableError("UNREACHABLE", f"no server answers at {address}") from None
    if status != health_pb2.HealthCheckResponse.SERVING:
        raise UnreachableError("NOT_READY", f"the server at {address} is stopping")
