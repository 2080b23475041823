"""Tables and loads: requests from protos, and results to them."""

import json
from collections.abc import Sequence

from google.protobuf.json_format import MessageToDict

from tableveil.convert.copied import copied, duration, timestamp
from tableveil.convert.enums import EnumMap
from tableveil.convert.names import load_name, release_name, table_from_proto, table_to_proto
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.loading import CsvEncoding, CsvFormat, FileFormat, ParquetFormat, RejectedLine
from tableveil.lookups.tables import ListedTable
from tableveil.policy import TableReference
from tableveil.runtime.answered import LONGEST
from tableveil.runtime.loads import Loaded, LoadRequest
from tableveil.runtime.removals import Erasure
from tableveil.source.description import ColumnDescription, TableDescription
from tableveil.state.loads import Load, LoadMode
from tableveil.state.releases import Release
from tableveil.v1 import table_service_pb2 as v1

MOST_VALUES = 1000

LOAD_MODES = EnumMap(v1.LoadMode, LoadMode)
CSV_ENCODINGS = EnumMap(v1.CsvEncoding, CsvEncoding)


def load_request_from_proto(message: v1.LoadStart) -> LoadRequest:
    """The request of a load.

    Raises:
        InvalidError: an enum's number is unknown, or a file has no format.
    """
    faults = []
    mode = LOAD_MODES.from_proto(message.mode)
    if message.mode and mode is None:
        faults.append(Fault("mode", f"the unknown number {message.mode}", f"one of {LOAD_MODES.names}"))
    if message.columns_changed and mode is not LoadMode.REPLACE:
        faults.append(Fault("columns_changed", f"true with {(mode or LoadMode.CREATE).value}", "REPLACE beside it"))
    path, file_format = message.client_source, None
    if len(path) > LONGEST or not path.isprintable():
        faults.append(Fault("client_source", shortened(path), f"at most {LONGEST:,} printable characters"))
    if message.HasField("file"):
        path, file_format = message.file.path, _format_from_proto(message.file, faults)
    if faults:
        raise InvalidError.about("LOAD_INVALID", "the load is invalid", faults)
    named = v1.LoadStart(
        file=message.file,
        client_file=message.client_file,
        client_source=message.client_source,
        columns_changed=message.columns_changed,
    )
    origin = MessageToDict(named)
    return LoadRequest(
        table_from_proto(message.table),
        mode or LoadMode.CREATE,
        message.request_id,
        path,
        file_format,
        json.dumps(origin, sort_keys=True),
        message.content_digest,
        message.columns_changed,
    )


def _format_from_proto(message: v1.ServerFile, faults: list[Fault]) -> FileFormat | None:
    match message.WhichOneof("format"):
        case "parquet":
            return ParquetFormat()
        case "csv":
            return csv_format_from_proto(message.csv, faults)
    faults.append(Fault("file.format", "nothing", "csv or parquet"))
    return None


def csv_format_from_proto(message: v1.CsvFormat, faults: list[Fault]) -> CsvFormat:
    """The format of a CSV file; adds a fault if the number of its encoding is unknown."""
    encoding = CSV_ENCODINGS.from_proto(message.encoding)
    if message.encoding and encoding is None:
        actual = f"the unknown number {message.encoding}"
        faults.append(Fault("file.csv.encoding", actual, f"one of {CSV_ENCODINGS.names}"))
    return CsvFormat(
        # A shell, or a browser, passes a backslash and a t.
        delimiter="\t" if message.delimiter == "\\t" else message.delimiter,
        quote=message.quote,
        header=not message.no_header,
        null_texts=tuple(dict.fromkeys([message.null_text, *message.null_texts])),
        quoted_nulls=message.quoted_nulls,
        encoding=message.encoding_name or (encoding or CsvEncoding.UTF_8).value,
        max_rejected=message.max_rejected,
        types=dict(message.types),
        all_text=message.all_text,
        decimal_comma=message.decimal_comma,
        date_format=message.date_format,
        timestamp_format=message.timestamp_format,
        century_pivots=dict(message.century_pivots),
        renames=dict(message.renames),
        drop_unnamed=message.drop_unnamed,
        skip_lines=message.skip_lines,
        header_lines=message.header_lines or 1,
        whole_last_line=message.whole_last_line,
        trimmed=tuple(message.trimmed),
        thousands=dict(message.thousands),
    )


