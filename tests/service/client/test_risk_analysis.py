"""Risk analyses through the client."""

import pyarrow as pa
import pytest

from tableveil.client import Client
from tableveil.errors import InvalidError, NotFoundError
from tableveil.v1 import job_service_pb2, risk_service_pb2
from tableveil.v1.risk_service_pb2 import RiskAnalysis
from tests.service.client.fake_service import FakeService


def test_submit_and_get(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_QUEUED)
    service.risk_analyses["riskAnalyses/2"] = risk_service_pb2.RiskAnalysis(name="riskAnalyses/2", records=7)
    asked = risk_service_pb2.RiskRequest(release="releases/3")
    assert client.submit_analysis(risk_service_pb2.SubmitRiskAnalysisRequest(risk=asked)).name == "jobs/1"
    assert service.requests == [risk_service_pb2.SubmitRiskAnalysisRequest(risk=asked)]
    assert client.get_result(RiskAnalysis, "2").records == 7
    with pytest.raises(NotFoundError):
        client.get_result(RiskAnalysis, "3")
    with pytest.raises(InvalidError):
        client.get_result(RiskAnalysis, "releases/2")


def test_records(client: Client, service: FakeService) -> None:
    service.objects["riskAnalyses/2"] = pa.table({"age": [1, None], "records": [3, 4]})
    with client.read_record_risks("2") as reader:
        assert reader.read_all() == service.objects["riskAnalyses/2"]
    with pytest.raises(NotFoundError):
        client.read_record_risks("3")
