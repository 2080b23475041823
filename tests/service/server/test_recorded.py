"""Calls are recorded before they are answered, and not done unrecorded."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any
from unittest.mock import Mock

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tableveil.access import AccessRole
from tableveil.audit import Audit, Refused
from tableveil.client.token import with_token
from tableveil.errors import BusyError, NotFoundError
from tableveil.fair_use import FairUse, Limits
from tableveil.identity import AuthenticatedBy, Principal
from tableveil.identity.secret import OwnToken
from tableveil.server.access_control import AccessControl, RolesByScope
from tableveil.server.call import declared
from tableveil.server.limited import LimitedCalls
from tableveil.server.recorded import RecordedCalls
from tableveil.server.services import DESCRIPTORS
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.v1 import (
    access_pb2,
    access_service_pb2,
    admin_service_pb2,
    policy_pb2,
    release_service_pb2,
    risk_service_pb2,
)
from tableveil.v1 import job_service_pb2 as v1
from tableveil.v1.access_service_pb2_grpc import AccessServiceStub
from tableveil.v1.admin_service_pb2_grpc import AdminServiceStub
from tableveil.v1.job_service_pb2_grpc import JobServiceStub
from tableveil.v1.release_service_pb2_grpc import ReleaseServiceStub
from tableveil.v1.risk_service_pb2_grpc import RiskServiceStub
from tests.authenticated import TOKEN
from tests.service.server.conftest import Start
from tests.service.server.test_jobs import job as job_of

BEGIN, END, CALL = AuditEvent.BEGIN, AuditEvent.END, AuditEvent.CALL

ROLES = frozenset({AccessRole.STEWARD})
CALLS_AT_ONCE = 20 * 5


class MemoryAudit(Audit):
    """Keeps entries in memory, and writes none of the events in `full`."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.counted: Counter[Refused] = Counter()
        self.full: set[AuditEvent] = set()
        self._changed = threading.Condition()

    def record(self, entry: AuditEntry) -> None:
        with self._changed:
            self.entries.append(entry)
            self._changed.notify_all()
        if entry.event in self.full:
            raise BusyError("AUDIT_UNAVAILABLE", "no room")

    record_end = record

    def wait_for(self, entries: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.entries) >= entries, 60)

    def count(self, refused: Refused) -> None:
        self.counted[refused] += 1


@pytest.fixture
def audit() -> MemoryAudit:
    return MemoryAudit()


@pytest.fixture
def access_control(audit: MemoryAudit) -> Iterator[AccessControl]:
    principal = Principal("anna", frozenset(), AuthenticatedBy.TOKEN, ROLES)
    use = LimitedCalls(FairUse(Limits(calls_per_second=20, streams=1), clock=lambda: 0.0))
    authenticator = OwnToken(TOKEN, principal)
    with closing(
        AccessControl(declared(DESCRIPTORS), authenticator, RolesByScope(tuple), RecordedCalls(audit), use)
    ) as access_control:
        yield access_control


@pytest.fixture
def stub(channel: grpc.Channel) -> JobServiceStub:
    return JobServiceStub(channel)


def refused(call: Callable[[], object]) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as raised:
        call()
    code: grpc.StatusCode = raised.value.code()
    return code


def test_a_call_that_reads_is_one_entry(stub: JobServiceStub, jobs: Mock, audit: MemoryAudit) -> None:
    jobs.get.side_effect = NotFoundError("JOB_NOT_FOUND", "no such job")
    assert refused(lambda: stub.GetJob(v1.GetJobRequest(name="jobs/7"))) is grpc.StatusCode.NOT_FOUND
    (entry,) = audit.entries
    assert (entry.event, entry.principal, entry.authenticated_by) == (CALL, "anna", "TOKEN")
    assert entry.method == "/tableveil.v1.JobService/GetJob"
    assert entry.resources == ("jobs/7",)
    assert (entry.decision, entry.code, entry.reason) == ("ALLOWED", "NOT_FOUND", "JOB_NOT_FOUND")
    assert entry.peer.startswith("ipv4:127.0.0.1:")
    assert entry.seconds is not None
    assert 0 < entry.seconds < 60
    assert len(entry.correlation) == 16


