"""Utility reports: requests from messages, and results as messages."""

from google.protobuf import json_format

from tableveil.convert.copied import copied, result_to_proto
from tableveil.convert.names import Read, Submission, canonical_json, release_name, release_number
from tableveil.convert.policy_from_proto import stored_policy
from tableveil.pipelines.utility_report import utility_report_work
from tableveil.policy.aggregation import without_codings
from tableveil.state.jobs import JobKind
from tableveil.state.seen import Audience
from tableveil.state.utility_reports import StoredUtility
from tableveil.v1 import utility_service_pb2


def utility_request_from_proto(message: utility_service_pb2.UtilityRequest) -> tuple[int, str]:
    """The release in the request, and its document.

    Raises:
        InvalidError: it does not name a release.
    """
    return release_number(message.release, "utility.release"), canonical_json(message)


def utility_report_to_proto(stored: StoredUtility) -> utility_service_pb2.UtilityReport:
    """The message for a utility report; reviewers are not told how the source spreads over its values."""
    message = result_to_proto(
        JobKind.UTILITY_REPORT,
        stored,
        utility_service_pb2.UtilityReport,
        release=release_name(stored.release),
        columns=[copied(column, utility_service_pb2.ColumnUtility) for column in stored.report.columns],
        associations=[
            copied(association, utility_service_pb2.Association) for association in stored.report.associations
        ],
        rates=[copied(rate, utility_service_pb2.MovedRate) for rate in stored.report.rates],
        notes=stored.report.notes,
        request=json_format.Parse(stored.request, utility_service_pb2.UtilityRequest()),
    )
    if stored.audience is not Audience.OWNER:
        message.ClearField("rates")
        for column in message.columns:
            column.treatment = without_codings(column.treatment)
            # Beside those of the release, sums and counts tell the values of suppressed people.
            before = utility_service_pb2.Spread(records=column.before.records, distinct=column.before.distinct)
            column.before.CopyFrom(before)
        message.notes.append("How the source spreads over its values is told to its stewards alone.")
    return message


def _read(request: utility_service_pb2.SubmitUtilityReportRequest) -> Read:
    return Read(utility_report_work(*utility_request_from_proto(request.utility), stored_policy), [])


SUBMISSION = Submission(
    request=utility_service_pb2.SubmitUtilityReportRequest,
    document="utility",
    read=_read,
    code="UTILITY_INVALID",
    refusal="the release cannot be compared as asked",
    to_proto=utility_report_to_proto,
)
