"""The table of job kinds: how a request becomes the work of a job, also when resubmitted, and a result a message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from tableveil.control import Control
from tableveil.convert import (
    canonical_json,
    job_to_proto,
    policy_from_proto,
    release_to_proto,
    result_number,
    stored_policy,
)
from tableveil.convert.arrow_pieces import arrow_pieces
from tableveil.convert.classifications import classification_request_from_proto, classification_to_proto
from tableveil.convert.dry_runs import dry_run_from_proto, dry_run_to_proto
from tableveil.convert.frontiers import frontier_from_proto, frontier_to_proto
from tableveil.convert.payout_sweeps import payout_sweep_from_proto, payout_sweep_to_proto
from tableveil.convert.proposals import composed, proposal_request_from_proto, proposal_to_proto
from tableveil.convert.risk_analyses import risk_analysis_to_proto, risk_request_from_proto
from tableveil.convert.utility_reports import utility_report_to_proto, utility_request_from_proto
from tableveil.errors import ConflictError, Fault, InvalidError
from tableveil.lookups import Privacies, RiskAnalyses
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.classification import classification_work
from tableveil.pipelines.dry_run import dry_run_work
from tableveil.pipelines.frontier import frontier_work
from tableveil.pipelines.payout_sweep import payout_sweep_work
from tableveil.pipelines.propose import proposal_work
from tableveil.pipelines.risk_analysis import risk_analysis_work
from tableveil.pipelines.utility_report import utility_report_work
from tableveil.pipelines.work import Work
from tableveil.policy import Policy
from tableveil.runtime import JobManager
from tableveil.runtime.model import Job
from tableveil.server.declared import completed
from tableveil.state.kinds import JobKind
from tableveil.v1.classification_service_pb2 import AssessClassifiersRequest
from tableveil.v1.dry_run_service_pb2 import SubmitDryRunRequest
from tableveil.v1.frontier_service_pb2 import SubmitFrontierRequest
from tableveil.v1.job_service_pb2 import Job as JobMessage
from tableveil.v1.job_service_pb2 import SubmitJobRequest
from tableveil.v1.payout_service_pb2 import SubmitPayoutSweepRequest
from tableveil.v1.policy_pb2 import Policy as PolicyMessage
from tableveil.v1.proposal_service_pb2 import SubmitProposalRequest
from tableveil.v1.risk_service_pb2 import ReadRecordRisksRequest, ReadRecordRisksResponse, SubmitRiskAnalysisRequest
from tableveil.v1.utility_service_pb2 import SubmitUtilityReportRequest

Asked = TypeVar("Asked", bound=Message)


@dataclass(frozen=True, slots=True)
class Read:
    """The work of a request, or its faults; its policy if the database may find more faults of it."""

    work: Work | None
    faults: list[Fault]
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class Submission(Generic[Asked]):
    """How jobs of a kind are submitted, and how their results are sent.

    The job keeps one field of the request as its `document`; the other fields are its options. `streams` are the
    methods that send a result in pieces, by their names.
    """

    request: type[Asked]
    document: str
    read: Callable[[Asked], Read]
    code: str
    refusal: str
    to_proto: Callable[[Any], Message]
    streams: Mapping[str, Callable[[Any, Any], Iterator[Message]]] = field(default_factory=dict)


def _release(request: SubmitJobRequest) -> Read:
    policy, faults = policy_from_proto(request.policy)
    if policy is None:
        return Read(None, faults)
    return Read(release_work(policy, canonical_json(request.policy), is_trial=request.trial), faults, policy)


def _frontier(request: SubmitFrontierRequest) -> Read:
    policy, grid, document, faults = frontier_from_proto(request)
    return Read(frontier_work(policy, grid, document) if policy and grid else None, faults, policy)


def _payout_sweep(request: SubmitPayoutSweepRequest) -> Read:
    policy, swept, document, faults = payout_sweep_from_proto(request)
    return Read(payout_sweep_work(policy, swept, document) if policy and swept else None, faults, policy)


def _risk_analysis(request: SubmitRiskAnalysisRequest) -> Read:
    risk, document, faults = risk_request_from_proto(request.risk)
    return Read(risk_analysis_work(risk, document, stored_policy) if risk else None, faults)


def _classification(request: AssessClassifiersRequest) -> Read:
    asked, document, faults = classification_request_from_proto(request.classification)
    return Read(classification_work(asked, document, stored_policy) if asked else None, faults)


def _utility_report(request: SubmitUtilityReportRequest) -> Read:
    return Read(utility_report_work(*utility_request_from_proto(request.utility), stored_policy), [])


def _dry_run(request: SubmitDryRunRequest) -> Read:
    policy, document, faults = dry_run_from_proto(request)
    return Read(dry_run_work(policy, document) if policy else None, faults, policy)


def _proposal(request: SubmitProposalRequest) -> Read:
    asked, document, faults = proposal_request_from_proto(request.proposal)
    return Read(proposal_work(asked, document, composed) if asked else None, faults)


def _record_risks(analyses: RiskAnalyses, request: ReadRecordRisksRequest) -> Iterator[ReadRecordRisksResponse]:
    """Rows as gRPC's flow control lets them go; a client that is gone ends the generator."""
    with analyses.read_records(result_number(JobKind.RISK_ANALYSIS, request.name)) as reader:
        for piece in arrow_pieces(reader):
            yield ReadRecordRisksResponse(arrow_ipc=piece)