def test_a_change_is_recorded_before_it_begins(stub: JobServiceStub, jobs: Mock, audit: MemoryAudit) -> None:
    def cancel(number: int) -> object:
        assert [entry.event for entry in audit.entries] == [BEGIN]
        return job_of(number)

    jobs.cancel.side_effect = cancel
    stub.CancelJob(v1.CancelJobRequest(name="jobs/7"))
    begin, end = audit.entries
    assert (begin.event, begin.code, begin.seconds) == (BEGIN, "", None)
    assert (end.event, end.code, end.job) == (END, "OK", "jobs/7")
    assert begin.correlation == end.correlation


@pytest.mark.parametrize("event", [CALL, BEGIN, END])
def test_nothing_is_done_unrecorded(stub: JobServiceStub, jobs: Mock, audit: MemoryAudit, event: AuditEvent) -> None:
    jobs.get.side_effect = jobs.cancel.side_effect = job_of
    audit.full = {event}
    read, change = v1.GetJobRequest(name="jobs/7"), v1.CancelJobRequest(name="jobs/7")
    outcomes: Mapping[AuditEvent, Callable[[], object]] = {
        CALL: lambda: stub.GetJob(read),
        BEGIN: lambda: stub.CancelJob(change),
        END: lambda: stub.CancelJob(change),
    }
    assert refused(outcomes[event]) is grpc.StatusCode.UNAVAILABLE
    assert jobs.cancel.called == (event is END)
    audit.full = set()
    outcomes[event]()


def test_a_stream_is_recorded_when_it_begins_and_when_its_client_leaves(
    stub: JobServiceStub, jobs: Mock, audit: MemoryAudit
) -> None:
    left = []

    def watch(number: int, stopped: Callable[[], bool]) -> Iterator[object]:
        yield job_of(number)
        while not stopped():
            yield job_of(number)
        left.append(number)

    jobs.watch.side_effect = watch
    stream = stub.WatchJob(v1.WatchJobRequest(name="jobs/7"))
    next(stream)
    assert [entry.event for entry in audit.entries] == [BEGIN]
    # Nobody may watch a second job.
    assert refused(lambda: next(stub.WatchJob(v1.WatchJobRequest(name="jobs/8")))) is (
        grpc.StatusCode.RESOURCE_EXHAUSTED
    )
    assert [entry.reason for entry in audit.entries] == ["", "TOO_MANY_CALLS"]
    stream.cancel()
    audit.wait_for(3)
    assert (audit.entries[2].event, audit.entries[2].code) == (END, "CANCELLED")


def test_a_stream_does_not_begin_unrecorded(stub: JobServiceStub, jobs: Mock, audit: MemoryAudit) -> None:
    audit.full = {BEGIN}
    assert refused(lambda: list(stub.WatchJob(v1.WatchJobRequest(name="jobs/7")))) is grpc.StatusCode.UNAVAILABLE
    assert not jobs.watch.called


def test_a_refused_call_is_recorded(channel: grpc.Channel, audit: MemoryAudit) -> None:
    asked = partial(AdminServiceStub(channel).BackupDatabase, admin_service_pb2.BackupDatabaseRequest())
    assert refused(asked) is grpc.StatusCode.PERMISSION_DENIED
    (entry,) = audit.entries
    assert (entry.event, entry.decision, entry.code) == (CALL, "REFUSED", "PERMISSION_DENIED")


def test_callers_whom_nobody_knows_are_counted(start: Start, audit: MemoryAudit) -> None:
    with grpc.insecure_channel(start().addresses[0]) as channel:
        for caller in (channel, channel, with_token(channel, lambda: TOKEN[:-1] + "x")):
            asked = partial(JobServiceStub(caller).ListJobs, v1.ListJobsRequest())
            assert refused(asked) is grpc.StatusCode.UNAUTHENTICATED
    assert not audit.entries
    assert audit.counted == {Refused("ipv4:127.0.0.1", "", "UNAUTHENTICATED", "unknown token"): 3}


def test_calls_beyond_the_limit_are_counted(stub: JobServiceStub, jobs: Mock, audit: MemoryAudit) -> None:
    jobs.get.side_effect = job_of
    for _ in range(CALLS_AT_ONCE):
        stub.GetJob(v1.GetJobRequest(name="jobs/7"))
    for _ in range(3):
        assert refused(lambda: stub.GetJob(v1.GetJobRequest(name="jobs/7"))) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert len(audit.entries) == CALLS_AT_ONCE
    assert audit.counted == {Refused("ipv4:127.0.0.1", "anna", "RESOURCE_EXHAUSTED", "RATE_LIMITED"): 3}


