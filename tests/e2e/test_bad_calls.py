"""Calls that no client of ours makes: each is refused by its faulty field, and no value of a table is revealed."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import duckdb
import grpc
import pyarrow as pa
import pytest
from grpc_status import rpc_status

from tableveil.client.failures import failure_in
from tableveil.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    draft_service_pb2,
    draft_service_pb2_grpc,
    hierarchy_service_pb2,
    hierarchy_service_pb2_grpc,
    job_service_pb2,
    job_service_pb2_grpc,
    policy_pb2,
    release_service_pb2,
    release_service_pb2_grpc,
    risk_service_pb2,
    risk_service_pb2_grpc,
    table_service_pb2,
    table_service_pb2_grpc,
)
from tests import authenticated
from tests.e2e.process import Serve, ServerProcess

Call = Callable[[grpc.Channel], Any]

SECRET = "Mycroft"
FILE_SECRET = "Sherlock"

PEOPLE = policy_pb2.TableReference(table="people")
AGES = policy_pb2.Hierarchy(safe_harbor_age=policy_pb2.SafeHarborAge())


@pytest.fixture(scope="module")
def server(serve_all_along: Serve, tmp_path_factory: pytest.TempPathFactory) -> ServerProcess:
    place = tmp_path_factory.mktemp("bad_calls")
    files, outside = place / "files", place / "outside.csv"
    files.mkdir()
    outside.write_text(f"a\n{FILE_SECRET}\n")
    (files / "link.csv").symlink_to(outside)
    (files / "circle.csv").symlink_to("circle.csv")
    (files / "there.csv").write_text(f"a\n{FILE_SECRET}\n")
    with duckdb.connect(place / "x.duckdb") as connection:
        connection.execute(f"CREATE TABLE people (id INTEGER, name ENUM ('{SECRET}', 'it''s {SECRET}'), age INTEGER)")
        connection.execute(f"INSERT INTO people VALUES (1, '{SECRET}', 40)")
        connection.execute("CREATE TABLE others AS FROM people")
    return serve_all_along(place / "x.duckdb", "--load-directory", str(files), "--backup-directory", str(files))


@pytest.fixture(scope="module")
def channel(server: ServerProcess) -> Iterator[grpc.Channel]:
    with authenticated.channel(server.address) as channel:
        yield channel


def describe(table: str = "people", schema: str = "", values: int = 0) -> Call:
    request = table_service_pb2.DescribeTableRequest(
        table=policy_pb2.TableReference(table=table, schema=schema), values=values
    )
    return lambda channel: table_service_pb2_grpc.TableServiceStub(channel).DescribeTable(request)


def draft(table: str) -> Call:
    request = draft_service_pb2.DraftPolicyRequest(table=policy_pb2.TableReference(table=table))
    return lambda channel: draft_service_pb2_grpc.DraftServiceStub(channel).DraftPolicy(request)


def back_up(name: str) -> Call:
    request = admin_service_pb2.BackupDatabaseRequest(name=name)
    return lambda channel: admin_service_pb2_grpc.AdminServiceStub(channel).BackupDatabase(request)


def load(*parts: table_service_pb2.LoadTableRequest, table: str = "new", **start: Any) -> Call:
    start_ = table_service_pb2.LoadStart(table=policy_pb2.TableReference(table=table), **start)
    messages = [table_service_pb2.LoadTableRequest(start=start_), *parts]
    return lambda channel: table_service_pb2_grpc.TableServiceStub(channel).LoadTable(iter(messages))


def load_file(path: str, **csv: Any) -> Call:
    return load(file=table_service_pb2.ServerFile(path=path, csv=table_service_pb2.CsvFormat(**csv)))


def load_rows(rows: pa.Table, **start: Any) -> Call:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    part = table_service_pb2.LoadTableRequest(arrow_ipc=sink.getvalue().to_pybytes())
    end = table_service_pb2.LoadTableRequest(end=table_service_pb2.LoadEnd(row_count=rows.num_rows))
    return load(part, end, **start)


def preview(**fields: Any) -> Call:
    request = hierarchy_service_pb2.PreviewHierarchyRequest(**fields)
    return lambda channel: hierarchy_service_pb2_grpc.HierarchyServiceStub(channel).PreviewHierarchy(iter([request]))


def compare(examples: int) -> Call:
    request = hierarchy_service_pb2.CompareHierarchiesRequest(examples=examples)
    return lambda channel: hierarchy_service_pb2_grpc.HierarchyServiceStub(channel).CompareHierarchies(request)


def resubmit(name: str) -> Call:
    request = job_service_pb2.ResubmitJobRequest(name=name)
    return lambda channel: job_service_pb2_grpc.JobServiceStub(channel).ResubmitJob(request)


def delete(name: str) -> Call:
    request = job_service_pb2.DeleteJobRequest(name=name)
    return lambda channel: job_service_pb2_grpc.JobServiceStub(channel).DeleteJob(request)


def withdraw(name: str, reason: str = "a mistake") -> Call:
    request = release_service_pb2.WithdrawReleaseRequest(name=name, reason=reason)
    return lambda channel: release_service_pb2_grpc.ReleaseServiceStub(channel).WithdrawRelease(request)


def analyze(**risk: Any) -> Call:
    request = risk_service_pb2.SubmitRiskAnalysisRequest(risk=risk_service_pb2.RiskRequest(table=PEOPLE, **risk))
    return lambda channel: risk_service_pb2_grpc.RiskServiceStub(channel).SubmitRiskAnalysis(request)


def submit(query: str, default_role: policy_pb2.Role.ValueType = policy_pb2.ROLE_IDENTIFYING) -> Call:
    policy = policy_pb2.Policy(
        source_query=query,
        rows_are_people=True,
        default_role=default_role,
        attributes=[policy_pb2.Attribute(column="age", role=policy_pb2.ROLE_QUASI_IDENTIFIER, hierarchy=AGES)],
        privacy_models=[policy_pb2.PrivacyModel(k_anonymity=policy_pb2.KAnonymity(k=2))],
        suppression_limit="1",
        release=policy_pb2.ReleaseTarget(name="released"),
    )
    request = job_service_pb2.SubmitJobRequest(policy=policy)
    return lambda channel: job_service_pb2_grpc.JobServiceStub(channel).SubmitJob(request)


def list_loads(**page: Any) -> Call:
    request = table_service_pb2.ListLoadsRequest(**page)
    return lambda channel: table_service_pb2_grpc.TableServiceStub(channel).ListLoads(request)


def list_tables(**page: Any) -> Call:
    request = table_service_pb2.ListTablesRequest(**page)
    return lambda channel: table_service_pb2_grpc.TableServiceStub(channel).ListTables(request)


def duplicates() -> pa.Table:
    return pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["A", "a"])


CALLS: dict[str, tuple[Call, str]] = {
    "describe nothing": (describe(""), "table.table"),
    "describe a file": (describe("there.csv"), "table.table"),
    "describe the state": (describe("jobs", "TABLEVEIL"), "table.schema"),
    "describe the catalog": (describe("tables", "information_schema"), "table.schema"),
    "describe fewer values than none": (describe(values=-1), "values"),
    "describe too many values": (describe(values=1001), "values"),
    "draft nothing": (draft(""), "table.table"),
    "draft a function": (draft("read_csv('there.csv')"), "table.table"),
    "tables by a negative page": (list_tables(page_size=-1), "page_size"),
    "loads by a foreign token": (list_loads(page_token="\0"), "page_token"),
    "load into nothing": (load(table=""), "table.table"),
    "load into a null character": (load(table="a\0b"), "table.table"),
    "load an unknown mode": (load(mode=cast(Any, 7)), "mode"),
    "load a file without a format": (load(file={"path": "there.csv"}), "file.format"),
    "load no file": (load_file(""), "file.path"),
    "load a directory": (load_file("."), "file.path"),
    "load from outside": (load_file("../outside.csv"), "file.path"),
    "load from outside by a link": (load_file("link.csv"), "file.path"),
    "load a circle of links": (load_file("circle.csv"), "file.path"),
    "load a name that is too long": (load_file("a" * 5000), "file.path"),
    "load a null character": (load_file("there.csv\0"), "file.path"),
    "load many files": (load_file("*.csv"), "file.path"),
    "load a location": (load_file("file:///etc/passwd"), "file.path"),
    "load an unknown encoding": (load_file("there.csv", encoding=cast(Any, 9)), "file.csv.encoding"),
    "load fewer rejected lines than none": (load_file("there.csv", max_rejected=-1), "max_rejected"),
    "load a type that there is not": (load_file("there.csv", types={"a": "INTEGER); DROP TABLE people; --"}), "types"),
    "load values that do not fit": (load_file("there.csv", types={"a": "DATE"}), "line 2, column 'a'"),
    "load rows without columns": (load_rows(pa.table({})), "columns"),
    "load a name twice": (load_rows(duplicates()), "columns"),
    "load what is no stream": (load(table_service_pb2.LoadTableRequest(arrow_ipc=b"x" * 99)), "arrow_ipc"),
    "load an empty message": (load(table_service_pb2.LoadTableRequest()), "part"),
    "append what an ENUM does not have": (
        load_rows(
            pa.table({"id": [1], "name": ["x"], "age": [1]}), table="people", mode=table_service_pb2.LOAD_MODE_APPEND
        ),
        "'name'",
    ),
    "back up without a name": (back_up(""), "name"),
    "back up elsewhere": (back_up("../x"), "name"),
    "back up under a path": (back_up("/tmp/x"), "name"),
    "back up under a null character": (back_up("x\0"), "name"),
    "preview nothing": (preview(), "hierarchy"),
    "preview on a file": (preview(hierarchy=AGES, table={"table": "there.csv"}, column="a"), "table.table"),
    "preview fewer groups than none": (preview(hierarchy=AGES, groups=-1), "groups"),
    "compare fewer examples than none": (compare(-1), "examples"),
    "resubmit nothing": (resubmit(""), "name"),
    "delete a negative number": (delete("jobs/-1"), "name"),
    "delete a number that is too large": (delete("jobs/99999999999999999999"), "name"),
    "withdraw a job": (withdraw("jobs/1"), "name"),
    "withdraw without a reason": (withdraw("releases/1", " "), "reason"),
    "compare risks of no columns": (analyze(compare=[{}]), "compare[0].columns"),
    "a file as source": (submit("SELECT * FROM 'there.csv'"), "source_query"),
    "a file in a subquery": (submit("SELECT *, (SELECT a FROM 'there.csv') AS a FROM people"), "source_query"),
    "a file in a common table expression": (submit("WITH a AS (FROM 'there.csv') SELECT * FROM a"), "source_query"),
    "writing a file": (submit("COPY people TO 'new.csv'"), "source_query"),
    "an ENUM where none fits": (submit("SELECT age, name + 1 AS more FROM people"), "source_query"),
    "a list of ENUMs": (submit("SELECT age, [name] AS names FROM people", policy_pb2.ROLE_SENSITIVE), "source.'names'"),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_names_the_field_and_no_value(channel: grpc.Channel, name: str) -> None:
    call, field = CALLS[name]
    with pytest.raises(grpc.RpcError) as raised:
        call(channel)
    status = rpc_status.from_call(cast(Any, raised.value))
    assert raised.value.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND), status
    failure = failure_in(raised.value)
    assert failure is not None
    assert field in [fault.field for fault in failure.faults], status
    for secret in (SECRET, FILE_SECRET):
        assert secret not in str(status)


def test_what_is_told_of_an_enum(channel: grpc.Channel, server: ServerProcess) -> None:
    stub = table_service_pb2_grpc.TableServiceStub(channel)
    rows = pa.table({"id": [2], "name": [SECRET], "age": [1]})
    loaded = load_rows(rows, table="others", mode=table_service_pb2.LOAD_MODE_APPEND)(channel)
    told = [
        loaded,
        stub.ListLoads(table_service_pb2.ListLoadsRequest()),
        stub.ListTables(table_service_pb2.ListTablesRequest()),
        describe("others")(channel),
    ]
    for message in told:
        assert "ENUM" in str(message)
        assert SECRET not in str(message)


def test_a_query_that_fails_on_values(channel: grpc.Channel) -> None:
    jobs = job_service_pb2_grpc.JobServiceStub(channel)
    name = submit("SELECT (name::VARCHAR)::INTEGER AS age FROM people")(channel).name
    *_, last = jobs.WatchJob(job_service_pb2.WatchJobRequest(name=name))
    assert last.job.failure.code == "SOURCE_QUERY_FAILED"
    assert SECRET not in str(last.job)


def test_the_log_has_no_value(server: ServerProcess) -> None:
    log = server.log_file.read_text()
    assert log
    assert SECRET not in log
    assert FILE_SECRET not in log
