"""Jobs over a real channel: what reaches the manager, and what comes back."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import cast
from unittest.mock import Mock

import grpc
import pytest
from grpc_status import rpc_status

from tableveil.convert import canonical_json
from tableveil.errors import Checked, Fault, note
from tableveil.policy import KAnonymity, Policy, TableReference
from tableveil.runtime import Failure, FailureKind, Job
from tableveil.serving import settings
from tableveil.state.jobs import JobState, Request
from tableveil.v1 import faults_pb2, job_service_pb2_grpc, policy_pb2
from tableveil.v1 import job_service_pb2 as v1


def job(number: int, state: JobState = JobState.QUEUED, message: str = "") -> Job:
    source = TableReference("", "main", "t")
    request = Request(number, "", "{}", "", source, "main", "released", datetime(2024, 1, 1))
    failure = Failure(FailureKind.INTERNAL, "X", message) if message else None
    return Job(request, state, failure=failure)


@pytest.fixture
def stub(channel: grpc.Channel) -> job_service_pb2_grpc.JobServiceStub:
    return job_service_pb2_grpc.JobServiceStub(channel)


@pytest.fixture
def policy() -> policy_pb2.Policy:
    policy = policy_pb2.Policy(rows_are_people=True)
    policy.source.table = "t"
    policy.release.name = "released"
    attribute = policy.attributes.add(column="age", role=policy_pb2.ROLE_QUASI_IDENTIFIER)
    attribute.hierarchy.suppression_only.SetInParent()
    policy.privacy_models.add().k_anonymity.k = 5
    return policy


def test_submit(stub: job_service_pb2_grpc.JobServiceStub, jobs: Mock, policy: policy_pb2.Policy) -> None:
    jobs.submit.return_value = job(7)
    assert stub.SubmitJob(v1.SubmitJobRequest(policy=policy, request_id="req")).name == "jobs/7"
    work, request_id, _ = jobs.submit.call_args.args
    assert isinstance(work.released, Policy)
    assert work.released.privacy_models == (KAnonymity(5),)
    assert work.document == canonical_json(policy)
    assert request_id == "req"


def test_submit_refuses_with_all_faults(
    stub: job_service_pb2_grpc.JobServiceStub, jobs: Mock, policy: policy_pb2.Policy
) -> None:
    policy.privacy_models[0].k_anonymity.k = 1
    policy.suppression_limit = "some"
    with pytest.raises(grpc.RpcError) as raised:
        stub.SubmitJob(v1.SubmitJobRequest(policy=policy))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert raised.value.details() == "the policy is invalid (2 faults)"
    status = rpc_status.from_call(cast(grpc.Call, raised.value))
    failure = faults_pb2.Failure()
    assert any(detail.Unpack(failure) for detail in status.details)
    assert [fault.field for fault in failure.faults] == ["suppression_limit", "privacy_models[0].k_anonymity.k"]
    jobs.submit.assert_not_called()


def test_check_answers_with_faults(
    stub: job_service_pb2_grpc.JobServiceStub, jobs: Mock, policy: policy_pb2.Policy
) -> None:
    jobs.check.return_value = Checked((Fault("source.table", "'t'", "a table"),), (note("Think."),))
    checked = stub.CheckPolicy(v1.CheckPolicyRequest(policy=policy))
    assert [fault.field for fault in checked.faults] == ["source.table"]
    assert list(checked.warnings) == ["Think."]
    assert checked.warning_ranks == [faults_pb2.WARNING_RANK_NOTE]
    policy.suppression_limit = "some"
    checked = stub.CheckPolicy(v1.CheckPolicyRequest(policy=policy))
    assert [fault.field for fault in checked.faults] == ["suppression_limit"]
    assert stub.CheckPolicy(v1.CheckPolicyRequest()).faults[0].field == "person_column"


def test_get_and_cancel(stub: job_service_pb2_grpc.JobServiceStub, jobs: Mock) -> None:
    jobs.get.return_value = job(7)
    jobs.cancel.return_value = job(7, JobState.CANCELLED)
    assert stub.GetJob(v1.GetJobRequest(name="jobs/7")).state == v1.JOB_STATE_QUEUED
    assert stub.CancelJob(v1.CancelJobRequest(name="jobs/7")).state == v1.JOB_STATE_CANCELLED
    assert (jobs.get.call_args.args, jobs.cancel.call_args.args) == ((7,), (7,))


def listed(stub: job_service_pb2_grpc.JobServiceStub, page_size: int) -> list[list[str]]:
    """Names by page."""
    pages: list[list[str]] = []
    token = ""
    while not pages or token:
        page = stub.ListJobs(v1.ListJobsRequest(page_size=page_size, page_token=token))
        pages.append([job.name for job in page.jobs])
        token = page.next_page_token
    return pages


def test_pages_cover_all_jobs_once(stub: job_service_pb2_grpc.JobServiceStub, jobs: Mock) -> None:
    stored = [job(number) for number in range(120, 0, -1)]

    def page(before: int | None, size: int, states: list[JobState]) -> list[Job]:
        assert not states
        return [job for job in stored if before is None or job.number < before][:size]

    jobs.page.side_effect = page
    names = [f"jobs/{number}" for number in range(120, 0, -1)]
    assert listed(stub, 0) == [names[:50], names[50:100], names[100:]]
    assert listed(stub, 60) == [names[:60], names[60:]]
    assert listed(stub, 5000) == [names]
    stored.clear()
    assert listed(stub, 0) == [[]]


def test_pages_of_large_jobs_end_early(stub: job_service_pb2_grpc.JobServiceStub, jobs: Mock) -> None:
    jobs.page.side_effect = lambda before, size, states: [
        job(number, JobState.FAILED, "x" * (settings.LARGEST_PAGE // 3)) for number in range((before or 10) - 1, 0, -1)
    ][:size]
    assert listed(stub, 10) == [
        ["jobs/9", "jobs/8"],
        ["jobs/7", "jobs/6"],
        ["jobs/5", "jobs/4"],
        ["jobs/3", "jobs/2"],
        ["jobs/1"],
    ]


@pytest.mark.parametrize(
    "request_",
    [v1.ListJobsRequest(page_size=-1), v1.ListJobsRequest(page_token="x"), v1.ListJobsRequest(page_token="é")],
)
def test_pages_that_are_none(stub: job_service_pb2_grpc.JobServiceStub, request_: v1.ListJobsRequest) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.ListJobs(request_)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_watch(stub: job_service_pb2_grpc.JobServiceStub, jobs: Mock) -> None:
    def watch(number: int, stopped: Callable[[], bool]) -> Iterator[Job]:
        assert not stopped()
        yield job(number)
        yield job(number, JobState.SUCCEEDED)

    jobs.watch.side_effect = watch
    states = [response.job.state for response in stub.WatchJob(v1.WatchJobRequest(name="jobs/7"))]
    assert states == [v1.JOB_STATE_QUEUED, v1.JOB_STATE_SUCCEEDED]
