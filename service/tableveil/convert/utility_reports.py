"""Utility reports: requests from messages, and results as messages."""

from __future__ import annotations

from google.protobuf import json_format

from tableveil.convert.canonical import canonical_json
from tableveil.convert.names import job_name, release_name, release_number, result_name
from tableveil.convert.times import duration, timestamp
from tableveil.state.kinds import JobKind
from tableveil.state.utility_reports import Stored
from tableveil.usefulness import Association, ColumnUtility, Spread
from tableveil.v1 import utility_service_pb2


def utility_request_from_proto(message: utility_service_pb2.UtilityRequest) -> tuple[int, str]:
    """The release in the request, and its document.

    Raises:
        InvalidError: it does not name a release.
    """
    return release_number(message.release, "utility.release"), canonical_json(message)


def utility_report_to_proto(stored: Stored) -> utility_service_pb2.UtilityReport:
    """The message for a utility report."""
    return utility_service_pb2.UtilityReport(
        name=result_name(JobKind.UTILITY_REPORT, stored.number),
        job=job_name(stored.job),
        create_time=timestamp(stored.created_at),
        release=release_name(stored.release),
        columns=map(_column, stored.report.columns),
        associations=map(_association, stored.report.associations),
        notes=stored.report.notes,
        request=json_format.Parse(stored.request, utility_service_pb2.UtilityRequest()),
        duration=duration(stored.seconds),
    )


def _column(column: ColumnUtility) -> utility_service_pb2.ColumnUtility:
    return utility_service_pb2.ColumnUtility(
        column=column.column,
        type=column.type,
        role=column.role,
        treatment=column.treatment,
        loss=column.loss,
        squared_error=column.squared_error,
        before=_spread(column.before),
        after=_spread(column.after),
    )


def _spread(spread: Spread) -> utility_service_pb2.Spread:
    return utility_service_pb2.Spread(
        records=spread.records,
        missing=spread.missing,
        distinct=spread.distinct,
        mean=spread.mean,
        variance=spread.variance,
        quantiles=spread.quantiles,
        bins=[utility_service_pb2.Bin(label=bin_.label, records=bin_.records) for bin_ in spread.bins],
    )


def _association(association: Association) -> utility_service_pb2.Association:
    return utility_service_pb2.Association(
        first=association.first,
        second=association.second,
        measure=association.measure,
        before=association.before,
        after=association.after,
    )
