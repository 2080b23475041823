"""Risk analyses over gRPC."""

from __future__ import annotations

from collections.abc import Iterator

import grpc

from tableveil.convert import result_number, risk_analysis_to_proto
from tableveil.convert.arrow_pieces import arrow_pieces
from tableveil.lookups import RiskAnalyses
from tableveil.runtime import JobManager
from tableveil.server.caller import control_of
from tableveil.server.submissions import submit
from tableveil.state.jobs import JobKind
from tableveil.v1 import risk_service_pb2 as v1
from tableveil.v1 import risk_service_pb2_grpc


class RiskService(risk_service_pb2_grpc.RiskServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, jobs: JobManager, risk_analyses: RiskAnalyses) -> None:
        self._jobs = jobs
        self._risk_analyses = risk_analyses

    def SubmitRiskAnalysis(  # noqa: N802
        self, request: v1.SubmitRiskAnalysisRequest, context: grpc.ServicerContext
    ) -> v1.SubmitRiskAnalysisResponse:
        """The message is kept as the job's document."""
        return v1.SubmitRiskAnalysisResponse(job=submit(self._jobs, request, control_of(context)))

    def GetRiskAnalysis(  # noqa: N802
        self, request: v1.GetRiskAnalysisRequest, context: grpc.ServicerContext
    ) -> v1.GetRiskAnalysisResponse:
        """One risk analysis, all of its measures."""
        analysis = self._risk_analyses.get(result_number(JobKind.RISK_ANALYSIS, request.name))
        return v1.GetRiskAnalysisResponse(risk_analysis=risk_analysis_to_proto(analysis))

    def ReadRecordRisks(  # noqa: N802
        self, request: v1.ReadRecordRisksRequest, context: grpc.ServicerContext
    ) -> Iterator[v1.ReadRecordRisksResponse]:
        """Rows as gRPC's flow control lets them go; a client that is gone ends the generator."""
        with self._risk_analyses.read_records(result_number(JobKind.RISK_ANALYSIS, request.name)) as reader:
            for piece in arrow_pieces(reader):
                yield v1.ReadRecordRisksResponse(arrow_ipc=piece)
