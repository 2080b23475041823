"""Payout sweeps over gRPC."""

from __future__ import annotations

import grpc

from tableveil.convert import payout_sweep_to_proto, result_number
from tableveil.lookups import Results
from tableveil.runtime import JobManager
from tableveil.server.caller import control_of
from tableveil.server.submissions import submit
from tableveil.state.jobs import JobKind
from tableveil.state.payout_sweeps import PayoutSweep
from tableveil.v1 import payout_service_pb2 as v1
from tableveil.v1 import payout_service_pb2_grpc


class PayoutService(payout_service_pb2_grpc.PayoutServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, jobs: JobManager, payout_sweeps: Results[PayoutSweep]) -> None:
        self._jobs = jobs
        self._payout_sweeps = payout_sweeps

    def SubmitPayoutSweep(  # noqa: N802
        self, request: v1.SubmitPayoutSweepRequest, context: grpc.ServicerContext
    ) -> v1.SubmitPayoutSweepResponse:
        """The policy's message, without what a sweep ignores, is kept as the job's document."""
        return v1.SubmitPayoutSweepResponse(job=submit(self._jobs, request, control_of(context)))

    def GetPayoutSweep(  # noqa: N802
        self, request: v1.GetPayoutSweepRequest, context: grpc.ServicerContext
    ) -> v1.GetPayoutSweepResponse:
        """One payout sweep, all of its points."""
        sweep = self._payout_sweeps.get(result_number(JobKind.PAYOUT_SWEEP, request.name))
        return v1.GetPayoutSweepResponse(payout_sweep=payout_sweep_to_proto(sweep))
