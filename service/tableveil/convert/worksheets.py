"""Worksheets: their contents as one document, and back."""

from __future__ import annotations

from google.protobuf import json_format

from tableveil.convert.canonical import canonical_json
from tableveil.convert.names import job_number, result_number, worksheet_name
from tableveil.convert.tables import table_to_proto
from tableveil.convert.times import timestamp
from tableveil.policy import TableReference
from tableveil.state.kinds import JobKind
from tableveil.state.worksheets import Worksheet
from tableveil.v1 import worksheet_service_pb2 as v1


def contents_of(message: v1.Worksheet, table: TableReference) -> str:
    """The document of what a message decides about a table: the sources of both its parts are that table, or queries.

    Raises:
        InvalidError: the name of its proposal, or of its job, is none.
    """
    if message.proposal:
        result_number(JobKind.PROPOSAL, message.proposal, "worksheet.proposal")
    if message.job:
        job_number(message.job, "worksheet.job")
    decided = v1.Worksheet(proposal=message.proposal, job=message.job)
    if message.HasField("request"):
        decided.request.CopyFrom(message.request)
        if not decided.request.source_query:
            decided.request.table.CopyFrom(table_to_proto(table))
    if message.HasField("policy"):
        decided.policy.CopyFrom(message.policy)
        if not decided.policy.source_query:
            decided.policy.source.CopyFrom(table_to_proto(table))
    return canonical_json(decided)


def worksheet_to_proto(kept: Worksheet) -> v1.Worksheet:
    """The message for a worksheet."""
    message = v1.Worksheet(
        name=worksheet_name(kept.number),
        etag=str(kept.revision),
        create_time=timestamp(kept.created_at),
        update_time=timestamp(kept.updated_at),
        updated_by=kept.updated_by,
        table=table_to_proto(TableReference("", kept.schema, kept.table)),
    )
    message.MergeFrom(json_format.Parse(kept.contents, v1.Worksheet()))
    return message


def listed_worksheet_to_proto(kept: Worksheet) -> v1.Worksheet:
    """The message for a worksheet in a list: without its policy."""
    message = worksheet_to_proto(kept)
    message.ClearField("policy")
    return message
