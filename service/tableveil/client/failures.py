"""The errors of failed calls, made from the details of their status."""

import re
from collections.abc import Iterable, Iterator
from typing import cast

import grpc
from google.protobuf.any_pb2 import Any
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from tableveil import errors
from tableveil.client.encryption import SPEAKS_TLS, Encryption, fault_of_handshake
from tableveil.v1 import faults_pb2

_KINDS = {name.removeprefix("FAILURE_KIND_"): number for name, number in faults_pb2.FailureKind.items()}
# An unspecified kind is one that this version does not know yet.
_CLASSES = {_KINDS[kind]: error for kind, error in errors.BY_KIND.items()}

# gRPC refuses large messages before any code of the service sees them, in these words.
_TOO_LARGE = re.compile(r"larger than max \((\d+) vs\. (\d+)\)")

# The statuses of a call whose connection broke, or whose server was stopped.
_BROKEN = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}


class UnreachableError(errors.TableveilError):
    """No Tableveil server answers at the address, or not in time."""

    kind = "UNREACHABLE"
    usually_passes = True


class UnpublishedError(errors.TableveilError):
    """A release stands, but a target of its policy did not take it."""

    kind = "UNPUBLISHED"
    usually_passes = True


def faults_from(messages: Iterable[faults_pb2.Fault]) -> list[errors.Fault]:
    """The faults of a message."""
    return [errors.Fault(message.field, message.found, message.expected, message.hint) for message in messages]


def faults_to(faults: Iterable[errors.Fault]) -> list[faults_pb2.Fault]:
    """Messages of the faults."""
    return [
        faults_pb2.Fault(field=_text(f.field), found=_text(f.found), expected=_text(f.expected), hint=_text(f.hint))
        for f in faults
    ]


def error_from(failure: faults_pb2.Failure, faults: Iterable[errors.Fault] | None = None) -> errors.TableveilError:
    """The error for a failure in a message, with its faults or these."""
    kind = _CLASSES.get(failure.kind, errors.InternalError)
    faults = faults_from(failure.faults) if faults is None else faults
    if kind is errors.InfeasibleError:
        return errors.InfeasibleError(failure.code, failure.message, faults, _relaxations_from(failure.relaxations))
    return kind(failure.code, failure.message, faults)


def _relaxations_from(messages: Iterable[faults_pb2.Relaxation]) -> list[errors.Relaxation]:
    return [
        errors.Relaxation(
            tuple(errors.Change(change.field, change.value) for change in message.changes), message.nearest
        )
        for message in messages
    ]


def _relaxations_to(relaxations: Iterable[errors.Relaxation]) -> list[faults_pb2.Relaxation]:
    return [
        faults_pb2.Relaxation(
            changes=[faults_pb2.Change(field=_text(change.field), value=_text(change.value)) for change in r.changes],
            nearest=r.nearest,
        )
        for r in relaxations
    ]


def failure_of(error: errors.TableveilError) -> faults_pb2.Failure:
    """The message for an error; an unreachable server has no kind there."""
    return faults_pb2.Failure(
        kind=_KINDS.get(error.kind, faults_pb2.FAILURE_KIND_UNSPECIFIED),
        code=error.code,
        message=_text(error.message),
        faults=faults_to(error.faults),
        relaxations=_relaxations_to(error.relaxations) if isinstance(error, errors.InfeasibleError) else (),
    )


def failure_in(error: grpc.RpcError) -> faults_pb2.Failure | None:
    """The failure that a service of ours put into the details of the status, if it did."""
    for detail in _details(error):
        failure = faults_pb2.Failure()
        if detail.Unpack(failure):
            return failure
    return None


def is_broken(error: grpc.RpcError) -> bool:
    """Whether the connection failed, and not the request, so that repeating it may help."""
    return _call(error).code() in _BROKEN and failure_in(error) is None


def error_of_call(error: grpc.RpcError, address: str, encryption: Encryption | None) -> errors.TableveilError:
    """The error for a failed call to the server at `address`.

    Raise it `from None`: the call's own error adds nothing.
    """
    failure = failure_in(error)
    if failure is not None:
        read_error = error_from(failure)
        if isinstance(read_error, errors.BusyError):
            read_error.retry_seconds = _retry_seconds(error) or read_error.retry_seconds
        return read_error
    code, text = _call(error).code(), _call(error).details() or ""
    too_large = _TOO_LARGE.search(text)
    if too_large:
        size, limit = (f"{int(number):,} bytes" for number in too_large.groups())
        return errors.InvalidError.of(
            "MESSAGE_TOO_LARGE",
            "message",
            size,
            f"at most {limit}",
            "Store large hierarchies on the server (csv or stored) instead of writing them into the policy.",
        )
    if code is grpc.StatusCode.UNAVAILABLE:
        if (fault := fault_of_handshake(text, address, encryption)) is not None:
            return UnreachableError.about("NOT_CONNECTED", "the server cannot be reached like this", [fault])
        return UnreachableError.of(
            "UNREACHABLE",
            "server",
            f"no answer at {address}",
            "a running Tableveil server",
            "Start one with `tableveil serve --database FILE`, or name another with --server or TABLEVEIL_SERVER."
            # A name with several addresses fails with the error of the last one, which may hide that of the handshake.
            + ("" if encryption or address.startswith("unix:") else f" {SPEAKS_TLS}"),
        )
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return UnreachableError.of(
            "DEADLINE",
            "server",
            f"no answer at {address} in time",
            "an answer",
            "It may have done what was asked: look with `tableveil jobs` before you ask again.",
        )
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return UnreachableError.of(
            "NOT_TABLEVEIL",
            "server",
            f"a server at {address} that does not know the call",
            "a Tableveil server of this client's version",
            "Is it another service, or an older one?",
        )
    return errors.InternalError("CALL_FAILED", f"the call failed: {code.name}: {text}")


def _retry_seconds(error: grpc.RpcError) -> float | None:
    """The time after which the server may be asked again, if it says so."""
    for detail in _details(error):
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(retry):
            return float(retry.retry_delay.ToTimedelta().total_seconds())
    return None


def _call(error: grpc.RpcError) -> grpc.Call:
    # Every error that a channel raises is the call too; the type of its base does not say so.
    return cast(grpc.Call, error)


def _details(error: grpc.RpcError) -> Iterator[Any]:
    try:
        status = rpc_status.from_call(_call(error))
    except ValueError:
        # Details that contradict their status do not come from our service.
        return
    if status is not None:
        yield from status.details


def _text(text: str) -> str:
    """The text as a message can hold it: the name of a file need not be Unicode."""
    return text.encode("utf-8", "replace").decode()
