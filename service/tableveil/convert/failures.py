"""Failures and faults, both directions."""

from __future__ import annotations

from tableveil.convert.enums import FAILURE_KINDS
from tableveil.errors import Change, Fault, Relaxation
from tableveil.runtime.model import Failure, FailureKind
from tableveil.v1 import faults_pb2


def fault_to_proto(fault: Fault) -> faults_pb2.Fault:
    """The message for a fault."""
    return faults_pb2.Fault(
        field=_text(fault.field), found=_text(fault.found), expected=_text(fault.expected), hint=_text(fault.hint)
    )


def fault_from_proto(message: faults_pb2.Fault) -> Fault:
    """The fault in a message."""
    return Fault(message.field, message.found, message.expected, message.hint)


def failure_to_proto(failure: Failure) -> faults_pb2.Failure:
    """The message for a failure, with all its faults."""
    return faults_pb2.Failure(
        kind=FAILURE_KINDS.to_proto(failure.kind),
        code=failure.code,
        message=_text(failure.message),
        faults=map(fault_to_proto, failure.faults),
        relaxations=map(_relaxation_to_proto, failure.relaxations),
    )


def failure_from_proto(message: faults_pb2.Failure) -> Failure:
    """The failure in a message; a kind that only newer servers know counts as internal."""
    kind = FAILURE_KINDS.from_proto(message.kind) or FailureKind.INTERNAL
    faults = tuple(map(fault_from_proto, message.faults))
    relaxations = tuple(map(_relaxation_from_proto, message.relaxations))
    return Failure(kind, message.code, message.message, faults, relaxations)


def _relaxation_from_proto(message: faults_pb2.Relaxation) -> Relaxation:
    """The relaxation in a message."""
    return Relaxation(tuple(Change(change.field, change.value) for change in message.changes), message.nearest)


def _relaxation_to_proto(relaxation: Relaxation) -> faults_pb2.Relaxation:
    changes = [faults_pb2.Change(field=_text(change.field), value=_text(change.value)) for change in relaxation.changes]
    return faults_pb2.Relaxation(changes=changes, nearest=relaxation.nearest)


def _text(text: str) -> str:
    """`text` as a proto can hold it: a file's name may not be Unicode, and its error must still arrive."""
    return text.encode("utf-8", "replace").decode()
