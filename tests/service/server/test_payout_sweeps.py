"""Payout sweeps over a real channel: what reaches the manager, and what comes back."""

from datetime import datetime
from decimal import Decimal
from unittest.mock import Mock

import grpc
import pytest

from tableveil.errors import Checked, Fault, NotFoundError
from tableveil.game.sweep import Among, SweepMethod, SweepPoint
from tableveil.policy import BreakEven, TableReference
from tableveil.runtime import Job
from tableveil.state.jobs import JobKind, JobState, Request
from tableveil.state.payout_sweeps import PayoutSweep
from tableveil.v1 import payout_service_pb2 as v1
from tableveil.v1 import payout_service_pb2_grpc
from tests.service.client.samples import playing
from tests.service.server.test_frontiers import failure_of

AT = datetime(2024, 1, 1)
SOURCE = TableReference("clinic", "main", "people")
NUMBER = Decimal(5)


@pytest.fixture
def stub(channel: grpc.Channel) -> payout_service_pb2_grpc.PayoutServiceStub:
    return payout_service_pb2_grpc.PayoutServiceStub(channel)


def test_submit(stub: payout_service_pb2_grpc.PayoutServiceStub, jobs: Mock) -> None:
    request = Request(4, "r-1", "{}", "", SOURCE, "", "", AT, JobKind.PAYOUT_SWEEP)
    jobs.submit.return_value = Job(request, JobState.SUCCEEDED, result=9)
    asked = v1.SubmitPayoutSweepRequest(policy=playing(), gains=["3", "2"], if_method_known=True)
    job = stub.SubmitPayoutSweep(asked)
    assert (job.name, job.request_id, job.result) == ("jobs/4", "r-1", "payoutSweeps/9")
    assert not job.HasField("target")
    work, _, _ = jobs.submit.call_args.args
    assert work.options == '{"gains":["2","3"],"if_method_known":true}'
    assert '"column":"sex"' in work.document
    assert "released" not in work.document


def test_faults_of_message_and_database_at_once(stub: payout_service_pb2_grpc.PayoutServiceStub, jobs: Mock) -> None:
    jobs.check.return_value = Checked((Fault("source.table", "'x'", "a table"),))
    with pytest.raises(grpc.RpcError) as raised:
        stub.SubmitPayoutSweep(v1.SubmitPayoutSweepRequest(policy=playing(), gains=["-1"]))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert [fault.field for fault in failure_of(raised.value).faults] == ["gains[0]", "source.table"]
    assert jobs.check.call_args.kwargs == {"rows": False}
    assert not jobs.submit.called


def test_get(stub: payout_service_pb2_grpc.PayoutServiceStub, payout_sweeps: Mock) -> None:
    point = SweepPoint(NUMBER, SweepMethod.SAFE_HARBOR, Among.SOURCE, 1.0, 0, 0, (1,))
    payout_sweeps.get.return_value = PayoutSweep(
        9, 4, AT, SOURCE, "", "", 10, 20, ("sex",), NUMBER, NUMBER, BreakEven.KEEP, False, "2", 2, 0.5, 1.0, "{}",
        (point,),
    )  # fmt: skip
    sweep = stub.GetPayoutSweep(v1.GetPayoutSweepRequest(name="payoutSweeps/9"))
    assert payout_sweeps.get.call_args.args == (9,)
    assert (sweep.name, [point.gain for point in sweep.points]) == ("payoutSweeps/9", ["5"])


@pytest.mark.parametrize("name", ["", "9", "jobs/9", "payoutSweeps/0", "payoutsweeps/9"])
def test_names_that_are_none(stub: payout_service_pb2_grpc.PayoutServiceStub, payout_sweeps: Mock, name: str) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.GetPayoutSweep(v1.GetPayoutSweepRequest(name=name))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not payout_sweeps.get.called


def test_no_such_payout_sweep(stub: payout_service_pb2_grpc.PayoutServiceStub, payout_sweeps: Mock) -> None:
    payout_sweeps.get.side_effect = NotFoundError.of("PAYOUT_SWEEP_NOT_FOUND", "name", "payoutSweeps/9", "another")
    with pytest.raises(grpc.RpcError) as raised:
        stub.GetPayoutSweep(v1.GetPayoutSweepRequest(name="payoutSweeps/9"))
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
