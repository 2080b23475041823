"""Changes with a request id, over gRPC: each is made once, and asked for again gives the first answer."""

import itertools
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from click.testing import CliRunner, Result

from tableveil.backend import Database, Session, Settings
from tableveil.cli.main import cli
from tableveil.client import Client
from tableveil.errors import BusyError, ConflictError
from tableveil.runtime import AnsweredRequests
from tableveil.runtime.upkeep import delete_old
from tableveil.server import ServeSettings
from tableveil.server.server import TableveilServer
from tableveil.server.services import DESCRIPTORS
from tableveil.state.answered_requests import RequestKey
from tableveil.state.migrate import migrate
from tableveil.v1 import access_service_pb2 as access
from tableveil.v1 import admin_service_pb2 as admin
from tableveil.v1 import hierarchy_service_pb2 as hierarchies
from tableveil.v1 import policy_pb2
from tableveil.v1 import privacy_service_pb2 as privacies
from tableveil.v1 import statement_service_pb2 as statements
from tableveil.v1 import table_service_pb2 as tables
from tableveil.v1 import worksheet_service_pb2 as worksheets
from tableveil.v1.access_service_pb2_grpc import AccessServiceStub
from tableveil.v1.admin_service_pb2_grpc import AdminServiceStub
from tableveil.v1.hierarchy_service_pb2_grpc import HierarchyServiceStub
from tableveil.v1.privacy_service_pb2_grpc import PrivacyServiceStub
from tableveil.v1.statement_service_pb2_grpc import StatementServiceStub
from tableveil.v1.table_service_pb2 import LoadStart
from tableveil.v1.table_service_pb2_grpc import TableServiceStub
from tableveil.v1.worksheet_service_pb2_grpc import WorksheetServiceStub
from tests import authenticated

PATIENTS = policy_pb2.TableReference(schema="main", table="patients")
READING = ("Check", "Compare", "Describe", "Draft", "Get", "List", "Preview", "Read", "Verify", "Watch", "Widen")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(Database(Settings(tmp_path / "clinic.duckdb"))) as database, database.session() as session:
        session.execute("CREATE TABLE patients AS SELECT i AS patient, i % 7 AS age FROM range(50) r(i)")
    return tmp_path / "clinic.duckdb"


@pytest.fixture
def address(path: Path) -> Iterator[str]:
    with closing(TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=1))) as server:
        yield server.address


@pytest.fixture
def channel(address: str) -> Iterator[grpc.Channel]:
    with authenticated.channel(address) as channel:
        yield channel


def reason(call: Callable[[], object]) -> str:
    with pytest.raises(grpc.RpcError) as raised:
        call()
    error: Any = raised.value
    return str(error.details())


def test_each_method_that_changes_something_takes_a_request_id() -> None:
    for service in DESCRIPTORS:
        for method in service.methods:
            fields = method.input_type.fields_by_name
            if method.name == "LoadTable":
                fields = LoadStart.DESCRIPTOR.fields_by_name
            assert ("request_id" in fields) is not method.name.startswith(READING), method.full_name


def test_a_repeated_token_comes_without_its_text(channel: grpc.Channel) -> None:
    stub = AccessServiceStub(channel)
    request = access.CreateTokenRequest(principal="etl", label="night", request_id="nightly")
    first, again = stub.CreateToken(request), stub.CreateToken(request)
    assert first.secret
    assert not again.secret
    first.ClearField("secret")
    assert again == first
    assert [token.principal for token in stub.ListTokens(access.ListTokensRequest()).tokens].count("etl") == 1
    # A name is one of its method and its owner.
    schema = admin.CreateSchemaRequest(schema="ward", request_id="nightly")
    assert AdminServiceStub(channel).CreateSchema(schema) == AdminServiceStub(channel).CreateSchema(schema)
    other = access.CreateTokenRequest(principal="bob", label="night", request_id="nightly")
    assert "'nightly', which named another request of CreateToken" in reason(lambda: stub.CreateToken(other))
    assert "1,000" in reason(
        lambda: stub.CreateToken(access.CreateTokenRequest(principal="b", label="l", request_id="x" * 1001))
    )


