"""The standard methods over gRPC: each listed thing can be got by its name, and each list has pages."""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from tableveil.client import Client
from tableveil.errors import NotFoundError
from tableveil.server.services import DESCRIPTORS
from tableveil.v1 import access_pb2, policy_pb2
from tableveil.v1 import access_service_pb2 as access
from tableveil.v1 import release_service_pb2 as releases
from tableveil.v1 import table_service_pb2 as tables
from tableveil.v1 import worksheet_service_pb2 as worksheets
from tableveil.v1.access_service_pb2_grpc import AccessServiceStub
from tableveil.v1.release_service_pb2_grpc import ReleaseServiceStub
from tableveil.v1.table_service_pb2_grpc import TableServiceStub
from tableveil.v1.worksheet_service_pb2_grpc import WorksheetServiceStub
from tests.service.access.house import House, opened

STEWARD = access_pb2.ACCESS_ROLE_STEWARD
PATIENTS = policy_pb2.TableReference(schema="ward_a", table="patients")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("standard")) as house:
        yield house


@pytest.fixture
def admin(house: House) -> Client:
    return house.clients["admin"]


def test_every_list_has_pages() -> None:
    for service in DESCRIPTORS:
        for method in service.methods:
            if method.name.startswith("List") and method.name != "ListReadableReleases":
                assert {"page_size", "page_token"} <= set(method.input_type.fields_by_name), method.full_name
                assert "next_page_token" in method.output_type.fields_by_name, method.full_name


def test_what_is_listed_is_got_by_its_name(house: House, admin: Client) -> None:
    for schema in ("ward_a", "été 'A'/x"):
        admin.set_schema_rule(schema, joint_k=True)
    admin.set_privacy_budget("people/of-ward", ["ward_a.patients"], epsilon="1", delta="0.001")
    for name in ("ages", "ward_a/ages", "a@2"):
        admin.create_hierarchy(name, [["1", "*"], ["2", "*"]])
    admin.create_hierarchy("ages", [["1", "*"], ["3", "*"]])
    for rule in admin.list_schema_rules():
        assert admin.get_schema_rule(rule.schema) == admin.get_schema_rule(rule.name) == rule
    assert admin.get_schema_rule("WARD_A").schema == "ward_a"
    for budget in admin.list_privacy_budgets():
        assert admin.get_privacy_budget(budget.name) == budget
    for token in admin.list_tokens():
        assert admin.get_token(token.name).principal == token.principal
        assert not admin.get_token(token.name).secret
    for grant in admin.list_grants():
        assert admin.get_grant(grant.name) == grant
    stored = list(admin.list_hierarchies())
    assert len(stored) == 4
    for one in stored:
        assert admin.get_hierarchy(one.resource_name) == one
    assert admin.get_hierarchy("ages").version == 2
    assert admin.get_hierarchy("ages@1").version == 1
    assert admin.get_hierarchy("a@2@1").name == "a@2"
    assert admin.get_schema("WARD_A").name == "schemas/ward_a"


def test_nobody_gets_what_others_have(house: House, admin: Client) -> None:
    assert house.clients["ann"].get_schema("ward_a").schema == "ward_a"
    assert house.clients["tab"].get_schema("ward_a").schema == "ward_a"
    with pytest.raises(NotFoundError) as hidden:
        house.clients["ann"].get_schema("ward_b")
    with pytest.raises(NotFoundError) as unknown:
        house.clients["ann"].get_schema("ward_x")
    assert str(hidden.value).replace("ward_b", "ward_x") == str(unknown.value)
    for get, name in (
        (admin.get_target, "nowhere"),
        (admin.get_schema, "tableveil"),
        (admin.get_privacy_budget, "nobody"),
        (admin.get_schema_rule, "ward_z"),
        (admin.get_grant, "9999"),
        (admin.get_token, "9999"),
        (admin.get_hierarchy, "ages@0"),
    ):
        with pytest.raises(NotFoundError):
            get(name)
    with pytest.raises(grpc.RpcError, match="schemaRules/ and a name"):
        AccessServiceStub(house.channels["admin"]).GetSchemaRule(access.GetSchemaRuleRequest(name="ward_a"))


