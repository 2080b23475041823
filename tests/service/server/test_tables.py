"""Tables and loads over a real channel: what reaches them, and what comes back."""

import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from unittest.mock import Mock

import grpc
import pyarrow as pa
import pytest

from tableveil.control import Control
from tableveil.errors import ConflictError
from tableveil.loading import CsvEncoding, CsvFormat, ParquetFormat, RejectedLine
from tableveil.lookups.tables import ListedTable
from tableveil.policy import TableReference
from tableveil.runtime.loads import Loaded, LoadRequest, Stream
from tableveil.source.description import TableDescription
from tableveil.state.loads import Load, LoadMode
from tableveil.v1 import policy_pb2, table_service_pb2_grpc
from tableveil.v1 import table_service_pb2 as v1
from tests.service.server.test_frontiers import failure_of

PEOPLE = policy_pb2.TableReference(schema="main", table="people")
ROWS = pa.table({"a": [1, 2, 3]})


def done(number: int = 7, table: str = "people") -> Load:
    columns = (("a", "BIGINT"),)
    return Load(number, "etl", "0", "main", table, LoadMode.APPEND, "", datetime(2024, 1, 1), 3, 1, columns, 0.5)


def messages(rows: pa.Table = ROWS, end: v1.LoadEnd | None = None) -> Iterator[v1.LoadTableRequest]:
    """A load in pieces of a few bytes."""
    yield v1.LoadTableRequest(start=v1.LoadStart(table=PEOPLE, mode=v1.LOAD_MODE_APPEND, request_id="etl"))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    content = sink.getvalue().to_pybytes()
    for start in range(0, len(content), 40):
        yield v1.LoadTableRequest(arrow_ipc=content[start : start + 40])
    yield v1.LoadTableRequest(end=end or v1.LoadEnd(row_count=rows.num_rows))


@pytest.fixture
def stub(channel: grpc.Channel) -> table_service_pb2_grpc.TableServiceStub:
    return table_service_pb2_grpc.TableServiceStub(channel)


def test_rows_come_in_pieces(stub: table_service_pb2_grpc.TableServiceStub, loads: Mock) -> None:
    def load(request: LoadRequest, stream: Callable[[], Stream], control: Control) -> Loaded:
        assert (request.target, request.mode) == (TableReference("", "main", "people"), LoadMode.APPEND)
        assert (request.request_id, request.file_format) == ("etl", None)
        rows = stream()
        assert rows.reader.read_all().equals(ROWS)
        announced, rejected = rows.end()
        assert announced == 3
        return Loaded(done(), rejected)

    loads.load.side_effect = load
    end = v1.LoadEnd(row_count=3, rejected_lines=[v1.RejectedLine(line=4, column="a", reason="no BIGINT")])
    found = stub.LoadTable(messages(end=end))
    assert (found.load.name, found.load.rows, found.repeated) == ("loads/7", 3, False)
    assert found.load.mode == v1.LOAD_MODE_APPEND
    assert list(found.load.columns) == [v1.ColumnInfo(name="a", type="BIGINT")]
    assert list(found.rejected_lines) == list(end.rejected_lines)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (v1.ServerFile(path="a.parquet", parquet=v1.ParquetFormat()), ParquetFormat()),
        (
            v1.ServerFile(
                path="a.csv",
                csv=v1.CsvFormat(delimiter=";", no_header=True, encoding=v1.CSV_ENCODING_LATIN_1, types={"a": "DATE"}),
            ),
            CsvFormat(delimiter=";", header=False, encoding=CsvEncoding.LATIN_1, types={"a": "DATE"}),
        ),
        (v1.ServerFile(path="a.tsv", csv=v1.CsvFormat(delimiter="\\t")), CsvFormat(delimiter="\t")),
    ],
)
def test_a_file_of_the_server(
    stub: table_service_pb2_grpc.TableServiceStub, loads: Mock, file: v1.ServerFile, expected: object
) -> None:
    loads.load.return_value = Loaded(done(), (RejectedLine(2, "", "short"),), repeated=True)
    start = v1.LoadStart(table=PEOPLE, file=file)
    found = stub.LoadTable(iter([v1.LoadTableRequest(start=start)]))
    assert (found.repeated, found.rejected_lines[0].reason) == (True, "short")
    request = loads.load.call_args.args[0]
    assert (request.path, request.file_format, request.mode) == (file.path, expected, LoadMode.CREATE)


