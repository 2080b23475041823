"""Frontiers over a real channel: what reaches the manager, and what comes back."""

from datetime import datetime
from decimal import Decimal
from typing import cast
from unittest.mock import Mock

import grpc
import pytest
from grpc_status import rpc_status

from tableveil.errors import Checked, Fault, NotFoundError
from tableveil.policy import TableReference
from tableveil.runtime import Job
from tableveil.state.frontiers import Frontier, Point
from tableveil.state.jobs import JobKind, JobState, Request
from tableveil.v1 import faults_pb2, frontier_service_pb2_grpc
from tableveil.v1 import frontier_service_pb2 as v1
from tests.service.client import samples

AT = datetime(2024, 1, 1)
SOURCE = TableReference("clinic", "main", "people")


@pytest.fixture
def stub(channel: grpc.Channel) -> frontier_service_pb2_grpc.FrontierServiceStub:
    return frontier_service_pb2_grpc.FrontierServiceStub(channel)


def test_submit(stub: frontier_service_pb2_grpc.FrontierServiceStub, jobs: Mock) -> None:
    jobs.submit.return_value = Job(Request(4, "r-1", "{}", "", SOURCE, "", "", AT, JobKind.FRONTIER), JobState.QUEUED)
    request = v1.SubmitFrontierRequest(policy=samples.policy(), k=[3, 2], suppression_limits=["0.1"])
    job = stub.SubmitFrontier(request)
    assert (job.name, job.request_id, job.source.table) == ("jobs/4", "r-1", "people")
    assert not job.HasField("target")
    work, _, _ = jobs.submit.call_args.args
    assert work.options == '{"k":[2,3],"suppression_limits":["0.1"]}'
    assert '"column":"sex"' in work.document
    assert "released" not in work.document


def test_a_job_that_succeeded_names_its_frontier(
    stub: frontier_service_pb2_grpc.FrontierServiceStub, jobs: Mock
) -> None:
    request = Request(4, "", "{}", "", SOURCE, "", "", AT, JobKind.FRONTIER)
    jobs.submit.return_value = Job(request, JobState.SUCCEEDED, result=9)
    job = stub.SubmitFrontier(v1.SubmitFrontierRequest(policy=samples.policy()))
    assert (job.kind, job.result) == ("frontiers", "frontiers/9")


def test_faults_of_message_and_database_at_once(
    stub: frontier_service_pb2_grpc.FrontierServiceStub, jobs: Mock
) -> None:
    jobs.check.return_value = Checked((Fault("source.table", "'x'", "a table"),))
    with pytest.raises(grpc.RpcError) as raised:
        stub.SubmitFrontier(v1.SubmitFrontierRequest(policy=samples.policy(), k=[1], suppression_limits=["2"]))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    failure = failure_of(raised.value)
    fields = [fault.field for fault in failure.faults]
    assert fields == ["k[0]", "suppression_limits[0]", "source.table"]
    assert jobs.check.call_args.kwargs == {"rows": False}
    assert not jobs.submit.called


def failure_of(error: grpc.RpcError) -> faults_pb2.Failure:
    status = rpc_status.from_call(cast(grpc.Call, error))
    failure = faults_pb2.Failure()
    assert any(detail.Unpack(failure) for detail in status.details if detail.Is(failure.DESCRIPTOR))
    return failure


def test_get(stub: frontier_service_pb2_grpc.FrontierServiceStub, frontiers: Mock) -> None:
    points = (Point(2, Decimal("0.1"), None, True, None),)
    frontiers.get.return_value = Frontier(9, 4, AT, SOURCE, "", 10, ("sex",), "2", 1, "numpy", 0.5, 1.0, "{}", points)
    frontier = stub.GetFrontier(v1.GetFrontierRequest(name="frontiers/9"))
    assert frontiers.get.call_args.args == (9,)
    assert (frontier.name, [point.k for point in frontier.points]) == ("frontiers/9", [2])


@pytest.mark.parametrize("name", ["", "9", "jobs/9", "frontiers/0"])
def test_names_that_are_none(stub: frontier_service_pb2_grpc.FrontierServiceStub, frontiers: Mock, name: str) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.GetFrontier(v1.GetFrontierRequest(name=name))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not frontiers.get.called


def test_no_such_frontier(stub: frontier_service_pb2_grpc.FrontierServiceStub, frontiers: Mock) -> None:
    frontiers.get.side_effect = NotFoundError.of("FRONTIER_NOT_FOUND", "name", "frontiers/9", "an existing frontier")
    with pytest.raises(grpc.RpcError) as raised:
        stub.GetFrontier(v1.GetFrontierRequest(name="frontiers/9"))
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
