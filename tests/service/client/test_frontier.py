"""Frontiers through the client."""

from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import InvalidError, NotFoundError
from tableveil.v1 import frontier_service_pb2, job_service_pb2, policy_pb2
from tableveil.v1.frontier_service_pb2 import Frontier
from tests.service.client import samples
from tests.service.client.fake_service import FakeService


def test_submit_and_get(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_QUEUED)
    service.frontiers["frontiers/2"] = frontier_service_pb2.Frontier(name="frontiers/2", records=7)
    assert (
        client.submit_analysis(
            frontier_service_pb2.SubmitFrontierRequest(
                policy=samples.policy(), k=range(2, 5), suppression_limits=["0.1"]
            )
        ).name
        == "jobs/1"
    )
    assert service.requests == [
        frontier_service_pb2.SubmitFrontierRequest(policy=samples.policy(), k=[2, 3, 4], suppression_limits=["0.1"])
    ]
    assert (
        client.get_result(Frontier, "2")
        == client.get_result(Frontier, "frontiers/2")
        == service.frontiers["frontiers/2"]
    )
    with pytest.raises(NotFoundError):
        client.get_result(Frontier, "3")
    with pytest.raises(InvalidError):
        client.get_result(Frontier, "releases/2")


def test_files_are_stored_first(client: Client, service: FakeService, tmp_path: Path) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_QUEUED)
    with pytest.raises(InvalidError, match=r"sex\.csv"):
        client.submit_analysis(
            frontier_service_pb2.SubmitFrontierRequest(policy=samples.csv_policy("sex.csv")), tmp_path
        )
    assert service.requests == []
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n")
    client.submit_analysis(frontier_service_pb2.SubmitFrontierRequest(policy=samples.csv_policy("sex.csv")), tmp_path)
    assert service.hierarchy_rows == [[["F", "*"], ["M", "*"]]]
    asked = service.requests[-1]
    assert isinstance(asked, frontier_service_pb2.SubmitFrontierRequest)
    stored = policy_pb2.StoredHierarchy(name=service.hierarchies[0].name, version=1)
    assert asked.policy.attributes[0].hierarchy.stored == stored
