"""Frontiers over gRPC."""

from __future__ import annotations

import grpc

from tableveil.convert import frontier_to_proto, result_number
from tableveil.lookups import Results
from tableveil.runtime import JobManager
from tableveil.server.caller import control_of
from tableveil.server.submissions import submit
from tableveil.state.frontiers import Frontier
from tableveil.state.jobs import JobKind
from tableveil.v1 import frontier_service_pb2 as v1
from tableveil.v1 import frontier_service_pb2_grpc


class FrontierService(frontier_service_pb2_grpc.FrontierServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, jobs: JobManager, frontiers: Results[Frontier]) -> None:
        self._jobs = jobs
        self._frontiers = frontiers

    def SubmitFrontier(  # noqa: N802
        self, request: v1.SubmitFrontierRequest, context: grpc.ServicerContext
    ) -> v1.SubmitFrontierResponse:
        """The policy's message, without its target, is kept as the job's document."""
        return v1.SubmitFrontierResponse(job=submit(self._jobs, request, control_of(context)))

    def GetFrontier(  # noqa: N802
        self, request: v1.GetFrontierRequest, context: grpc.ServicerContext
    ) -> v1.GetFrontierResponse:
        """One frontier, all of its points."""
        frontier = self._frontiers.get(result_number(JobKind.FRONTIER, request.name))
        return v1.GetFrontierResponse(frontier=frontier_to_proto(frontier))
