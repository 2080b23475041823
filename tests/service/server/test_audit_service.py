"""The audit over a real channel: what is asked for, and what comes back."""

from datetime import datetime
from unittest.mock import ANY, Mock

import grpc

from tableveil.audit import Head
from tableveil.audit.verify import Verified
from tableveil.convert.audit import audit_entry_to_proto
from tableveil.state.audit_entries import AuditEntry, AuditEvent, AuditFilter
from tableveil.v1 import audit_service_pb2 as v1
from tableveil.v1.audit_service_pb2_grpc import AuditServiceStub

AT = datetime(2026, 11, 22, 12)


def entry(number: int) -> AuditEntry:
    who = ("anna", "TOKEN", "ipv4:1", "/v1.S/M", ("a", "b"))
    return AuditEntry(AT, AuditEvent.CALL, *who, "ALLOWED", "OK", "WHY", "jobs/1", "c0", 0.25, 3, "n", number)


def test_a_page_of_entries(channel: grpc.Channel, audit: Mock) -> None:
    audit.page.side_effect = [[entry(9), entry(8)], [entry(8)]]
    audit.head = Head(9, "ab")
    stub = AuditServiceStub(channel)
    asked = v1.ListAuditEntriesRequest(principal="anna", method="M", code="OK", page_size=1)
    asked.since.FromDatetime(AT)
    first = stub.ListAuditEntries(asked)
    assert list(first.entries) == [audit_entry_to_proto(entry(9))]
    assert first.head == v1.AuditHead(number=9, hash="ab")
    asked.page_token = first.next_page_token
    assert not stub.ListAuditEntries(asked).next_page_token
    wanted = AuditFilter("anna", "M", "OK", AT)
    assert [call.args for call in audit.page.call_args_list] == [(wanted, None, 2), (wanted, 9, 2)]


def test_the_file_is_verified(channel: grpc.Channel, audit: Mock) -> None:
    audit.verified.return_value = Verified(3, "ab", ("entry 2 was changed",))
    answer = AuditServiceStub(channel).VerifyAudit(v1.VerifyAuditRequest(head="cd", after="ef"))
    assert answer == v1.VerifyAuditResponse(entries=3, head="ab", faults=["entry 2 was changed"])
    audit.verified.assert_called_once_with("cd", "ef", ANY)


def test_each_field_has_its_place() -> None:
    message = audit_entry_to_proto(entry(9))
    assert {field.name for field, _ in message.ListFields()} == set(message.DESCRIPTOR.fields_by_name)
    assert message.duration.ToMilliseconds() == 250
    assert not audit_entry_to_proto(AuditEntry(AT, AuditEvent.BEGIN)).HasField("duration")
