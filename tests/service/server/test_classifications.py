"""Classifier assessments over a real channel: what reaches the manager, and what comes back."""

from datetime import datetime
from unittest.mock import Mock

import grpc
import pytest

from tableveil.errors import NotFoundError
from tableveil.policy import TableReference
from tableveil.runtime import Job
from tableveil.state.jobs import JobKind, JobState, Request
from tableveil.v1 import classification_service_pb2 as v1
from tableveil.v1 import classification_service_pb2_grpc
from tests.service.classification_samples import classification

Stub = classification_service_pb2_grpc.ClassificationServiceStub
SOURCE = TableReference("clinic", "main", "people")


@pytest.fixture
def stub(channel: grpc.Channel) -> Stub:
    return Stub(channel)


def test_submit(stub: Stub, jobs: Mock) -> None:
    request = Request(4, "r-1", "{}", "", SOURCE, "", "", datetime(2024, 1, 1), JobKind.CLASSIFICATION)
    jobs.submit.return_value = Job(request, JobState.SUCCEEDED, result=9)
    asked = v1.ClassificationRequest(release="releases/3", classes=["ill"])
    job = stub.AssessClassifiers(v1.AssessClassifiersRequest(classification=asked, request_id="r-1"))
    assert (job.name, job.result) == ("jobs/4", "classifications/9")
    work, request_id, _ = jobs.submit.call_args.args
    document = '{"classes":["ill"],"release":"releases/3"}'
    assert (work.release, request_id, work.document) == (3, "r-1", document)


def test_bad_requests_do_not_reach_the_manager(stub: Stub, jobs: Mock) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.AssessClassifiers(v1.AssessClassifiersRequest())
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not jobs.submit.called


def test_get(stub: Stub, classifications: Mock) -> None:
    classifications.get.return_value = classification()
    found = stub.GetClassification(v1.GetClassificationRequest(name="classifications/2"))
    assert classifications.get.call_args.args == (2,)
    assert (found.name, len(found.assessments)) == ("classifications/2", 2)
    classifications.get.side_effect = NotFoundError.of("CLASSIFICATION_NOT_FOUND", "name", "it", "one")
    with pytest.raises(grpc.RpcError) as raised:
        stub.GetClassification(v1.GetClassificationRequest(name="classifications/9"))
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND


def test_pages(stub: Stub, classifications: Mock) -> None:
    classifications.page.return_value = [classification(9), classification(7), classification(4)]
    page = stub.ListClassifications(v1.ListClassificationsRequest(page_size=2))
    assert classifications.page.call_args.args == (None, 3)
    assert [found.name for found in page.classifications] == ["classifications/9", "classifications/7"]
    classifications.page.return_value = [classification(4)]
    last = stub.ListClassifications(v1.ListClassificationsRequest(page_token=page.next_page_token))
    assert classifications.page.call_args.args == (7, 51)
    assert last.next_page_token == ""
