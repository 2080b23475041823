"""Missing names of tables, columns and hierarchies: equal codes and texts from every command."""

from pathlib import Path
from typing import Any

import pytest

from tableveil.cli.exit_codes import ExitCode
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve


@pytest.fixture(scope="module")
def address(serve_all_along: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    database = tmp_path_factory.mktemp("missing") / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE)
    server = serve_all_along(database).address
    sexes = database.with_name("sex.csv")
    sexes.write_text("F;*\nM;*\n")
    assert tableveil("hierarchies", "import", "sexes", str(sexes), server=server).exit_code == ExitCode.OK
    return server


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the commands name."""
    monkeypatch.chdir(tmp_path)
    Path("sex.csv").write_text("F;*\nM;*\n")
    Path("rows.csv").write_text("a\n1\n")
    Path("query.sql").write_text("SELECT * FROM peopel")


def failure(address: str, *arguments: str) -> tuple[ExitCode, str, dict[str, Any]]:
    """The exit code, the failure's code and its only fault."""
    outcome = tableveil(*arguments, "--json", server=address)
    found = outcome.documents[-1]["failure"]
    [fault] = found["faults"]
    return ExitCode(outcome.exit_code), found["code"], fault


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (("describe", "peopel"), "table.table"),
        (("draft-policy", "peopel"), "table.table"),
        (("load", "rows.csv", "peopel", "--append"), "table.table"),
        (("risk", "peopel"), "table.table"),
        (("risk", "people", "--quasi-identifiers", "sex", "--population", "peopel"), "population.table.table"),
        (("hierarchies", "preview", "peopel", "sex", "--hierarchy", "sex.csv"), "table.table"),
    ],
    ids=" ".join,
)
def test_a_table(address: str, command: tuple[str, ...], field: str) -> None:
    exit_code, code, fault = failure(address, *command)
    assert (exit_code, code) == (ExitCode.NOT_FOUND, "TABLE_NOT_FOUND")
    assert fault == {
        "field": field,
        "found": "'peopel'",
        "expected": "a table of schema 'main'",
        "hint": "Did you mean 'people'?",
    }


@pytest.mark.parametrize(
    "command",
    [
        ("describe", "man.people"),
        ("draft-policy", "man.people"),
        ("load", "rows.csv", "man.people", "--append"),
        ("risk", "man.people"),
        ("hierarchies", "preview", "man.people", "sex", "--hierarchy", "sex.csv"),
    ],
    ids=" ".join,
)
def test_a_schema(address: str, command: tuple[str, ...]) -> None:
    exit_code, code, fault = failure(address, *command)
    assert (exit_code, code) == (ExitCode.NOT_FOUND, "TABLE_NOT_FOUND")
    assert fault == {
        "field": "table.schema",
        "found": "'man'",
        "expected": "a schema of the database",
        "hint": "Did you mean 'main'?",
    }


def test_the_database_in_the_place_of_a_schema(address: str) -> None:
    """As listings write tables."""
    assert failure(address, "describe", "people", "--schema", "clinic")[2]["hint"].startswith(
        "This is the database itself"
    )


@pytest.mark.parametrize("command", [("draft-policy",), ("risk", "--quasi-identifiers", "sex")], ids=" ".join)
def test_a_table_of_a_query(address: str, command: tuple[str, ...]) -> None:
    exit_code, code, fault = failure(address, *command, "--query", "query.sql")
    assert (exit_code, code) == (ExitCode.NOT_FOUND, "TABLE_NOT_FOUND")
    assert fault == {
        "field": "source_query",
        "found": "'peopel' in line 1, column 15, which is not there",
        "expected": "a table of the server's database",
        "hint": "Did you mean 'people'?",
    }


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (("risk", "people", "--quasi-identifiers", "sex,wart"), "quasi_identifiers[1]"),
        (("risk", "people", "--compare", "sex,wart"), "compare[0].columns[1]"),
        (("risk", "people", "--quasi-identifiers", "sex", "--weight", "wart"), "weight_column"),
        (("risk", "people", "--quasi-identifiers", "sex", "--person", "wart"), "person_column"),
        (("risk", "people", "--quasi-identifiers", "sex", "--subset-column", "wart"), "population.subset_column"),
        (("hierarchies", "preview", "people", "wart", "--hierarchy", "sex.csv"), "column"),
    ],
    ids=" ".join,
)
def test_a_column(address: str, command: tuple[str, ...], field: str) -> None:
    exit_code, code, fault = failure(address, *command)
    assert (exit_code, code) == (ExitCode.NOT_FOUND, "COLUMN_NOT_FOUND")
    assert fault == {
        "field": field,
        "found": "'wart'",
        "expected": "a column of the table",
        "hint": "Did you mean 'ward'?",
    }


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (("show", "sexs"), "hierarchy.stored.name"),
        (("preview", "--stored", "sexs"), "hierarchy.stored.name"),
        (("preview", "people", "sex", "--stored", "sexs"), "hierarchy.stored.name"),
        (("compare", "sexs", "sexes"), "earlier.name"),
    ],
    ids=str,
)
def test_a_hierarchy(address: str, command: tuple[str, ...], field: str) -> None:
    exit_code, code, fault = failure(address, "hierarchies", *command)
    assert (exit_code, code) == (ExitCode.NOT_FOUND, "HIERARCHY_NOT_FOUND")
    assert fault == {
        "field": field,
        "found": "'sexs'",
        "expected": "a stored hierarchy",
        "hint": "Did you mean 'sexes'?",
    }


def test_what_is_wrong_with_more_than_names_is_told_as_a_whole(address: str) -> None:
    asked = ("risk", "people", "--quasi-identifiers", "sex,wart", "--population", "peopel")
    outcome = tableveil(*asked, "--json", server=address)
    found = outcome.documents[-1]["failure"]
    assert found["code"] == "RISK_INVALID"
    assert [fault["field"] for fault in found["faults"]] == ["quasi_identifiers[1]", "population.table.table"]
