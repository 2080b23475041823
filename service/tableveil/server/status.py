"""Failures as gRPC statuses with google.rpc details, cut to fit into a call's metadata."""

import math
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from urllib.parse import quote

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from tableveil.convert import failure_to_proto, fault_to_proto
from tableveil.errors import ConflictError, Fault, passes
from tableveil.runtime.model import Failure, FailureKind
from tableveil.v1 import faults_pb2

DOMAIN = "tableveil"

_CODES = {
    FailureKind.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    FailureKind.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    FailureKind.INFEASIBLE: grpc.StatusCode.FAILED_PRECONDITION,
    FailureKind.CONFLICT: grpc.StatusCode.FAILED_PRECONDITION,
    FailureKind.BUSY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    FailureKind.CANCELLED: grpc.StatusCode.CANCELLED,
    FailureKind.INTERNAL: grpc.StatusCode.INTERNAL,
    FailureKind.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    FailureKind.DENIED: grpc.StatusCode.PERMISSION_DENIED,
    FailureKind.GUARDED: grpc.StatusCode.FAILED_PRECONDITION,
}

_CODES_BY_REASON = {
    "BACKUP_EXISTS": grpc.StatusCode.ALREADY_EXISTS,
    "REQUEST_ID_REUSED": grpc.StatusCode.ALREADY_EXISTS,
    "TARGET_EXISTS": grpc.StatusCode.ALREADY_EXISTS,
    # Another server, or this one restarted, will take it.
    "STOPPING": grpc.StatusCode.UNAVAILABLE,
    # Nobody may do anything unrecorded.
    "AUDIT_UNAVAILABLE": grpc.StatusCode.UNAVAILABLE,
}

# gRPC refuses more than 8 KiB of metadata in all; some of it goes to headers that it adds itself.
_MOST_METADATA = 7_000
# Bytes of the message, and of each text of a fault, such that the first fault always fits.
_LONGEST_MESSAGE = 500
_LONGEST_TEXT = 300

_PUSHBACK = "grpc-retry-pushback-ms"
"""The clients of gRPC themselves wait so long before they retry a call, if they have a retry policy."""


@dataclass(frozen=True, slots=True)
class _Status(grpc.Status):
    code: grpc.StatusCode
    details: str
    trailing_metadata: tuple[tuple[str, str | bytes], ...]


@lru_cache(maxsize=16)
def status_of(failure: Failure) -> grpc.Status:
    """The status to end a call with.

    Its details are ErrorInfo (the code as reason), BadRequest for invalid requests, RetryInfo for busy resources, and
    our Failure with as many faults as fit, and the number of the others. Callers whom nobody knows may come in numbers,
    and all get the same one.
    """
    code = _CODES_BY_REASON.get(failure.code, _CODES[failure.kind])
    if failure.kind is FailureKind.CONFLICT and passes(failure.code, ConflictError):
        code = grpc.StatusCode.ABORTED
    message = _cut(failure.message, _LONGEST_MESSAGE)
    whole = failure_to_proto(Failure(failure.kind, failure.code, message))
    bad_request = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromTimedelta(timedelta(seconds=failure.retry_seconds or 0))
    for kept, fault in enumerate(failure.faults):
        whole.faults.append(_shortened(fault))
        bad_request.field_violations.append(_violation(whole.faults[kept]))
        whole.omitted_faults = len(failure.faults) - kept - 1
        if _size(_status(code, whole, bad_request, retry)) > _MOST_METADATA:
            del whole.faults[kept:], bad_request.field_violations[kept:]
            whole.omitted_faults = len(failure.faults) - kept
            break
    ended = rpc_status.to_status(_status(code, whole, bad_request, retry))
    delayed = () if failure.retry_seconds is None else ((_PUSHBACK, str(math.ceil(failure.retry_seconds * 1000))),)
    return _Status(ended.code, ended.details, (*ended.trailing_metadata, *delayed))


def _status(
    code: grpc.StatusCode,
    failure: faults_pb2.Failure,
    bad_request: error_details_pb2.BadRequest,
    retry: error_details_pb2.RetryInfo,
) -> status_pb2.Status:
    details: list[Message] = [error_details_pb2.ErrorInfo(reason=failure.code, domain=DOMAIN)]
    if failure.kind == faults_pb2.FAILURE_KIND_INVALID:
        details.append(bad_request)
    if failure.kind == faults_pb2.FAILURE_KIND_BUSY:
        details.append(retry)
    details.append(failure)
    number, _ = code.value
    return status_pb2.Status(code=number, message=failure.message, details=map(_packed, details))


def _packed(message: Message) -> Any:
    packed = Any()
    packed.Pack(message)
    return packed


def _size(status: status_pb2.Status) -> int:
    """Bytes in the metadata: the details travel in base64, the message percent-encoded."""
    return (len(status.SerializeToString()) + 2) // 3 * 4 + len(quote(status.message))


def _shortened(fault: Fault) -> faults_pb2.Fault:
    message = fault_to_proto(fault)
    for name in ("field", "found", "expected", "hint"):
        setattr(message, name, _cut(getattr(message, name), _LONGEST_TEXT))
    return message


def _violation(fault: faults_pb2.Fault) -> error_details_pb2.BadRequest.FieldViolation:
    text = f"found {fault.found}; expected {fault.expected}"
    return error_details_pb2.BadRequest.FieldViolation(field=fault.field, description=_cut(text, _LONGEST_TEXT))


def _cut(text: str, most_bytes: int) -> str:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return encoded.decode()
    return encoded[: most_bytes - 3].decode(errors="ignore") + "…"
