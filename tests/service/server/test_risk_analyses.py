"""Risk analyses over a real channel: what reaches the manager, and what comes back."""

from contextlib import contextmanager
from datetime import datetime
from typing import Any
from unittest.mock import Mock

import grpc
import pyarrow as pa
import pytest

from tableveil.errors import NotFoundError
from tableveil.policy import TableReference
from tableveil.runtime import Job
from tableveil.state.jobs import JobKind, JobState, Request
from tableveil.v1 import risk_service_pb2 as v1
from tableveil.v1 import risk_service_pb2_grpc
from tests.service.risk_samples import risk_analysis

Stub = risk_service_pb2_grpc.RiskServiceStub
SOURCE = TableReference("clinic", "main", "people")


@pytest.fixture
def stub(channel: grpc.Channel) -> Stub:
    return Stub(channel)


def test_submit(stub: Stub, jobs: Mock) -> None:
    request = Request(4, "r-1", "{}", "", SOURCE, "", "", datetime(2024, 1, 1), JobKind.RISK_ANALYSIS)
    jobs.submit.return_value = Job(request, JobState.SUCCEEDED, result=9)
    asked = v1.RiskRequest(release="releases/3")
    job = stub.SubmitRiskAnalysis(v1.SubmitRiskAnalysisRequest(risk=asked, request_id="r-1"))
    assert (job.name, job.result) == ("jobs/4", "riskAnalyses/9")
    work, request_id, _ = jobs.submit.call_args.args
    assert (work.release, request_id, work.document) == (3, "r-1", '{"release":"releases/3"}')


def test_bad_requests_do_not_reach_the_manager(stub: Stub, jobs: Mock) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.SubmitRiskAnalysis(v1.SubmitRiskAnalysisRequest())
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not jobs.submit.called


def test_get(stub: Stub, risk_analyses: Mock) -> None:
    risk_analyses.get.return_value = risk_analysis()
    found = stub.GetRiskAnalysis(v1.GetRiskAnalysisRequest(name="riskAnalyses/2"))
    assert risk_analyses.get.call_args.args == (2,)
    assert (found.name, len(found.measures)) == ("riskAnalyses/2", 3)


def test_records_are_streamed(stub: Stub, risk_analyses: Mock) -> None:
    table = pa.table({"age": [1, 2], "records": [3, 4]})

    @contextmanager
    def read(number: int) -> Any:
        assert number == 2
        yield pa.RecordBatchReader.from_batches(table.schema, table.to_batches())

    risk_analyses.read_records.side_effect = read
    pieces = stub.ReadRecordRisks(v1.ReadRecordRisksRequest(name="riskAnalyses/2"))
    assert pa.ipc.open_stream(b"".join(piece.arrow_ipc for piece in pieces)).read_all() == table


def test_no_such_analysis(stub: Stub, risk_analyses: Mock) -> None:
    missing = NotFoundError.of("RISK_ANALYSIS_NOT_FOUND", "name", "riskAnalyses/9", "an existing risk analysis")
    risk_analyses.get.side_effect = risk_analyses.read_records.side_effect = missing
    for ask in (
        lambda: stub.GetRiskAnalysis(v1.GetRiskAnalysisRequest(name="riskAnalyses/9")),
        lambda: list(stub.ReadRecordRisks(v1.ReadRecordRisksRequest(name="riskAnalyses/9"))),
    ):
        with pytest.raises(grpc.RpcError) as raised:
            ask()
        assert raised.value.code() is grpc.StatusCode.NOT_FOUND
    with pytest.raises(grpc.RpcError) as raised:
        stub.GetRiskAnalysis(v1.GetRiskAnalysisRequest(name="releases/9"))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
