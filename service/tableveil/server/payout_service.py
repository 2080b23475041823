"""Payout sweeps over gRPC."""

from __future__ import annotations

import grpc

from tableveil.convert import job_to_proto, payout_sweep_from_proto, payout_sweep_to_proto, result_number
from tableveil.errors import InvalidError
from tableveil.lookups import PayoutSweeps
from tableveil.pipelines.work import PayoutSweepWork
from tableveil.runtime import JobManager
from tableveil.server.caller import control_of
from tableveil.state.jobs import JobKind
from tableveil.v1 import payout_service_pb2 as v1
from tableveil.v1 import payout_service_pb2_grpc


class PayoutService(payout_service_pb2_grpc.PayoutServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, jobs: JobManager, payout_sweeps: PayoutSweeps) -> None:
        self._jobs = jobs
        self._payout_sweeps = payout_sweeps

    def SubmitPayoutSweep(  # noqa: N802
        self, request: v1.SubmitPayoutSweepRequest, context: grpc.ServicerContext
    ) -> v1.SubmitPayoutSweepResponse:
        """The policy's message, without what a sweep ignores, is kept as the job's document."""
        control = control_of(context)
        policy, swept, document, faults = payout_sweep_from_proto(request)
        if policy is not None and faults:
            faults += self._jobs.check(policy, control, rows=False).faults
        if policy is None or swept is None:
            raise InvalidError.about("POLICY_INVALID", "the payout sweep cannot be computed as asked", faults)
        job = self._jobs.submit(PayoutSweepWork(policy, swept, document), control)
        return v1.SubmitPayoutSweepResponse(job=job_to_proto(job))

    def GetPayoutSweep(  # noqa: N802
        self, request: v1.GetPayoutSweepRequest, context: grpc.ServicerContext
    ) -> v1.GetPayoutSweepResponse:
        """One payout sweep, all of its points."""
        sweep = self._payout_sweeps.get(result_number(JobKind.PAYOUT_SWEEP, request.name))
        return v1.GetPayoutSweepResponse(payout_sweep=payout_sweep_to_proto(sweep))
