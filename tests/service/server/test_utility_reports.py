"""Utility reports over a real channel: what reaches the manager, and what comes back."""

from datetime import datetime
from unittest.mock import Mock

import grpc
import pytest

from tableveil.errors import NotFoundError
from tableveil.policy import TableReference
from tableveil.runtime import Job
from tableveil.state.jobs import JobKind, JobState, Request
from tableveil.v1 import utility_service_pb2 as v1
from tableveil.v1 import utility_service_pb2_grpc
from tests.service.utility_samples import utility_report

Stub = utility_service_pb2_grpc.UtilityServiceStub


@pytest.fixture
def stub(channel: grpc.Channel) -> Stub:
    return Stub(channel)


def test_submit(stub: Stub, jobs: Mock) -> None:
    source = TableReference("clinic", "main", "people")
    request = Request(4, "r-1", "{}", "", source, "", "", datetime(2024, 1, 1), JobKind.UTILITY_REPORT)
    jobs.submit.return_value = Job(request, JobState.SUCCEEDED, result=9)
    asked = v1.UtilityRequest(release="releases/3")
    job = stub.SubmitUtilityReport(v1.SubmitUtilityReportRequest(utility=asked, request_id="r-1"))
    assert (job.name, job.result) == ("jobs/4", "utilityReports/9")
    work, request_id, _ = jobs.submit.call_args.args
    assert (work.release, request_id) == (3, "r-1")
    assert work.document == '{"release":"releases/3"}'


@pytest.mark.parametrize("release", ["", "3", "jobs/3"])
def test_bad_requests_do_not_reach_the_manager(stub: Stub, jobs: Mock, release: str) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.SubmitUtilityReport(v1.SubmitUtilityReportRequest(utility=v1.UtilityRequest(release=release)))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not jobs.submit.called


def test_get(stub: Stub, utility_reports: Mock) -> None:
    stored = utility_report()
    utility_reports.get.return_value = stored
    found = stub.GetUtilityReport(v1.GetUtilityReportRequest(name="utilityReports/2"))
    assert utility_reports.get.call_args.args == (2,)
    assert (found.name, found.job, found.release) == ("utilityReports/2", "jobs/4", "releases/3")
    for message, column in zip(found.columns, stored.report.columns, strict=True):
        assert (message.column, message.treatment, message.role) == (column.column, column.treatment, column.role)
        assert (message.loss if message.HasField("loss") else None) == column.loss
        for side, spread in ((message.before, column.before), (message.after, column.after)):
            assert (side.mean if side.HasField("mean") else None) == spread.mean
            assert tuple(side.quantiles) == spread.quantiles
            bins = [(bin_.label if bin_.HasField("label") else None, bin_.records) for bin_ in side.bins]
            assert bins == [(bin_.label, bin_.records) for bin_ in spread.bins]
    told = [(one.before, one.HasField("after")) for one in found.associations]
    assert told == [(0.5, True), (-0.75, False), (0.0, False), (0.125, True)]


def test_what_is_not_there(stub: Stub, utility_reports: Mock) -> None:
    utility_reports.get.side_effect = NotFoundError.of("UTILITY_REPORT_NOT_FOUND", "name", "utilityReports/2", "one")
    with pytest.raises(grpc.RpcError) as raised:
        stub.GetUtilityReport(v1.GetUtilityReportRequest(name="utilityReports/2"))
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