def test_names_are_recorded_and_no_values(channel: grpc.Channel, audit: MemoryAudit) -> None:
    source = policy_pb2.TableReference(schema="ward", table="stays")
    release = policy_pb2.ReleaseTarget(schema="public", name="stays")
    query = "SELECT * FROM stays WHERE name = 'Ada'"
    for policy in (
        policy_pb2.Policy(source=source, release=release),
        policy_pb2.Policy(source_query=query, release=release),
    ):
        refused(partial(JobServiceStub(channel).SubmitJob, v1.SubmitJobRequest(policy=policy)))
    risk = risk_service_pb2.SubmitRiskAnalysisRequest()
    risk.risk.source_query = query
    refused(lambda: RiskServiceStub(channel).SubmitRiskAnalysis(risk))
    named = [entry.resources for entry in audit.entries if entry.event is BEGIN]
    assert named == [("ward.stays", "public.stays"), ("a query", "public.stays"), ("a query",)]


def test_every_table_and_hierarchy_that_a_policy_reads_is_named(channel: grpc.Channel, audit: MemoryAudit) -> None:
    def table(name: str) -> policy_pb2.TableReference:
        return policy_pb2.TableReference(schema="main", table=name)

    hierarchies = [
        policy_pb2.Hierarchy(stored=policy_pb2.StoredHierarchy(name="zips")),
        policy_pb2.Hierarchy(table=policy_pb2.TableHierarchy(table=table("regions"))),
        policy_pb2.Hierarchy(safe_harbor_zip=policy_pb2.SafeHarborZip(population=table("census"))),
        policy_pb2.Hierarchy(inline=policy_pb2.InlineHierarchy(rows=[policy_pb2.HierarchyRow(labels=["secret"])])),
    ]
    hierarchies.append(policy_pb2.Hierarchy(combination=policy_pb2.Combination(rest=hierarchies[0])))
    policy = policy_pb2.Policy(
        source=table("patients"),
        release=policy_pb2.ReleaseTarget(schema="main", name="released"),
        population=policy_pb2.Population(table=table("people")),
        attributes=[policy_pb2.Attribute(column="age", hierarchy=hierarchy) for hierarchy in hierarchies],
        local_recoding=policy_pb2.LocalRecoding(classes_of="releases/3"),
        tables=policy_pb2.RelatedTables(
            people=policy_pb2.PeopleTable(schema="ward", table="residents", key="id"),
            events=[policy_pb2.EventTable(name="seen", schema="ward", table="visits")],
        ),
    )
    refused(partial(JobServiceStub(channel).SubmitJob, v1.SubmitJobRequest(policy=policy)))
    assert audit.entries[0].resources == (
        *("main.patients", "main.released", "main.people", "ward.residents", "ward.visits", "releases/3"),
        *("zips", "main.regions", "main.census"),
    )


def test_what_is_nobodys_resource_is_named_as_well(channel: grpc.Channel, audit: MemoryAudit) -> None:
    refused(partial(AdminServiceStub(channel).BackupDatabase, admin_service_pb2.BackupDatabaseRequest(name="monday")))
    refused(partial(AccessServiceStub(channel).CreateToken, access_service_pb2.CreateTokenRequest(principal="bert")))
    rule = access_service_pb2.GrantRule(principal="bert", role=access_pb2.ACCESS_ROLE_STEWARD, schema="ward")
    refused(partial(AccessServiceStub(channel).AddGrant, access_service_pb2.AddGrantRequest(rule=rule)))
    grant = ("ACCESS_ROLE_STEWARD for bert", "ward")
    assert [entry.resources for entry in audit.entries] == [("monday",), ("bert",), grant]


def test_targets_are_named_and_no_url(channel: grpc.Channel, audit: MemoryAudit) -> None:
    for target in ("shelf", "postgresql://ann:hush@clinic/dwh"):
        request = release_service_pb2.PublishReleaseRequest(name="releases/3", target=target)
        refused(partial(ReleaseServiceStub(channel).PublishRelease, request))
    release = policy_pb2.ReleaseTarget(schema="public", name="stays", publish=["shelf"])
    job = v1.SubmitJobRequest(policy=policy_pb2.Policy(release=release))
    refused(partial(JobServiceStub(channel).SubmitJob, job))
    named = [entry.resources for entry in audit.entries if entry.event is BEGIN]
    assert named == [("releases/3", "target shelf"), ("releases/3",), ("public.stays", "target shelf")]


def test_health_is_nobodys_business(channel: grpc.Channel, audit: MemoryAudit) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    stub.Check(health_pb2.HealthCheckRequest())
    assert not audit.entries
    assert not audit.counted