SUBMISSIONS: Mapping[JobKind, Submission[Any]] = {
    JobKind.RELEASE: Submission(
        *(SubmitJobRequest, "policy", _release),
        *("POLICY_INVALID", "the policy is invalid", release_to_proto),
    ),
    JobKind.FRONTIER: Submission(
        *(SubmitFrontierRequest, "policy", _frontier),
        *("POLICY_INVALID", "the frontier cannot be computed as asked", frontier_to_proto),
    ),
    JobKind.PAYOUT_SWEEP: Submission(
        *(SubmitPayoutSweepRequest, "policy", _payout_sweep),
        *("POLICY_INVALID", "the payout sweep cannot be computed as asked", payout_sweep_to_proto),
    ),
    JobKind.RISK_ANALYSIS: Submission(
        *(SubmitRiskAnalysisRequest, "risk", _risk_analysis),
        *("RISK_INVALID", "the risks cannot be analyzed as asked", risk_analysis_to_proto),
        streams={"ReadRecordRisks": _record_risks},
    ),
    JobKind.CLASSIFICATION: Submission(
        *(AssessClassifiersRequest, "classification", _classification),
        *("CLASSIFICATION_INVALID", "classifiers cannot be assessed as asked", classification_to_proto),
    ),
    JobKind.UTILITY_REPORT: Submission(
        *(SubmitUtilityReportRequest, "utility", _utility_report),
        *("UTILITY_INVALID", "the release cannot be compared as asked", utility_report_to_proto),
    ),
    JobKind.DRY_RUN: Submission(
        *(SubmitDryRunRequest, "policy", _dry_run),
        *("POLICY_INVALID", "the policy is invalid", dry_run_to_proto),
    ),
    JobKind.PROPOSAL: Submission(
        *(SubmitProposalRequest, "proposal", _proposal),
        *("PROPOSAL_INVALID", "nothing can be proposed as asked", proposal_to_proto),
    ),
}

_BY_REQUEST = {submission.request: submission for submission in SUBMISSIONS.values()}


def submit(jobs: JobManager, privacies: Privacies, request: Any, control: Control) -> JobMessage:
    """Submits the job for a request, whose policy takes what it leaves out from the declared privacy of its table.

    Raises:
        InvalidError: with all faults of the request.
    """
    submission = _BY_REQUEST[type(request)]
    completed_policy = completed(request.policy, privacies) if submission.document == "policy" else None
    try:
        return _submitted(submission, jobs, request, control)
    except InvalidError as error:
        faults = error.faults if completed_policy is None else tuple(map(completed_policy, error.faults))
        if faults == error.faults:
            raise
        raise InvalidError.about(error.code, submission.refusal, faults) from None


def _submitted(submission: Submission[Any], jobs: JobManager, request: Any, control: Control) -> JobMessage:
    read = submission.read(request)
    faults = list(read.faults)
    if read.policy is not None and faults:
        faults += jobs.check(read.policy, control, rows=False).faults
    if read.work is None or faults:
        raise InvalidError.about(submission.code, submission.refusal, faults)
    return job_to_proto(jobs.submit(read.work, request.request_id, control))


def work_again(job: Job, change: Callable[[PolicyMessage], object] | None = None) -> Work:
    """The work of a job that has ended, to be repeated; `change` changes its policy first.

    Raises:
        ConflictError: the job has not ended.
        InvalidError: it was requested when more was allowed than now.
    """
    if not job.state.ended:
        raise ConflictError.of(
            "JOB_ACTIVE", "name", f"jobs/{job.number}, which is {job.state.lower()}", "a job that has ended"
        )
    submission = SUBMISSIONS[job.request.kind]
    asked = {submission.document: json.loads(job.request.policy), **json.loads(job.request.options or "{}")}
    request = json_format.ParseDict(asked, submission.request())
    if change is not None:
        if submission.document != "policy":
            raise InvalidError.of("REQUEST_INVALID", "widen", f"jobs/{job.number}, without a policy", "a job with one")
        change(request.policy)
    read = submission.read(request)
    if read.work is None or read.faults:
        raise InvalidError.about("REQUEST_INVALID", "the job's request is not allowed any more", read.faults)
    return read.work