def test_a_refused_request_may_be_repeated(channel: grpc.Channel) -> None:
    stub = AdminServiceStub(channel)
    refused = admin.CreateSchemaRequest(schema="", request_id="first")
    assert "schema" in reason(lambda: stub.CreateSchema(refused))
    assert stub.CreateSchema(admin.CreateSchemaRequest(schema="ward", request_id="first")).schema == "ward"


def test_a_request_that_reads_and_is_refused_may_be_repeated(channel: grpc.Channel) -> None:
    """The hierarchy that the declaration leaves out is drafted from the rows, in a transaction."""
    stub = PrivacyServiceStub(channel)
    roles = [("age", policy_pb2.ROLE_QUASI_IDENTIFIER), ("aeg", policy_pb2.ROLE_SENSITIVE)]
    attributes = [policy_pb2.Attribute(column=column, role=role) for column, role in roles]
    request = privacies.DeclarePrivacyRequest(table=PATIENTS, request_id="first")
    request.privacy.CopyFrom(privacies.Privacy(rows_are_people=True, attributes=attributes))
    for _ in range(2):
        assert "the privacy is invalid" in reason(lambda: stub.DeclarePrivacy(request))


def test_a_table_is_emptied_once(channel: grpc.Channel, path: Path) -> None:
    stub, sql = TableServiceStub(channel), StatementServiceStub(channel)
    request = tables.TruncateTableRequest(table=PATIENTS, request_id="empty")
    assert stub.TruncateTable(request).removed_rows == 50
    assert stub.TruncateTable(request).removed_rows == 50
    assert stub.TruncateTable(tables.TruncateTableRequest(table=PATIENTS)).removed_rows == 0
    grant = statements.ExecuteStatementRequest(
        statement="GRANT SELECT ON ANONYMIZED TABLE main.seen TO eve", request_id="eve"
    )
    assert sql.ExecuteStatement(grant) == sql.ExecuteStatement(grant)
    taken = statements.ExecuteStatementRequest(
        statement="REVOKE SELECT ON ANONYMIZED TABLE main.seen FROM eve", request_id="eve gone"
    )
    assert sql.ExecuteStatement(taken) == sql.ExecuteStatement(taken)


def test_a_stream_is_compared_as_a_whole(channel: grpc.Channel) -> None:
    stub = HierarchyServiceStub(channel)

    def stored(last: str) -> hierarchies.StoredHierarchyInfo:
        rows = [policy_pb2.HierarchyRow(labels=[value, "*"]) for value in ("a", last)]
        first = hierarchies.CreateHierarchyRequest(name="ages", row_count=2, rows=rows[:1], request_id="ages of May")
        return stub.CreateHierarchy(iter([first, hierarchies.CreateHierarchyRequest(rows=rows[1:])]))

    assert stored("b") == stored("b")
    assert "ages of May" in reason(lambda: stored("c"))


def test_the_client_and_the_commands_name_changes(address: str) -> None:
    with Client(address, authenticated.TOKEN) as client:
        with client.once("May"):
            assert [client.truncate_table("main.patients") for _ in range(2)] == [50, 50]
            rows = [["a", "*"], ["b", "*"]]
            assert client.create_hierarchy("ages", rows) == client.create_hierarchy("ages", rows)
            with pytest.raises(ConflictError, match="'May'"):
                client.create_hierarchy("ages", rows[:1])
        assert client.truncate_table("main.patients") == 0

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, [*words, "--server", address, "--request-id", "June"])

    assert "0 rows removed" in run("truncate", "patients").output
    assert run("tokens", "create", "etl").exit_code == 0
    again = run("tokens", "create", "etl")
    assert "tokens revoke tokens/2" in " ".join(again.output.split())
    assert again.exit_code != 0