def test_what_a_request_id_names_includes_the_file(stub: table_service_pb2_grpc.TableServiceStub, loads: Mock) -> None:
    loads.load.return_value = Loaded(done())
    files = [
        v1.ServerFile(path="a.csv", csv=v1.CsvFormat()),
        v1.ServerFile(path="b.csv", csv=v1.CsvFormat()),
        v1.ServerFile(path="a.csv", csv=v1.CsvFormat(delimiter=";")),
        v1.ServerFile(path="a.csv", parquet=v1.ParquetFormat()),
    ]
    starts = [*(v1.LoadStart(table=PEOPLE, file=file) for file in files), v1.LoadStart(table=PEOPLE)]
    starts += [v1.LoadStart(table=PEOPLE, client_file=file) for file in files]
    for start in [*starts, *starts]:
        stub.LoadTable(iter([v1.LoadTableRequest(start=start)]))
    origins = [call.args[0].origin for call in loads.load.call_args_list]
    assert len(set(origins)) == len(starts)
    assert origins[: len(starts)] == origins[len(starts) :]


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [v1.LoadTableRequest(arrow_ipc=b"x")],
        [v1.LoadTableRequest(start=v1.LoadStart(table=PEOPLE, mode=99))],  # type: ignore[arg-type]  # no such number
        [v1.LoadTableRequest(start=v1.LoadStart(table=PEOPLE, file=v1.ServerFile(path="a")))],
    ],
)
def test_broken_starts(
    stub: table_service_pb2_grpc.TableServiceStub, loads: Mock, sent: list[v1.LoadTableRequest]
) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.LoadTable(iter(sent))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert failure_of(raised.value).code == "LOAD_INVALID"
    loads.load.assert_not_called()


@pytest.mark.parametrize("persons", [[], ["7"] * 1_000_001])
def test_too_few_or_many_persons(
    stub: table_service_pb2_grpc.TableServiceStub, removals: Mock, persons: list[str]
) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.ErasePersons(v1.ErasePersonsRequest(table=PEOPLE, persons=persons))
    assert failure_of(raised.value).code == "PERSONS_INVALID"
    removals.erase.assert_not_called()


def test_a_load_that_is_refused(stub: table_service_pb2_grpc.TableServiceStub, loads: Mock) -> None:
    loads.load.side_effect = ConflictError.of("TABLE_IN_USE", "table.table", "'people'", "another")
    with pytest.raises(grpc.RpcError) as raised:
        stub.LoadTable(messages())
    assert raised.value.code() is grpc.StatusCode.ABORTED
    assert failure_of(raised.value).code == "TABLE_IN_USE"


def test_a_client_that_vanishes_ends_the_load(stub: table_service_pb2_grpc.TableServiceStub, loads: Mock) -> None:
    begun, ended = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def load(request: LoadRequest, stream: Callable[[], Stream], control: Control) -> Loaded:
        rows = stream()
        begun.set()
        try:
            rows.reader.read_all()
            rows.end()
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            ended.set()
        return Loaded(done())

    def some() -> Iterator[v1.LoadTableRequest]:
        sent = list(messages())
        yield from sent[:-3]
        ended.wait(10)

    loads.load.side_effect = load
    call = stub.LoadTable.future(some())
    assert begun.wait(10)
    call.cancel()
    assert ended.wait(10)
    assert failures


def test_pages(stub: table_service_pb2_grpc.TableServiceStub, tables: Mock, loads: Mock) -> None:
    tables.page.return_value = [ListedTable("main", name, False, 2, (("c", "DATE"),)) for name in ("a", "b")]
    first = stub.ListTables(v1.ListTablesRequest(page_size=1))
    assert [(info.table.table, info.estimated_rows, info.columns[0].type) for info in first.tables] == [
        ("a", 2, "DATE")
    ]
    stub.ListTables(v1.ListTablesRequest(page_size=1, page_token=first.next_page_token))
    assert tables.page.call_args.args == (("main", "a"), 2)
    loads.page.return_value = [done(7), done(6)]
    newest = stub.ListLoads(v1.ListLoadsRequest(page_size=1))
    assert [load.name for load in newest.loads] == ["loads/7"]
    loads.get.return_value = done(7)
    assert stub.GetLoad(v1.GetLoadRequest(name="loads/7")).name == "loads/7"
    assert loads.get.call_args.args == (7,)
    stub.ListLoads(v1.ListLoadsRequest(page_size=1, page_token=newest.next_page_token))
    assert loads.page.call_args.args == (7, 2)


def test_a_description_shows_as_many_values_as_asked(
    stub: table_service_pb2_grpc.TableServiceStub, tables: Mock
) -> None:
    tables.describe.return_value = TableDescription(TableReference("", "main", "people"), 3, ())
    found = stub.DescribeTable(v1.DescribeTableRequest(table=PEOPLE))
    assert (found.table, found.rows) == (PEOPLE, 3)
    assert tables.describe.call_args.args[:2] == (TableReference("", "main", "people"), 0)
    with pytest.raises(grpc.RpcError) as raised:
        stub.DescribeTable(v1.DescribeTableRequest(table=PEOPLE, values=-1))
    assert failure_of(raised.value).code == "VALUES_INVALID"
