"""The command `document convert`: a policy means the same in each notation."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tableveil.cli.main import cli
from tableveil.document import read_policy

DEMO = Path(__file__).parents[3] / "service/tableveil/demo/policy.yaml"
STATEMENT = """-- for researchers
CREATE OR REPLACE ANONYMIZED TABLE released
  PRIVACY (ROWS ARE PEOPLE, QUASI_IDENTIFIER "zip code" USING suppression_only(), OTHERS SENSITIVE)
  AS SELECT * FROM visits WITH (k_anonymity(5), policy = $$ suppression_limit: 0.05 $$);
"""


def convert(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["document", "convert", *map(str, arguments)])


def test_there_and_back(tmp_path: Path) -> None:
    expected = read_policy(DEMO.read_text(), "yaml")
    place = DEMO
    for suffix in ("json", "sql", "yaml", "sql", "json"):
        result = convert(place, "--output", tmp_path / f"policy.{suffix}", "--overwrite")
        assert result.exit_code == 0, result.stderr
        place = tmp_path / f"policy.{suffix}"
    assert read_policy(place.read_text(), "json") == expected


def test_a_statement(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(STATEMENT)
    policy, faults = read_policy(convert(tmp_path / "a.sql").stdout, "yaml")
    assert not faults
    assert (policy.source.table, policy.release.name, policy.suppression_limit) == ("visits", "released", "0.05")


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.sql", STATEMENT * 2, "STATEMENT_INVALID"),
        ("a.sql", "SHOW RELEASES;", "STATEMENT_INVALID"),
        ("a.sql", "CREATE ANONYMIZED TABLE", "STATEMENT_INVALID"),
        ("a.yaml", "releases: {}", "POLICY_INVALID"),
        ("a.txt", "", "POLICY_INVALID"),
    ],
)
def test_what_is_no_policy(tmp_path: Path, name: str, text: str, code: str) -> None:
    (tmp_path / name).write_text(text)
    result = convert(tmp_path / name)
    assert result.exit_code == 2
    assert code in result.stderr
    assert result.stdout == ""


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("mine")
    assert convert(DEMO, "--output", tmp_path / "a.json").exit_code != 0
    assert (tmp_path / "a.json").read_text() == "mine"
