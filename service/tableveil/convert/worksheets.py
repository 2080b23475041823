"""Worksheets: their contents as one document, and back."""

from google.protobuf import json_format
from google.protobuf.field_mask_pb2 import FieldMask

from tableveil.convert.copied import timestamp
from tableveil.convert.names import canonical_json, job_number, result_number, table_to_proto, worksheet_name
from tableveil.errors import InvalidError, shortened
from tableveil.policy import TableReference
from tableveil.state.jobs import JobKind
from tableveil.state.worksheets import Worksheet
from tableveil.v1 import worksheet_service_pb2 as v1

_CHANGEABLE = ("request", "proposal", "job", "policy")


def contents_of(message: v1.Worksheet, table: TableReference) -> str:
    """The document of what a message decides about a table: the sources of both its parts are that table, or queries.

    The people of related tables are in that table.

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
        if decided.policy.source_query or decided.policy.HasField("tables"):
            decided.policy.ClearField("source")
            if decided.policy.HasField("tables"):
                people = decided.policy.tables.people
                people.schema, people.table = table.schema, table.table
        else:
            decided.policy.source.CopyFrom(table_to_proto(table))
    return canonical_json(decided)


def masked(kept: Worksheet, wanted: v1.Worksheet, mask: FieldMask) -> v1.Worksheet:
    """The decisions of a worksheet once the fields of a mask are those that are wanted; all of them without a mask.

    Raises:
        InvalidError: a path is no field that can be changed.
    """
    if not mask.paths or list(mask.paths) == ["*"]:
        return wanted
    for i, path in enumerate(mask.paths):
        known = FieldMask(paths=[path]).IsValidForDescriptor(v1.Worksheet.DESCRIPTOR)
        if not known or path.partition(".")[0] not in _CHANGEABLE:
            actual, expected = shortened(path), f"a field of the worksheet in {', '.join(_CHANGEABLE)}"
            raise InvalidError.of("WORKSHEET_INVALID", f"update_mask.paths[{i}]", actual, expected)
    changed = worksheet_to_proto(kept)
    mask.MergeMessage(wanted, changed, replace_message_field=True, replace_repeated_field=True)
    return changed


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
