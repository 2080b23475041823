"""Risk analyses: requests from messages, and results as messages."""

from collections.abc import Iterator
from decimal import Decimal

from google.protobuf import json_format

from tableveil.convert.arrow_pieces import arrow_pieces
from tableveil.convert.collect import Faults
from tableveil.convert.copied import copied, result_to_proto
from tableveil.convert.names import Read, Submission, canonical_json, result_number, table_from_proto
from tableveil.convert.policy_from_proto import stored_policy
from tableveil.convert.population import population_from_proto
from tableveil.errors import Fault
from tableveil.lookups import RiskAnalyses
from tableveil.pipelines.reached import AGAINST_SOURCE
from tableveil.pipelines.risk_analysis import risk_analysis_work
from tableveil.policy import DEFAULT_RISK_THRESHOLDS
from tableveil.requests.risk_analysis import RiskRequest, check_risk_request
from tableveil.state.jobs import JobKind
from tableveil.state.risk_analyses import RiskAnalysis
from tableveil.state.seen import Audience
from tableveil.v1 import risk_service_pb2


def risk_request_from_proto(message: risk_service_pb2.RiskRequest) -> tuple[RiskRequest | None, str, list[Fault]]:
    """The request, None if there are faults; its document; and all faults."""
    faults = Faults()
    population = population_from_proto(message.population, faults) if message.HasField("population") else None
    release = None
    if message.WhichOneof("subject") == "release":
        release = faults.release(message.release, "release")
        if release is None:
            # The request does name a subject, which cannot be read.
            faults.guess("table")
    request = RiskRequest(
        table=table_from_proto(message.table) if message.HasField("table") else None,
        release=release,
        quasi_identifiers=tuple(message.quasi_identifiers),
        population=population,
        thresholds=_thresholds(message, faults),
        weight_column=message.weight_column,
        largest_subset=message.largest_subset or None,
        records=message.records,
        compare=tuple(tuple(compared.columns) for compared in message.compare),
        source_query=message.source_query,
        person_column=message.person_column,
        sensitive=tuple(message.sensitive),
    )
    faults.judged(check_risk_request(request))
    read_faults = faults.all()
    return (None if read_faults else request), canonical_json(message), read_faults


def _thresholds(message: risk_service_pb2.RiskRequest, faults: Faults) -> tuple[Decimal, ...]:
    if not message.thresholds:
        return DEFAULT_RISK_THRESHOLDS
    return tuple(
        faults.required_decimal(text, f"thresholds[{i}]", Decimal(0)) for i, text in enumerate(message.thresholds)
    )


def risk_analysis_to_proto(analysis: RiskAnalysis) -> risk_service_pb2.RiskAnalysis:
    """The message for a risk analysis; reviewers are told no source query, and no distance from the source's values."""
    message = result_to_proto(
        JobKind.RISK_ANALYSIS,
        analysis,
        risk_service_pb2.RiskAnalysis,
        attribute_risks=[copied(subset, risk_service_pb2.AttributeRisk) for subset in analysis.subsets],
        proposals=[copied(subset, risk_service_pb2.ProposedQuasiIdentifiers) for subset in analysis.proposals],
        request=json_format.Parse(analysis.request, risk_service_pb2.RiskRequest()),
    )
    if analysis.audience is not Audience.OWNER:
        message.request.ClearField("source_query")
        # Distances from the source's distribution tell of it.
        told = [one for one in message.measures if not one.measure.endswith(AGAINST_SOURCE)]
        del message.measures[:]
        message.measures.extend(told)
    return message


def _read(request: risk_service_pb2.SubmitRiskAnalysisRequest) -> Read:
    risk, document, faults = risk_request_from_proto(request.risk)
    return Read(risk_analysis_work(risk, document, stored_policy) if risk else None, faults)


def _record_risks(
    analyses: RiskAnalyses, request: risk_service_pb2.ReadRecordRisksRequest
) -> Iterator[risk_service_pb2.ReadRecordRisksResponse]:
    """Rows as gRPC's flow control lets them go; a client that is gone ends the generator."""
    with analyses.read_records(result_number(JobKind.RISK_ANALYSIS, request.name)) as reader:
        for piece in arrow_pieces(reader):
            yield risk_service_pb2.ReadRecordRisksResponse(arrow_ipc=piece)


SUBMISSION = Submission(
    request=risk_service_pb2.SubmitRiskAnalysisRequest,
    document="risk",
    read=_read,
    code="RISK_INVALID",
    refusal="the risks cannot be analyzed as asked",
    to_proto=risk_analysis_to_proto,
    streams={"ReadRecordRisks": _record_risks},
)
