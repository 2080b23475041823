"""The command `draft-policy`: where it writes, and what it asks for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tableveil.document import load_policy, to_commented_yaml
from tableveil.v1 import draft_service_pb2 as v1
from tableveil.v1 import policy_pb2
from tests.service.cli.conftest import Run
from tests.service.client.fake_service import FakeService


@pytest.fixture(autouse=True)
def draft(service: FakeService) -> v1.DraftPolicyResponse:
    service.draft = v1.DraftPolicyResponse(
        policy=policy_pb2.Policy(attributes=[policy_pb2.Attribute(column="id")]),
        proposal=policy_pb2.Policy(
            attributes=[policy_pb2.Attribute(column="id", role=policy_pb2.ROLE_IDENTIFYING)], rows_are_people=True
        ),
        remarks=[
            v1.DraftRemark(field="attributes[0].role", kind=v1.DRAFT_REMARK_KIND_DECIDE, text="Is it?"),
            v1.DraftRemark(field="rows_are_people", kind=v1.DRAFT_REMARK_KIND_DECIDE, text="Are they?"),
        ],
    )
    return service.draft


def asked(service: FakeService) -> tuple[str, str]:
    request = service.requests[-1]
    assert isinstance(request, v1.DraftPolicyRequest)
    return request.table.schema, request.table.table


def test_it_is_written_to_stdout(run: Run, service: FakeService, draft: v1.DraftPolicyResponse) -> None:
    result = run("draft-policy", "clinic.people")
    assert (result.exit_code, result.stdout) == (0, to_commented_yaml(draft))
    assert asked(service) == ("clinic", "people")
    run("draft-policy", "a.b", "--schema", "clinic")
    assert asked(service) == ("clinic", "a.b")


def test_it_is_written_to_a_file(run: Run, draft: v1.DraftPolicyResponse, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    result = run("draft-policy", "people", "--output", str(path))
    assert result.exit_code == 0
    assert "decide the 2 fields" in result.stdout
    assert load_policy(path) == (draft.policy, [])


def test_a_file_is_not_replaced_unasked(run: Run, service: FakeService, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("mine")
    assert run("draft-policy", "people", "--output", str(path)).exit_code != 0
    assert (path.read_text(), service.requests) == ("mine", [])
    assert run("draft-policy", "people", "--output", str(path), "--overwrite").exit_code == 0
    assert path.read_text() != "mine"


def test_json(documents: Callable[..., list[Any]]) -> None:
    [document] = documents("draft-policy", "people")
    assert [remark["kind"] for remark in document["remarks"]] == ["DRAFT_REMARK_KIND_DECIDE"] * 2


def test_a_query_in_place_of_a_table(run: Run, service: FakeService, tmp_path: Path) -> None:
    path = tmp_path / "query.sql"
    path.write_text("SELECT 'ä' AS a FROM people\n", encoding="utf-8")
    assert run("draft-policy", "--query", str(path)).exit_code == 0
    request = service.requests[-1]
    assert isinstance(request, v1.DraftPolicyRequest)
    assert (request.source_query, request.WhichOneof("source")) == ("SELECT 'ä' AS a FROM people\n", "source_query")


def test_a_table_or_a_query_and_not_both(run: Run, service: FakeService, tmp_path: Path) -> None:
    path, empty = tmp_path / "query.sql", tmp_path / "empty.sql"
    path.write_text("SELECT a FROM people")
    empty.write_text(" \n")
    for arguments in (
        (),
        ("people", "--query", str(path)),
        ("--schema", "main", "--query", str(path)),
        ("--query", str(empty)),
    ):
        for command in ("draft-policy", "risk"):
            assert run(command, *arguments).exit_code == 2
    assert service.requests == []


def test_widen(run: Run, service: FakeService, tmp_path: Path) -> None:
    path, wider = tmp_path / "policy.yaml", tmp_path / "wider.yaml"
    path.write_text("source: {table: people}\nattributes: [{column: id, role: IDENTIFYING}]\n")
    assert run("widen", str(path)).stdout.startswith("source:")
    shown = run("widen", str(path), "--output", str(wider)).stdout
    assert shown.endswith(r"wider in a\x1bge." + "\n")
    assert load_policy(wider) == load_policy(path)
    assert run("widen", str(path), "--output", str(wider)).exit_code != 0
    path.write_text("source: {table: people}\nunheard: of\n")
    assert "unheard" in run("widen", str(path)).stderr
