"""A service that answers what a test tells it to, over a real channel."""

import io
import threading
from collections import deque
from collections.abc import Iterator
from concurrent import futures
from typing import Any, NoReturn, Self, TypeVar

import grpc
import pyarrow as pa
from google.protobuf.message import Message
from google.rpc import status_pb2
from grpc_status import rpc_status

from tableveil.v1 import (
    classification_service_pb2,
    classification_service_pb2_grpc,
    draft_service_pb2,
    draft_service_pb2_grpc,
    faults_pb2,
    frontier_service_pb2,
    frontier_service_pb2_grpc,
    hierarchy_service_pb2,
    hierarchy_service_pb2_grpc,
    job_service_pb2,
    job_service_pb2_grpc,
    payout_service_pb2,
    payout_service_pb2_grpc,
    proposal_service_pb2,
    proposal_service_pb2_grpc,
    release_service_pb2,
    release_service_pb2_grpc,
    report_service_pb2,
    report_service_pb2_grpc,
    risk_service_pb2,
    risk_service_pb2_grpc,
    utility_service_pb2,
    utility_service_pb2_grpc,
)

PAGE = 2

Thing = TypeVar("Thing")
PIECE = 1000

CODES = {
    faults_pb2.FAILURE_KIND_INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    faults_pb2.FAILURE_KIND_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    faults_pb2.FAILURE_KIND_INFEASIBLE: grpc.StatusCode.FAILED_PRECONDITION,
    faults_pb2.FAILURE_KIND_CONFLICT: grpc.StatusCode.ABORTED,
    faults_pb2.FAILURE_KIND_BUSY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    faults_pb2.FAILURE_KIND_CANCELLED: grpc.StatusCode.CANCELLED,
    faults_pb2.FAILURE_KIND_INTERNAL: grpc.StatusCode.INTERNAL,
    faults_pb2.FAILURE_KIND_UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    faults_pb2.FAILURE_KIND_DENIED: grpc.StatusCode.PERMISSION_DENIED,
    faults_pb2.FAILURE_KIND_GUARDED: grpc.StatusCode.FAILED_PRECONDITION,
}

Outcome = faults_pb2.Failure | grpc.StatusCode
"""How a call fails: with our details, or with a bare status, as if the connection broke."""

Step = job_service_pb2.Job | Outcome | threading.Event
"""The next step of a watch stream: send, fail, wait."""