def csv_format_to_proto(how: CsvFormat) -> v1.CsvFormat:
    """The message of a format."""
    return copied(
        how,
        v1.CsvFormat,
        no_header=not how.header,
        null_text=how.null_texts[0],
        null_texts=how.null_texts[1:],
        encoding=v1.CSV_ENCODING_UNSPECIFIED,
        encoding_name=how.encoding,
    )


def most_values(requested: int) -> int:
    """The requested number of values of each column; `InvalidError` if it is too large or negative."""
    if not 0 <= requested <= MOST_VALUES:
        raise InvalidError.of("VALUES_INVALID", "values", str(requested), f"0 to {MOST_VALUES}")
    return requested


def rejected_line_from_proto(message: v1.RejectedLine) -> RejectedLine:
    """A line that a client left out."""
    return RejectedLine(message.line, message.column, message.reason, message.file)


def rejected_line_to_proto(line: RejectedLine) -> v1.RejectedLine:
    """The message of a line that was left out."""
    return v1.RejectedLine(line=line.line, column=line.column, reason=line.reason, file=line.file)


def loaded_to_proto(loaded: Loaded) -> v1.LoadTableResponse:
    """The message for a finished load."""
    rejected = map(rejected_line_to_proto, loaded.rejected)
    return copied(loaded, v1.LoadTableResponse, load=load_to_proto(loaded.load), rejected_lines=rejected)


def load_to_proto(load: Load) -> v1.Load:
    """The message of a load."""
    return copied(
        load,
        v1.Load,
        name=load_name(load.number),
        table=table_to_proto(TableReference("", load.schema, load.table)),
        mode=LOAD_MODES.to_proto(load.mode),
        create_time=timestamp(load.created_at),
        columns=[v1.ColumnInfo(name=name, type=type_) for name, type_ in load.columns],
        duration=duration(load.seconds),
    )


def erasure_to_proto(erasure: Erasure) -> v1.ErasePersonsResponse:
    """The message for an erasure."""

    def named(releases: Sequence[Release]) -> list[v1.HoldingRelease]:
        return [v1.HoldingRelease(name=release_name(one.number), current=one.current) for one in releases]

    return v1.ErasePersonsResponse(
        person_column=erasure.person_column,
        removed_rows=erasure.removal.rows,
        absent_persons=erasure.absent,
        releases=named(erasure.holding),
        untold_releases=named(erasure.untold),
        hidden_releases=erasure.hidden,
        deleted_worksheets=erasure.worksheets,
        places=erasure.places,
    )


def listed_table_to_proto(table: ListedTable) -> v1.TableInfo:
    """The message of a table or view."""
    return v1.TableInfo(
        table=table_to_proto(TableReference("", table.schema, table.name)),
        is_view=table.is_view,
        estimated_rows=table.rows,
        columns=[v1.ColumnInfo(name=name, type=type_) for name, type_ in table.columns],
    )


def description_to_proto(description: TableDescription) -> v1.TableDescription:
    """The message for a table's description."""
    return v1.TableDescription(
        table=table_to_proto(description.reference),
        rows=description.rows,
        columns=map(_column_to_proto, description.columns),
    )


def _column_to_proto(column: ColumnDescription) -> v1.ColumnDescription:
    values = [v1.ValueCount(value=value, rows=rows) for value, rows in column.values]
    releasable, distinct = column.kind is not None, column.distinct
    return copied(column, v1.ColumnDescription, releasable=releasable, distinct_values=distinct, values=values)
