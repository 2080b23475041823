"""Risk analyses: requests from messages, and results as messages."""

from __future__ import annotations

from decimal import Decimal

from google.protobuf import json_format

from tableveil.convert.canonical import canonical_json
from tableveil.convert.collect import Faults
from tableveil.convert.names import job_name, release_number, result_name
from tableveil.convert.population import population_from_proto
from tableveil.convert.tables import table_from_proto, table_to_proto
from tableveil.convert.times import duration, timestamp
from tableveil.errors import Fault, InvalidError
from tableveil.policy import DEFAULT_RISK_THRESHOLDS
from tableveil.requests.risk_analysis import RiskRequest, check_risk_request
from tableveil.state.kinds import JobKind
from tableveil.state.risk_analyses import ComparedRisk, Measure, RiskAnalysis, SubsetRisk
from tableveil.v1 import risk_service_pb2


def risk_request_from_proto(message: risk_service_pb2.RiskRequest) -> tuple[RiskRequest | None, str, list[Fault]]:
    """The request, None if there are faults; its document; and all faults."""
    faults = Faults()
    population = population_from_proto(message.population, faults) if message.HasField("population") else None
    release = None
    if message.WhichOneof("subject") == "release":
        release = _release(message.release, faults)
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
    )
    faults.judged(check_risk_request(request))
    found = faults.all()
    return (None if found else request), canonical_json(message), found


def _release(name: str, faults: Faults) -> int | None:
    try:
        return release_number(name, "release")
    except InvalidError as error:
        for fault in error.faults:
            faults.add(fault.field, fault.found, fault.expected, fault.hint)
        # The request does name a subject, which cannot be read.
        faults.guess("table")
    return None


def _thresholds(message: risk_service_pb2.RiskRequest, faults: Faults) -> tuple[Decimal, ...]:
    if not message.thresholds:
        return DEFAULT_RISK_THRESHOLDS
    return tuple(
        faults.required_decimal(text, f"thresholds[{i}]", Decimal(0)) for i, text in enumerate(message.thresholds)
    )


def risk_analysis_to_proto(analysis: RiskAnalysis) -> risk_service_pb2.RiskAnalysis:
    """The message for a risk analysis."""
    return risk_service_pb2.RiskAnalysis(
        name=result_name(JobKind.RISK_ANALYSIS, analysis.number),
        job=job_name(analysis.job),
        create_time=timestamp(analysis.created_at),
        source=table_to_proto(analysis.source),
        source_fingerprint=analysis.source_fingerprint,
        quasi_identifiers=analysis.quasi_identifiers,
        records=analysis.records,
        classes=analysis.classes,
        population_size=analysis.population_size,
        measures=map(_measure, analysis.measures),
        attribute_risks=map(_attribute_risk, analysis.subsets),
        largest_subset=analysis.largest_subset,
        proposals=map(_proposal, analysis.proposals),
        has_record_risks=analysis.has_record_risks,
        warnings=analysis.warnings,
        request=json_format.Parse(analysis.request, risk_service_pb2.RiskRequest()),
        duration=duration(analysis.seconds),
        compared=map(_compared, analysis.compared),
    )


def _measure(measure: Measure) -> risk_service_pb2.RiskMeasure:
    return risk_service_pb2.RiskMeasure(
        model=measure.model, measure=measure.measure, threshold=measure.threshold or "", value=measure.value
    )


def _compared(compared: ComparedRisk) -> risk_service_pb2.ComparedRisk:
    return risk_service_pb2.ComparedRisk(
        columns=compared.columns, classes=compared.classes, measures=map(_measure, compared.measures)
    )


def _attribute_risk(subset: SubsetRisk) -> risk_service_pb2.AttributeRisk:
    return risk_service_pb2.AttributeRisk(
        columns=subset.columns,
        distinction=subset.distinction,
        separation=subset.separation,
        unique_records=subset.unique_records,
        minimal_unique_records=subset.minimal_unique_records,
    )


def _proposal(subset: SubsetRisk) -> risk_service_pb2.ProposedQuasiIdentifiers:
    return risk_service_pb2.ProposedQuasiIdentifiers(
        columns=subset.columns, distinction=subset.distinction, separation=subset.separation
    )
