"""Utility reports over gRPC."""

from __future__ import annotations

import grpc

from tableveil.convert import (
    result_number,
    utility_report_to_proto,
)
from tableveil.lookups import Results
from tableveil.runtime import JobManager
from tableveil.server.caller import control_of
from tableveil.server.submissions import submit
from tableveil.state.jobs import JobKind
from tableveil.state.utility_reports import Stored
from tableveil.v1 import utility_service_pb2 as v1
from tableveil.v1 import utility_service_pb2_grpc


class UtilityService(utility_service_pb2_grpc.UtilityServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, jobs: JobManager, utility_reports: Results[Stored]) -> None:
        self._jobs = jobs
        self._utility_reports = utility_reports

    def SubmitUtilityReport(  # noqa: N802
        self, request: v1.SubmitUtilityReportRequest, context: grpc.ServicerContext
    ) -> v1.SubmitUtilityReportResponse:
        """The message is kept as the job's document."""
        return v1.SubmitUtilityReportResponse(job=submit(self._jobs, request, control_of(context)))

    def GetUtilityReport(  # noqa: N802
        self, request: v1.GetUtilityReportRequest, context: grpc.ServicerContext
    ) -> v1.GetUtilityReportResponse:
        """One utility report."""
        stored = self._utility_reports.get(result_number(JobKind.UTILITY_REPORT, request.name))
        return v1.GetUtilityReportResponse(utility_report=utility_report_to_proto(stored))