def test_an_answer_goes_with_what_it_shows(channel: grpc.Channel) -> None:
    stub = WorksheetServiceStub(channel)
    request = worksheets.CreateWorksheetRequest(worksheet=worksheets.Worksheet(table=PATIENTS), request_id="draft")
    made = stub.CreateWorksheet(request)
    assert stub.CreateWorksheet(request) == made
    gone = worksheets.DeleteWorksheetRequest(name=made.name, request_id="gone")
    assert stub.DeleteWorksheet(gone) == stub.DeleteWorksheet(gone)
    assert "The change was made" in reason(lambda: stub.CreateWorksheet(request))
    # An erasure leaves no earlier answer at all, and no hash that would tell who was erased.
    schema = admin.CreateSchemaRequest(schema="ward", request_id="ward")
    AdminServiceStub(channel).CreateSchema(schema)
    erased = tables.ErasePersonsRequest(table=PATIENTS, person_column="patient", persons=["7"], request_id="seven")
    tables_stub = TableServiceStub(channel)
    assert tables_stub.ErasePersons(erased) == tables_stub.ErasePersons(erased)
    assert "The change was made" in reason(lambda: AdminServiceStub(channel).CreateSchema(schema))


def opened(path: Path) -> Database:
    database = Database(Settings(path, threads=1))
    with database.ledger() as ledger:
        migrate(ledger)
    return database


def test_requests_are_handled_one_at_a_time_and_forgotten(path: Path) -> None:
    with closing(opened(path)) as database:
        answered, key = AnsweredRequests(database), RequestKey("ann", "S/M", "one")
        begun, goes_on = threading.Event(), threading.Event()

        def slow() -> bytes:
            begun.set()
            assert goes_on.wait(60)
            return b"first"

        thread = threading.Thread(target=lambda: answered.once(key, lambda: "d", slow))
        thread.start()
        assert begun.wait(60)
        with pytest.raises(BusyError, match="one call at a time"):
            answered.once(key, lambda: "d", lambda: b"second")
        goes_on.set()
        thread.join()
        assert answered.once(key, lambda: "d", lambda: b"second") == b"first"
        assert answered.once(RequestKey("bob", "S/M", "one"), lambda: "d", lambda: b"") is None
        delete_old(database, timedelta(days=1))
        assert answered.once(key, lambda: "d", lambda: b"second") == b"first"
        delete_old(database, timedelta(days=-1))
        assert answered.once(key, lambda: "d", lambda: b"second") is None


def make(database: Database) -> bytes:
    """A change of one transaction."""
    with database.session() as session, session.transaction():
        session.execute("INSERT INTO patients VALUES (99, 9)")
    return b"made"


def keeping_files(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Copies the database's file and its log before every statement: a kill leaves them as they are at that moment."""
    numbers = itertools.count()

    def keeping(function: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **options: object) -> object:
            number = next(numbers)
            for file in path.parent.glob(f"{path.name}*"):
                if file.is_file():
                    shutil.copyfile(file, file.with_name(file.name.replace(path.stem, str(number))))
            return function(*arguments, **options)

        return called

    for name in ("execute", "_unguarded"):
        monkeypatch.setattr(Session, name, keeping(getattr(Session, name)))


def test_killed_at_every_statement(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(path).close()
    key = RequestKey("ann", "S/M", "one")
    with closing(Database(Settings(path, threads=1))) as database, monkeypatch.context() as patched:
        keeping_files(patched, path)
        AnsweredRequests(database).once(key, lambda: "d", partial(make, database))
    seen: set[tuple[int, bytes | str | None]] = set()
    for copy in (*path.parent.glob("[0-9]*.duckdb"), path):
        with closing(Database(Settings(copy, threads=1))) as database, database.session() as session:
            made = session.value("SELECT count(*) FROM patients WHERE patient = 99")
            try:
                seen.add((made, AnsweredRequests(database).once(key, lambda: "d", partial(make, database))))
            except ConflictError as error:
                seen.add((made, error.code))
            assert session.value("SELECT count(*) FROM patients WHERE patient = 99") == 1
    assert seen == {(0, None), (1, "ANSWER_FORGOTTEN"), (1, b"made")}
