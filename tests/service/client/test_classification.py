"""Classifier assessments through the client."""

import pytest

from tableveil.client import Client
from tableveil.errors import InvalidError, NotFoundError
from tableveil.v1 import classification_service_pb2 as v1
from tableveil.v1 import job_service_pb2
from tableveil.v1.classification_service_pb2 import ClassificationReport
from tests.service.client.fake_service import FakeService


def test_submit_get_and_list(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_QUEUED)
    for number in (1, 2, 3):
        name = f"classifications/{number}"
        service.classifications[name] = v1.ClassificationReport(name=name, records=number)
    asked = v1.ClassificationRequest(release="releases/3", classes=["ill"])
    assert client.submit_analysis(v1.AssessClassifiersRequest(classification=asked)).name == "jobs/1"
    assert service.requests == [v1.AssessClassifiersRequest(classification=asked)]
    assert client.get_result(ClassificationReport, "2").records == 2
    assert [found.records for found in client.list_results(ClassificationReport)] == [1, 2, 3]
    with pytest.raises(NotFoundError):
        client.get_result(ClassificationReport, "4")
    with pytest.raises(InvalidError):
        client.get_result(ClassificationReport, "releases/2")
