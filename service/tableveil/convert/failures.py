"""Failures and faults, to the proto."""

from tableveil.convert.enums import FAILURE_KINDS
from tableveil.errors import Fault, Relaxation
from tableveil.runtime.model import Failure
from tableveil.v1 import faults_pb2


def fault_to_proto(fault: Fault) -> faults_pb2.Fault:
    """The message for a fault."""
    return faults_pb2.Fault(
        field=_text(fault.field), found=_text(fault.found), expected=_text(fault.expected), hint=_text(fault.hint)
    )


def failure_to_proto(failure: Failure) -> faults_pb2.Failure:
    """The message for a failure, with all its faults."""
    return faults_pb2.Failure(
        kind=FAILURE_KINDS.to_proto(failure.kind),
        code=failure.code,
        message=_text(failure.message),
        faults=map(fault_to_proto, failure.faults),
        relaxations=map(_relaxation_to_proto, failure.relaxations),
    )


def _relaxation_to_proto(relaxation: Relaxation) -> faults_pb2.Relaxation:
    changes = [faults_pb2.Change(field=_text(change.field), value=_text(change.value)) for change in relaxation.changes]
    return faults_pb2.Relaxation(changes=changes, nearest=relaxation.nearest)


def _text(text: str) -> str:
    """`text` as a proto can hold it: a file's name may not be Unicode, and its error must still arrive."""
    return text.encode("utf-8", "replace").decode()
