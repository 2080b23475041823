"""Entries of the audit to protos, and filters from them."""

from datetime import timedelta

from tableveil.audit import Head
from tableveil.convert.copied import moment, timestamp
from tableveil.convert.enums import EnumMap
from tableveil.state.audit_entries import AuditEntry, AuditEvent, AuditFilter
from tableveil.v1 import audit_service_pb2 as v1

AUDIT_EVENTS = EnumMap(v1.AuditEvent, AuditEvent)


def audit_filter_from_proto(request: v1.ListAuditEntriesRequest) -> AuditFilter:
    """The wanted entries."""
    since = moment("since", request.since) if request.HasField("since") else None
    return AuditFilter(request.principal, request.method, request.code, since)


def audit_entry_to_proto(entry: AuditEntry) -> v1.AuditEntry:
    """The message of an entry."""
    message = v1.AuditEntry(
        number=entry.number,
        time=timestamp(entry.at),
        event=AUDIT_EVENTS.to_proto(entry.event),
        principal=entry.principal,
        authenticated_by=entry.authenticated_by,
        peer=entry.peer,
        method=entry.method,
        resources=entry.resources,
        decision=entry.decision,
        code=entry.code,
        reason=entry.reason,
        job=entry.job,
        correlation=entry.correlation,
        count=entry.count or 0,
        note=entry.note,
    )
    if entry.seconds is not None:
        message.duration.FromTimedelta(timedelta(seconds=entry.seconds))
    return message


def audit_head_to_proto(head: Head) -> v1.AuditHead:
    """The message of the end of the chain."""
    return v1.AuditHead(number=head.number, hash=head.hash)