def test_pages_of_names(house: House, admin: Client) -> None:
    for number in range(5):
        admin.set_schema_rule(f"paged {number}", joint_k=False)
    stub = AccessServiceStub(house.channels["admin"])
    every = [rule.schema for rule in stub.ListSchemaRules(access.ListSchemaRulesRequest()).rules]
    assert [f"paged {number}" for number in range(5)] == [name for name in every if name.startswith("paged")]
    paged: list[str] = []
    sizes: list[int] = []
    token = ""
    while token or not paged:
        page = stub.ListSchemaRules(access.ListSchemaRulesRequest(page_size=2, page_token=token))
        paged += [rule.schema for rule in page.rules]
        sizes.append(len(page.rules))
        token = page.next_page_token
    assert paged == every
    assert set(sizes[:-1]) == {2}
    budgets = access.ListPrivacyBudgetsRequest(page_token=stub_token(stub))
    with pytest.raises(grpc.RpcError, match="did not give out"):
        stub.ListPrivacyBudgets(budgets)


def stub_token(stub: Any) -> str:
    return str(stub.ListSchemaRules(access.ListSchemaRulesRequest(page_size=1)).next_page_token)


def test_a_page_token_is_one_of_its_filter(house: House, admin: Client) -> None:
    stub = TableServiceStub(house.channels["admin"])
    first = stub.ListTables(tables.ListTablesRequest(page_size=1, schema="ward_a"))
    assert first.next_page_token
    following = tables.ListTablesRequest(page_size=50, schema="ward_a", page_token=first.next_page_token)
    assert {table.table.table for table in stub.ListTables(following).tables}.isdisjoint(
        table.table.table for table in first.tables
    )
    for other in ("ward_b", ""):
        following.schema = other
        with pytest.raises(grpc.RpcError, match="another filter"):
            stub.ListTables(following)
    unfiltered = stub.ListTables(tables.ListTablesRequest(page_size=1))
    with pytest.raises(grpc.RpcError, match="another filter"):
        stub.ListTables(tables.ListTablesRequest(schema="ward_a", page_token=unfiltered.next_page_token))
    released = ReleaseServiceStub(house.channels["admin"])
    with pytest.raises(grpc.RpcError, match="another filter"):
        released.ListReleases(releases.ListReleasesRequest(target_schema="x", page_token="WyJyZWxlYXNlcyIsIDFd"))


def test_a_worksheet_changes_by_a_mask(house: House) -> None:
    stub = WorksheetServiceStub(house.channels["ann"])
    made = stub.CreateWorksheet(worksheets.CreateWorksheetRequest(worksheet=worksheets.Worksheet(table=PATIENTS)))
    made.policy.suppression_limit = "0.1"
    made.policy.repeat_reason = "first"
    made.request.recurs = True
    made = stub.UpdateWorksheet(worksheets.UpdateWorksheetRequest(worksheet=made))

    def updated(wanted: worksheets.Worksheet, *paths: str) -> worksheets.Worksheet:
        wanted.name, wanted.etag = made.name, stub.GetWorksheet(worksheets.GetWorksheetRequest(name=made.name)).etag
        mask = FieldMask(paths=paths)
        return stub.UpdateWorksheet(worksheets.UpdateWorksheetRequest(worksheet=wanted, update_mask=mask))

    changed = updated(worksheets.Worksheet(policy=policy_pb2.Policy(repeat_reason="second")), "policy.repeat_reason")
    assert (changed.policy.repeat_reason, changed.policy.suppression_limit, changed.request.recurs) == (
        "second",
        "0.1",
        True,
    )
    changed = updated(worksheets.Worksheet(job="jobs/3"), "job")
    assert (changed.job, changed.policy.repeat_reason) == ("jobs/3", "second")
    changed = updated(worksheets.Worksheet(), "policy")
    assert not changed.HasField("policy")
    assert (changed.job, changed.request.recurs) == ("jobs/3", True)
    assert not updated(worksheets.Worksheet(), "*").HasField("request")
    for path in ("table", "etag", "no such field", "policy.no_such", ""):
        with pytest.raises(grpc.RpcError, match="update_mask"):
            updated(worksheets.Worksheet(), path)