class FakeService(
    job_service_pb2_grpc.JobServiceServicer,
    release_service_pb2_grpc.ReleaseServiceServicer,
    report_service_pb2_grpc.ReportServiceServicer,
    hierarchy_service_pb2_grpc.HierarchyServiceServicer,
    frontier_service_pb2_grpc.FrontierServiceServicer,
    payout_service_pb2_grpc.PayoutServiceServicer,
    risk_service_pb2_grpc.RiskServiceServicer,
    classification_service_pb2_grpc.ClassificationServiceServicer,
    utility_service_pb2_grpc.UtilityServiceServicer,
    draft_service_pb2_grpc.DraftServiceServicer,
    proposal_service_pb2_grpc.ProposalServiceServicer,
):
    """Holds jobs, releases, objects and hierarchies by name; `failures` makes the RPC of that name fail, or wait."""

    def __init__(self, message_limit: int = 4 * 2**20) -> None:
        self.jobs: dict[str, job_service_pb2.Job] = {}
        self.releases: dict[str, release_service_pb2.Release] = {}
        self.frontiers: dict[str, frontier_service_pb2.Frontier] = {}
        self.payout_sweeps: dict[str, payout_service_pb2.PayoutSweep] = {}
        self.risk_analyses: dict[str, risk_service_pb2.RiskAnalysis] = {}
        self.classifications: dict[str, classification_service_pb2.ClassificationReport] = {}
        self.utility_reports: dict[str, utility_service_pb2.UtilityReport] = {}
        self.proposals: dict[str, proposal_service_pb2.Proposal] = {}
        self.draft = draft_service_pb2.DraftPolicyResponse()
        self.objects: dict[str, pa.Table] = {}
        self.hierarchies: list[hierarchy_service_pb2.StoredHierarchyInfo] = []
        self.hierarchy_rows: list[list[list[str]]] = []
        self.faults: list[faults_pb2.Fault] = []
        self.warnings: list[str] = []
        self.failures: dict[str, Outcome | threading.Event] = {}
        self.cancels = True
        self.streams: deque[list[Step]] = deque()
        # An object breaks off after so many bytes, or goes no further until the event is set.
        self.break_after: int | None = None
        self.stall_after: int | None = None
        self.resume = threading.Event()
        self.pieces_sent = 0
        self.read_ended = threading.Event()
        self.requests: list[Message] = []
        self._limit = message_limit
        self._start(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _start(self, port: int) -> None:
        options = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", self._limit)]
        self._server = grpc.server(futures.ThreadPoolExecutor(8), options=options)
        job_service_pb2_grpc.add_JobServiceServicer_to_server(self, self._server)
        release_service_pb2_grpc.add_ReleaseServiceServicer_to_server(self, self._server)
        report_service_pb2_grpc.add_ReportServiceServicer_to_server(self, self._server)
        hierarchy_service_pb2_grpc.add_HierarchyServiceServicer_to_server(self, self._server)
        frontier_service_pb2_grpc.add_FrontierServiceServicer_to_server(self, self._server)
        payout_service_pb2_grpc.add_PayoutServiceServicer_to_server(self, self._server)
        risk_service_pb2_grpc.add_RiskServiceServicer_to_server(self, self._server)
        classification_service_pb2_grpc.add_ClassificationServiceServicer_to_server(self, self._server)
        utility_service_pb2_grpc.add_UtilityServiceServicer_to_server(self, self._server)
        draft_service_pb2_grpc.add_DraftServiceServicer_to_server(self, self._server)
        proposal_service_pb2_grpc.add_ProposalServiceServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        self._server.start()

    def stop(self) -> None:
        self.resume.set()
        self._server.stop(0).wait()

    def restart(self) -> None:
        self.stop()
        self._start(self.port)

    def submit(self, name: str, *streams: list[Step], state: job_service_pb2.JobState.ValueType) -> None:
        """A job, and what the next streams that watch it do."""
        self.jobs[name] = job_service_pb2.Job(name=name, state=state)
        self.streams.extend(streams)

    def CheckPolicy(  # noqa: N802
        self, request: job_service_pb2.CheckPolicyRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.CheckPolicyResponse:
        self._received("CheckPolicy", request, context)
        return job_service_pb2.CheckPolicyResponse(faults=self.faults, warnings=self.warnings)

    def SubmitJob(  # noqa: N802
        self, request: job_service_pb2.SubmitJobRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("SubmitJob", request, context)
        return next(iter(self.jobs.values()))

    def GetJob(  # noqa: N802
        self, request: job_service_pb2.GetJobRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("GetJob", request, context)
        return self._found(self.jobs, request.name, context)

    def ListJobs(  # noqa: N802
        self, request: job_service_pb2.ListJobsRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.ListJobsResponse:
        self._received("ListJobs", request, context)
        page, token = _page(list(self.jobs.values()), request.page_token)
        return job_service_pb2.ListJobsResponse(jobs=page, next_page_token=token)

    def CancelJob(  # noqa: N802
        self, request: job_service_pb2.CancelJobRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("CancelJob", request, context)
        job = self._found(self.jobs, request.name, context)
        if self.cancels:
            job.state = job_service_pb2.JOB_STATE_CANCELLED
        return job

    def WatchJob(  # noqa: N802
        self, request: job_service_pb2.WatchJobRequest, context: grpc.ServicerContext
    ) -> Iterator[job_service_pb2.WatchJobResponse]:
        self._received("WatchJob", request, context)
        steps = self.streams.popleft() if self.streams else [self._found(self.jobs, request.name, context)]
        for step in steps:
            if isinstance(step, threading.Event):
                step.wait(10)
            elif isinstance(step, job_service_pb2.Job):
                yield job_service_pb2.WatchJobResponse(job=step)
            else:
                _fail(step, context)

    def ResubmitJob(  # noqa: N802
        self, request: job_service_pb2.ResubmitJobRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("ResubmitJob", request, context)
        self._found(self.jobs, request.name, context)
        return list(self.jobs.values())[-1]

    def DeleteJob(  # noqa: N802
        self, request: job_service_pb2.DeleteJobRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.DeleteJobResponse:
        self._received("DeleteJob", request, context)
        self._found(self.jobs, request.name, context)
        del self.jobs[request.name]
        return job_service_pb2.DeleteJobResponse()

    def WithdrawRelease(  # noqa: N802
        self, request: release_service_pb2.WithdrawReleaseRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.Release:
        self._received("WithdrawRelease", request, context)
        release = self._found(self.releases, request.name, context)
        release.current = False
        release.state = release_service_pb2.RELEASE_STATE_WITHDRAWN
        release.withdraw_time.FromSeconds(1_800_000_000)
        release.withdraw_reason = request.reason
        return release

    def PromoteRelease(  # noqa: N802
        self, request: release_service_pb2.PromoteReleaseRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.Release:
        self._received("PromoteRelease", request, context)
        release = self._found(self.releases, request.name, context)
        release.current, release.state = True, release_service_pb2.RELEASE_STATE_APPROVED
        return release

    def ApproveRelease(  # noqa: N802
        self, request: release_service_pb2.ApproveReleaseRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.Release:
        self._received("ApproveRelease", request, context)
        release = self._found(self.releases, request.name, context)
        release.current, release.decision_note = True, request.note
        release.state = release_service_pb2.RELEASE_STATE_APPROVED
        return release

    def RejectRelease(  # noqa: N802
        self, request: release_service_pb2.RejectReleaseRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.Release:
        self._received("RejectRelease", request, context)
        release = self._found(self.releases, request.name, context)
        release.decided_by, release.decision_note = "b\x1bob", request.note
        release.state = release_service_pb2.RELEASE_STATE_REJECTED
        return release

    def PublishRelease(  # noqa: N802
        self, request: release_service_pb2.PublishReleaseRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.Release:
        self._received("PublishRelease", request, context)
        release = self._found(self.releases, request.name, context)
        release.publications.add(
            target=request.target, state=release_service_pb2.PUBLICATION_STATE_WAITING, wanted=True
        )
        # The next look at it finds it there.
        published = release_service_pb2.Release()
        published.CopyFrom(release)
        release.publications[-1].state = release_service_pb2.PUBLICATION_STATE_PUBLISHED
        return published

    def UnpublishRelease(  # noqa: N802
        self, request: release_service_pb2.UnpublishReleaseRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.Release:
        self._received("UnpublishRelease", request, context)
        release = self._found(self.releases, request.name, context)
        release.publications[-1].wanted = False
        release.publications[-1].state = release_service_pb2.PUBLICATION_STATE_REMOVED
        return release

    def ListTargets(  # noqa: N802
        self, request: release_service_pb2.ListTargetsRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.ListTargetsResponse:
        self._received("ListTargets", request, context)
        shelf = release_service_pb2.PublicationTarget(name="shelf", declared=True, published=1_200, failed=1)
        gone = release_service_pb2.PublicationTarget(name="gone", published=3)
        return release_service_pb2.ListTargetsResponse(targets=[gone, shelf])

    def GetTarget(  # noqa: N802
        self, request: release_service_pb2.GetTargetRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.PublicationTarget:
        raise NotImplementedError

    def GetJointClasses(  # noqa: N802
        self, request: release_service_pb2.GetJointClassesRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.JointClasses:
        self._received("GetJointClasses", request, context)
        sizes = [release_service_pb2.JointClassSize(size=2, joint_classes=1, left_behind=3)]
        return release_service_pb2.JointClasses(
            releases=request.releases, people=57, smallest=2, left_behind=6, smallest_left_behind=2, sizes=sizes
        )

    def GetRelease(  # noqa: N802
        self, request: release_service_pb2.GetReleaseRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.Release:
        self._received("GetRelease", request, context)
        return self._found(self.releases, request.name, context)

    def GetReport(  # noqa: N802
        self, request: report_service_pb2.GetReportRequest, context: grpc.ServicerContext
    ) -> report_service_pb2.Report:
        self._received("GetReport", request, context)
        self._found(self.releases, request.name, context)
        return report_service_pb2.Report(content=f"The first page of {request.name}, as text".encode())

    def ListReleases(  # noqa: N802
        self, request: release_service_pb2.ListReleasesRequest, context: grpc.ServicerContext
    ) -> release_service_pb2.ListReleasesResponse:
        self._received("ListReleases", request, context)
        page, token = _page(list(self.releases.values()), request.page_token)
        return release_service_pb2.ListReleasesResponse(releases=page, next_page_token=token)

    def SubmitFrontier(  # noqa: N802
        self, request: frontier_service_pb2.SubmitFrontierRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("SubmitFrontier", request, context)
        return next(iter(self.jobs.values()))

    def GetFrontier(  # noqa: N802
        self, request: frontier_service_pb2.GetFrontierRequest, context: grpc.ServicerContext
    ) -> frontier_service_pb2.Frontier:
        self._received("GetFrontier", request, context)
        return self._found(self.frontiers, request.name, context)

    def SubmitPayoutSweep(  # noqa: N802
        self, request: payout_service_pb2.SubmitPayoutSweepRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("SubmitPayoutSweep", request, context)
        return next(iter(self.jobs.values()))

    def GetPayoutSweep(  # noqa: N802
        self, request: payout_service_pb2.GetPayoutSweepRequest, context: grpc.ServicerContext
    ) -> payout_service_pb2.PayoutSweep:
        self._received("GetPayoutSweep", request, context)
        found = self._found(self.payout_sweeps, request.name, context)
        return found

    def SubmitRiskAnalysis(  # noqa: N802
        self, request: risk_service_pb2.SubmitRiskAnalysisRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("SubmitRiskAnalysis", request, context)
        return next(iter(self.jobs.values()))

    def GetRiskAnalysis(  # noqa: N802
        self, request: risk_service_pb2.GetRiskAnalysisRequest, context: grpc.ServicerContext
    ) -> risk_service_pb2.RiskAnalysis:
        self._received("GetRiskAnalysis", request, context)
        found = self._found(self.risk_analyses, request.name, context)
        return found

    def WidenPolicy(  # noqa: N802
        self, request: draft_service_pb2.WidenPolicyRequest, context: grpc.ServicerContext
    ) -> draft_service_pb2.WidenPolicyResponse:
        self._received("WidenPolicy", request, context)
        return draft_service_pb2.WidenPolicyResponse(policy=request.policy, columns=["a\x1bge"])

    def DraftPolicy(  # noqa: N802
        self, request: draft_service_pb2.DraftPolicyRequest, context: grpc.ServicerContext
    ) -> draft_service_pb2.DraftPolicyResponse:
        self._received("DraftPolicy", request, context)
        return self.draft

    def ReadRecordRisks(  # noqa: N802
        self, request: risk_service_pb2.ReadRecordRisksRequest, context: grpc.ServicerContext
    ) -> Iterator[risk_service_pb2.ReadRecordRisksResponse]:
        self._received("ReadRecordRisks", request, context)
        table = self._found(self.objects, request.name, context)
        written = io.BytesIO()
        with pa.ipc.new_stream(written, table.schema) as writer:
            writer.write_table(table)
        yield risk_service_pb2.ReadRecordRisksResponse(arrow_ipc=written.getvalue())

    def AssessClassifiers(  # noqa: N802
        self, request: classification_service_pb2.AssessClassifiersRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("AssessClassifiers", request, context)
        return next(iter(self.jobs.values()))

    def GetClassification(  # noqa: N802
        self, request: classification_service_pb2.GetClassificationRequest, context: grpc.ServicerContext
    ) -> classification_service_pb2.ClassificationReport:
        self._received("GetClassification", request, context)
        found = self._found(self.classifications, request.name, context)
        return found

    def ListClassifications(  # noqa: N802
        self, request: classification_service_pb2.ListClassificationsRequest, context: grpc.ServicerContext
    ) -> classification_service_pb2.ListClassificationsResponse:
        self._received("ListClassifications", request, context)
        page, token = _page(list(self.classifications.values()), request.page_token)
        return classification_service_pb2.ListClassificationsResponse(classifications=page, next_page_token=token)

    def SubmitProposal(  # noqa: N802
        self, request: proposal_service_pb2.SubmitProposalRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("SubmitProposal", request, context)
        return next(iter(self.jobs.values()))

    def GetProposal(  # noqa: N802
        self, request: proposal_service_pb2.GetProposalRequest, context: grpc.ServicerContext
    ) -> proposal_service_pb2.Proposal:
        self._received("GetProposal", request, context)
        found = self._found(self.proposals, request.name, context)
        return found

    def ListProposals(  # noqa: N802
        self, request: proposal_service_pb2.ListProposalsRequest, context: grpc.ServicerContext
    ) -> proposal_service_pb2.ListProposalsResponse:
        self._received("ListProposals", request, context)
        page, token = _page(list(self.proposals.values()), request.page_token)
        return proposal_service_pb2.ListProposalsResponse(proposals=page, next_page_token=token)

    def SubmitUtilityReport(  # noqa: N802
        self, request: utility_service_pb2.SubmitUtilityReportRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._received("SubmitUtilityReport", request, context)
        return next(iter(self.jobs.values()))

    def GetUtilityReport(  # noqa: N802
        self, request: utility_service_pb2.GetUtilityReportRequest, context: grpc.ServicerContext
    ) -> utility_service_pb2.UtilityReport:
        self._received("GetUtilityReport", request, context)
        found = self._found(self.utility_reports, request.name, context)
        return found

    def ListFrontiers(  # noqa: N802
        self, request: frontier_service_pb2.ListFrontiersRequest, context: grpc.ServicerContext
    ) -> frontier_service_pb2.ListFrontiersResponse:
        self._received("ListFrontiers", request, context)
        page, token = _page(list(self.frontiers.values()), request.page_token)
        return frontier_service_pb2.ListFrontiersResponse(frontiers=page, next_page_token=token)

    def ListPayoutSweeps(  # noqa: N802
        self, request: payout_service_pb2.ListPayoutSweepsRequest, context: grpc.ServicerContext
    ) -> payout_service_pb2.ListPayoutSweepsResponse:
        self._received("ListPayoutSweeps", request, context)
        page, token = _page(list(self.payout_sweeps.values()), request.page_token)
        return payout_service_pb2.ListPayoutSweepsResponse(payout_sweeps=page, next_page_token=token)

    def ListRiskAnalyses(  # noqa: N802
        self, request: risk_service_pb2.ListRiskAnalysesRequest, context: grpc.ServicerContext
    ) -> risk_service_pb2.ListRiskAnalysesResponse:
        self._received("ListRiskAnalyses", request, context)
        page, token = _page(list(self.risk_analyses.values()), request.page_token)
        return risk_service_pb2.ListRiskAnalysesResponse(risk_analyses=page, next_page_token=token)

    def ListUtilityReports(  # noqa: N802
        self, request: utility_service_pb2.ListUtilityReportsRequest, context: grpc.ServicerContext
    ) -> utility_service_pb2.ListUtilityReportsResponse:
        self._received("ListUtilityReports", request, context)
        page, token = _page(list(self.utility_reports.values()), request.page_token)
        return utility_service_pb2.ListUtilityReportsResponse(utility_reports=page, next_page_token=token)

    def ReadObject(  # noqa: N802
        self, request: release_service_pb2.ReadObjectRequest, context: grpc.ServicerContext
    ) -> Iterator[release_service_pb2.ReadObjectResponse]:
        self._received("ReadObject", request, context)
        context.add_callback(self.read_ended.set)
        content = ipc(self._found(self.objects, request.object, context))
        for start in range(0, len(content), PIECE):
            if self.break_after is not None and start >= self.break_after:
                _fail(grpc.StatusCode.UNAVAILABLE, context)
            if self.stall_after is not None and start >= self.stall_after:
                self.resume.wait(30)
            self.pieces_sent += 1
            yield release_service_pb2.ReadObjectResponse(arrow_ipc=content[start : start + PIECE])

    def CreateHierarchy(  # noqa: N802
        self, request_iterator: Iterator[hierarchy_service_pb2.CreateHierarchyRequest], context: grpc.ServicerContext
    ) -> hierarchy_service_pb2.StoredHierarchyInfo:
        requests = list(request_iterator)
        self._received("CreateHierarchy", requests[0], context)
        rows = [list(row.labels) for request in requests for row in request.rows]
        info = hierarchy_service_pb2.StoredHierarchyInfo(
            name=requests[0].name, version=len(self.hierarchies) + 1, levels=len(rows[0]), values=len(rows)
        )
        self.hierarchies.append(info)
        self.hierarchy_rows.append(rows)
        return info

    def ListHierarchies(  # noqa: N802
        self, request: hierarchy_service_pb2.ListHierarchiesRequest, context: grpc.ServicerContext
    ) -> hierarchy_service_pb2.ListHierarchiesResponse:
        self._received("ListHierarchies", request, context)
        page, token = _page(self.hierarchies, request.page_token)
        return hierarchy_service_pb2.ListHierarchiesResponse(hierarchies=page, next_page_token=token)

    def PreviewHierarchy(  # noqa: N802
        self, request_iterator: Iterator[hierarchy_service_pb2.PreviewHierarchyRequest], context: grpc.ServicerContext
    ) -> hierarchy_service_pb2.PreviewHierarchyResponse:
        raise NotImplementedError

    def GetHierarchy(  # noqa: N802
        self, request: hierarchy_service_pb2.GetHierarchyRequest, context: grpc.ServicerContext
    ) -> hierarchy_service_pb2.StoredHierarchyInfo:
        raise NotImplementedError

    def ForgetHierarchyRows(  # noqa: N802
        self, request: hierarchy_service_pb2.ForgetHierarchyRowsRequest, context: grpc.ServicerContext
    ) -> hierarchy_service_pb2.ForgetHierarchyRowsResponse:
        raise NotImplementedError

    def CompareHierarchies(  # noqa: N802
        self, request: hierarchy_service_pb2.CompareHierarchiesRequest, context: grpc.ServicerContext
    ) -> hierarchy_service_pb2.CompareHierarchiesResponse:
        raise NotImplementedError

    def ReadHierarchy(  # noqa: N802
        self, request: hierarchy_service_pb2.ReadHierarchyRequest, context: grpc.ServicerContext
    ) -> Iterator[hierarchy_service_pb2.ReadHierarchyResponse]:
        raise NotImplementedError

    def _received(self, rpc: str, request: Message, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        outcome = self.failures.get(rpc)
        if isinstance(outcome, threading.Event):
            outcome.wait(10)
        elif outcome is not None:
            _fail(outcome, context)

    def _found(self, things: dict[str, Thing], name: str, context: grpc.ServicerContext) -> Thing:
        if name in things:
            return things[name]
        missing = faults_pb2.Failure(
            kind=faults_pb2.FAILURE_KIND_NOT_FOUND, code="NOT_FOUND", message=f"{name} does not exist"
        )
        _fail(missing, context)


def ipc(table: pa.Table) -> bytes:
    """The table as the service streams it."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    return sink.getvalue()


def _page(things: list[Any], token: str) -> tuple[list[Any], str]:
    start = int(token or 0)
    end = start + PAGE
    return things[start:end], str(end) if end < len(things) else ""


def _fail(outcome: Outcome, context: grpc.ServicerContext) -> NoReturn:
    if isinstance(outcome, grpc.StatusCode):
        context.abort(outcome, "broken by the test")
    code = CODES[outcome.kind]
    status = status_pb2.Status(code=code.value[0], message=outcome.message)
    status.details.add().Pack(outcome)
    context.abort_with_status(rpc_status.to_status(status))
