"""Payout sweeps through the client."""

from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import InvalidError, NotFoundError
from tableveil.v1 import job_service_pb2, payout_service_pb2
from tableveil.v1.payout_service_pb2 import PayoutSweep
from tests.service.client import samples
from tests.service.client.fake_service import FakeService


def test_submit_and_get(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_QUEUED)
    service.payout_sweeps["payoutSweeps/2"] = payout_service_pb2.PayoutSweep(name="payoutSweeps/2", records=7)
    assert (
        client.submit_analysis(
            payout_service_pb2.SubmitPayoutSweepRequest(
                policy=samples.policy(), gains=["0", "0.5"], if_method_known=True
            )
        ).name
        == "jobs/1"
    )
    assert service.requests == [
        payout_service_pb2.SubmitPayoutSweepRequest(policy=samples.policy(), gains=["0", "0.5"], if_method_known=True)
    ]
    assert client.get_result(PayoutSweep, "2") == client.get_result(PayoutSweep, "payoutSweeps/2")
    assert client.get_result(PayoutSweep, "2").records == 7
    with pytest.raises(NotFoundError):
        client.get_result(PayoutSweep, "3")
    with pytest.raises(InvalidError):
        client.get_result(PayoutSweep, "releases/2")


def test_files_are_stored_first(client: Client, service: FakeService, tmp_path: Path) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_QUEUED)
    with pytest.raises(InvalidError, match=r"sex\.csv"):
        client.submit_analysis(
            payout_service_pb2.SubmitPayoutSweepRequest(policy=samples.csv_policy("sex.csv")), tmp_path
        )
    assert service.requests == []
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n")
    client.submit_analysis(payout_service_pb2.SubmitPayoutSweepRequest(policy=samples.csv_policy("sex.csv")), tmp_path)
    asked = service.requests[-1]
    assert isinstance(asked, payout_service_pb2.SubmitPayoutSweepRequest)
    assert asked.policy.attributes[0].hierarchy.stored.name == service.hierarchies[0].name
