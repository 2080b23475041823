"""The work of a job that has ended, to be done once more as it was asked for."""

from __future__ import annotations

import json
from typing import TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from tableveil.convert import (
    classification_request_from_proto,
    frontier_from_proto,
    payout_sweep_from_proto,
    policy_from_proto,
    risk_request_from_proto,
    stored_policy,
    utility_request_from_proto,
)
from tableveil.errors import ConflictError, Fault, InvalidError
from tableveil.pipelines.work import (
    ClassificationWork,
    FrontierWork,
    PayoutSweepWork,
    ReleaseWork,
    RiskAnalysisWork,
    UtilityReportWork,
    Work,
)
from tableveil.runtime.model import Job
from tableveil.state.jobs import JobKind, Request
from tableveil.v1 import (
    classification_service_pb2,
    frontier_service_pb2,
    payout_service_pb2,
    policy_pb2,
    risk_service_pb2,
    utility_service_pb2,
)

Asked = TypeVar("Asked", bound=Message)
Converted = TypeVar("Converted")


def work_again(job: Job) -> Work:
    """What the job was asked for, with its request id.

    Raises:
        ConflictError: the job has not ended.
        InvalidError: it was asked for when more was allowed than now.
    """
    if not job.state.ended:
        raise ConflictError.of(
            "JOB_ACTIVE", "name", f"jobs/{job.number}, which is {job.state.lower()}", "a job that has ended"
        )
    return _work(job.request)


def _work(request: Request) -> Work:
    options = json.loads(request.options or "{}")
    match request.kind:
        case JobKind.RELEASE:
            policy, faults = policy_from_proto(_read(request, policy_pb2.Policy()))
            return ReleaseWork(_valid(policy, faults), request.policy)
        case JobKind.FRONTIER:
            points = frontier_service_pb2.SubmitFrontierRequest(
                policy=_read(request, policy_pb2.Policy()),
                k=options["k"],
                suppression_limits=options["suppression_limits"],
            )
            policy, grid, document, faults = frontier_from_proto(points)
            return FrontierWork(_valid(policy, faults), _valid(grid, faults), document)
        case JobKind.PAYOUT_SWEEP:
            gains = payout_service_pb2.SubmitPayoutSweepRequest(
                policy=_read(request, policy_pb2.Policy()),
                gains=options["gains"],
                if_method_known=options["if_method_known"],
            )
            policy, swept, document, faults = payout_sweep_from_proto(gains)
            return PayoutSweepWork(_valid(policy, faults), _valid(swept, faults), document)
        case JobKind.RISK_ANALYSIS:
            risk, document, faults = risk_request_from_proto(_read(request, risk_service_pb2.RiskRequest()))
            return RiskAnalysisWork(_valid(risk, faults), document)
        case JobKind.UTILITY_REPORT:
            return UtilityReportWork(*utility_request_from_proto(_read(request, utility_service_pb2.UtilityRequest())))
        case JobKind.CLASSIFICATION:
            classification = _read(request, classification_service_pb2.ClassificationRequest())
            asked, document, faults = classification_request_from_proto(classification)
            return ClassificationWork(_valid(asked, faults), document, stored_policy)


def _read(request: Request, message: Asked) -> Asked:
    return json_format.Parse(request.policy, message)


def _valid(converted: Converted | None, faults: list[Fault]) -> Converted:
    if converted is None or faults:
        raise InvalidError.about("REQUEST_INVALID", "what the job was asked for is not valid any more", faults)
    return converted
