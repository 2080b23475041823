"""Entries of the audit to protos, and filters from them."""

from tableveil.audit import Head
from tableveil.convert.copied import copied, duration, moment, timestamp
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
    return copied(
        entry,
        v1.AuditEntry,
        time=timestamp(entry.at),
        event=AUDIT_EVENTS.to_proto(entry.event),
        count=entry.count or 0,
        duration=duration(entry.seconds),
    )


def audit_head_to_proto(head: Head) -> v1.AuditHead:
    """The message of the end of the chain."""
    return v1.AuditHead(number=head.number, hash=head.hash)
