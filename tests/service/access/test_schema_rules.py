"""Rules of schemas, by command and by statement, as an admin makes and lists them."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.cli.main import cli
from tests.service.access.house import ADMIN, House, opened

DENIED, INVALID = 9, 2


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Beside the server's admin there is one of ward_a alone."""
    with opened(tmp_path_factory.mktemp("rules")) as house:
        house.access.add(ADMIN, WantedGrant("pat", False, AccessRole.ADMIN, Scope("ward_a")))
        yield house


def run(house: House, who: str, *words: str) -> tuple[int, str]:
    options = ["--server", house.server.address, "--token-file", str(house.token_file(who))]
    command = 2 if words[0] == "schemas" else 1
    result = CliRunner().invoke(cli, [*words[:command], *options, *words[command:]], catch_exceptions=False)
    return result.exit_code, result.output


def rules(house: House, who: str) -> dict[str, bool]:
    code, told = run(house, who, "schemas", "list", "--json")
    assert code == 0, told
    # A field that is false is left out.
    return {rule["schema"]: rule.get("joint_k", False) for rule in json.loads(told).get("rules", [])}


def test_a_rule_is_made_changed_and_listed(house: House) -> None:
    assert "No rules." in run(house, "admin", "schemas", "list")[1]
    code, told = run(house, "pat", "schemas", "set", "WARD_A", "--joint-k")
    said = "Releases by a reason into ward_a wait for approval below k in joint classes."
    assert (code, " ".join(told.split())) == (0, said)
    assert rules(house, "admin") == {"ward_a": True}
    (line,) = [line for line in run(house, "pat", "schemas", "list")[1].splitlines() if "ward_a" in line]
    assert "wait for approval below k in joint classes" in line
    assert "pat" in line
    code, told = run(house, "pat", "schemas", "set", "ward_a", "--no-joint-k", "--json")
    assert (code, json.loads(told)["rule"]["schema"]) == (0, "ward_a")
    assert rules(house, "admin") == {"ward_a": False}


def test_a_rule_is_made_by_a_statement(house: House) -> None:
    code, told = run(house, "admin", "sql", "-c", 'ALTER SCHEMA "Fälle 2026" SET joint_k = true')
    said = "Releases by a reason into fälle 2026 wait for approval below k in joint classes."
    assert (code, " ".join(told.split())) == (0, said)
    assert rules(house, "admin")["fälle 2026"] is True
    code, told = run(house, "admin", "sql", "--json", "-c", 'alter schema "FäLLE 2026" set JOINT_K = false;')
    assert (code, json.loads(told)["schema_rule"]["schema"]) == (0, "fälle 2026")
    assert rules(house, "admin")["fälle 2026"] is False
    answer = house.clients["admin"].execute('ALTER SCHEMA "Fälle 2026" SET joint_k = FALSE')
    assert (answer.WhichOneof("result"), answer.schema_rule.joint_k) == ("schema_rule", False)


@pytest.mark.parametrize("joint_k", ["--joint-k", "--no-joint-k"])
@pytest.mark.parametrize(
    ("who", "schema"), [("ann", "ward_a"), ("pat", "ward_b"), ("ops", "ward_b"), ("app", "ward_b")]
)
def test_only_admins_of_a_schema_make_its_rule(house: House, who: str, schema: str, joint_k: str) -> None:
    before = rules(house, "admin")
    assert run(house, who, "schemas", "set", schema, joint_k)[0] == DENIED
    wanted = "true" if joint_k == "--joint-k" else "false"
    assert run(house, who, "sql", "-c", f"ALTER SCHEMA {schema} SET joint_k = {wanted}")[0] == DENIED
    assert rules(house, "admin") == before


def test_rules_are_listed_to_the_admins_of_their_schemas(house: House) -> None:
    assert run(house, "admin", "schemas", "set", "ward_b", "--joint-k")[0] == 0
    assert "ward_b" not in rules(house, "pat")
    assert "ward_b" in rules(house, "admin")
    for who in ("ann", "aud", "non"):
        assert run(house, who, "schemas", "list")[0] == DENIED


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("ALTER SCHEMA ward_a SET joint_k = 5", "'5' expected TRUE or FALSE"),
        ("ALTER SCHEMA ward_a SET joint_k", "the end of the statement expected ="),
        ("ALTER SCHEMA ward_a SET joint = true", "'joint' expected JOINT_K"),
        ("ALTER SCHEMA SET joint_k = true", "'joint_k' expected SET"),
        ("ALTER SCHEMA tableveil SET joint_k = true", "rule.schema found tableveil"),
    ],
)
def test_what_is_no_rule_is_refused(house: House, statement: str, found: str) -> None:
    before = rules(house, "admin")
    code, told = run(house, "admin", "sql", "-c", statement)
    assert code == INVALID
    assert found in " ".join(told.split())
    assert rules(house, "admin") == before


def test_a_rule_has_to_be_said(house: House) -> None:
    code, told = run(house, "admin", "schemas", "set", "ward_a")
    assert code == 2
    assert "--joint-k" in told
