"""Grants by command and by file, as an admin gives them and takes them back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tableveil.cli.main import cli
from tableveil.errors import ConflictError, DeniedError, InvalidError, NotFoundError
from tableveil.server import ServeSettings, TableveilServer
from tableveil.server.stores import read_grants
from tests.service.access.house import House, opened, policy, submitted

FILE = """
grants:
  - principal: pat
    role: steward
    schema: ward_a
  - group: auditors
    role: auditor
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    place = tmp_path_factory.mktemp("commands")
    (place / "grants.yaml").write_text(FILE)
    with opened(place, grants=place / "grants.yaml") as house:
        yield house


def run(house: House, who: str, *words: str) -> tuple[int, str]:
    options = ["--server", house.server.address, "--token-file", str(house.token_file(who))]
    result = CliRunner().invoke(cli, ["grants", words[0], *options, *words[1:]], catch_exceptions=False)
    return result.exit_code, result.output


def test_a_grant_is_added_listed_and_removed(house: House) -> None:
    with pytest.raises(DeniedError):
        list(house.clients["non"].list_tables())
    code, told = run(house, "admin", "add", "steward", "--principal", "non", "--schema", "ward_b", "--table", "zips")
    assert code == 0, told
    assert "non is steward of ward_b.zips" in told
    assert [found.table.table for found in house.clients["non"].list_tables()] == ["zips"]
    name = told.split(":")[0]
    assert name in run(house, "admin", "list")[1]
    assert run(house, "admin", "remove", name)[0] == 0
    with pytest.raises(DeniedError):
        list(house.clients["non"].list_tables())
    assert name not in run(house, "admin", "list")[1]


def test_grants_of_the_file_count_and_stay(house: House) -> None:
    assert {found.table.schema for found in house.clients["pat"].list_tables()} == {"ward_a"}
    (of_file,) = [found for found in house.clients["admin"].list_grants() if found.rule.principal == "pat"]
    assert of_file.from_file
    with pytest.raises(ConflictError):
        house.clients["admin"].remove_grant(of_file.name)


def test_only_an_admin_gives_roles(house: House) -> None:
    for who in ("ann", "ops", "aud", "eve"):
        assert run(house, who, "add", "admin", "--principal", who)[0] == 9
        assert run(house, who, "list")[0] == 9
    with pytest.raises(NotFoundError):
        house.clients["admin"].remove_grant("grants/1000")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("grants: [{principal: pat}]", "grants[0].role"),
        ("grants: [{role: steward}]", "grants[0].principal"),
        ("grants: [{principal: pat, group: x, role: steward}]", "grants[0].group"),
        ("grants: [{principal: pat, role: boss}]", "grants[0].role"),
        ("grants: [{principal: pat, role: analyst, release: seven}]", "grants[0].release"),
        ("grants: [{principal: pat, role: analyst, from_file: true}]", "grants[0].from_file"),
        ("pat: steward", "pat"),
    ],
)
def test_a_file_with_a_fault_keeps_the_server_from_starting(tmp_path: Path, text: str, field: str) -> None:
    (tmp_path / "grants.yaml").write_text(text)
    with pytest.raises(InvalidError) as refused:
        read_grants(tmp_path / "grants.yaml")
    assert [fault.field for fault in refused.value.faults] == [field]


def test_a_file_that_is_not_there_keeps_the_server_from_starting(tmp_path: Path) -> None:
    settings = ServeSettings(tmp_path / "clinic.duckdb", ("127.0.0.1:0",), grants=tmp_path / "none.yaml")
    with pytest.raises(InvalidError, match=r"none\.yaml"):
        TableveilServer(settings)


def test_an_analyst_is_shown_no_zeros_for_what_is_hidden(house: House) -> None:
    submitted(house, "ann", "JobService/SubmitJob", policy=policy("ward_a"))
    options = ["--server", house.server.address, "--token-file", str(house.token_file("eve"))]
    told = CliRunner().invoke(cli, ["show", *options, "--all", "releases/1"], catch_exceptions=False).output
    assert "ward_a.released_classes" in told
    assert "Proof" not in told
    assert "score" not in told


def test_nothing_waits_without_a_restore(house: House) -> None:
    assert "Nothing waits" in run(house, "admin", "confirm")[1]
