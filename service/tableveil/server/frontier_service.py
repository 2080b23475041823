"""Frontiers over gRPC."""

from __future__ import annotations

import grpc

from tableveil.convert import frontier_from_proto, frontier_to_proto, job_to_proto, result_number
from tableveil.errors import InvalidError
from tableveil.lookups import Frontiers
from tableveil.pipelines.work import FrontierWork
from tableveil.runtime import JobManager
from tableveil.server.caller import control_of
from tableveil.state.jobs import JobKind
from tableveil.v1 import frontier_service_pb2 as v1
from tableveil.v1 import frontier_service_pb2_grpc


class FrontierService(frontier_service_pb2_grpc.FrontierServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, jobs: JobManager, frontiers: Frontiers) -> None:
        self._jobs = jobs
        self._frontiers = frontiers

    def SubmitFrontier(  # noqa: N802
        self, request: v1.SubmitFrontierRequest, context: grpc.ServicerContext
    ) -> v1.SubmitFrontierResponse:
        """The policy's message, without its target, is kept as the job's document."""
        control = control_of(context)
        policy, grid, document, faults = frontier_from_proto(request)
        if policy is not None and faults:
            faults += self._jobs.check(policy, control, rows=False).faults
        if policy is None or grid is None:
            raise InvalidError.about("POLICY_INVALID", "the frontier cannot be computed as asked", faults)
        return v1.SubmitFrontierResponse(
            job=job_to_proto(self._jobs.submit(FrontierWork(policy, grid, document), control))
        )

    def GetFrontier(  # noqa: N802
        self, request: v1.GetFrontierRequest, context: grpc.ServicerContext
    ) -> v1.GetFrontierResponse:
        """One frontier, all of its points."""
        frontier = self._frontiers.get(result_number(JobKind.FRONTIER, request.name))
        return v1.GetFrontierResponse(frontier=frontier_to_proto(frontier))
