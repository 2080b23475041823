"""Commands on a database file, without a server: the same results as with one, and the same audit."""

import json
from pathlib import Path

import duckdb
import pytest

from tests.e2e import samples
from tests.e2e.commands import Outcome, tableveil
from tests.file_modes import usual_umask


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "new.duckdb"


def on(database: Path, *arguments: str) -> Outcome:
    with usual_umask():
        return tableveil(*arguments, "--database", str(database))


def test_a_pipeline(database: Path, tmp_path: Path) -> None:
    rows, policy, exported = tmp_path / "people.parquet", tmp_path / "policy.json", tmp_path / "exported"
    duckdb.sql(f"COPY ({samples.PEOPLE}) TO '{rows}'")
    policy.write_text(json.dumps(samples.policy()))
    for command in (
        ("load", str(rows), "people", "--replace"),
        ("draft-policy", "people", "--output", str(tmp_path / "draft.yaml")),
        ("run", str(policy)),
        ("show", "1"),
        ("utility", "1"),
        ("export", "1", "--output", str(exported)),
    ):
        done = on(database, *command)
        assert done.exit_code == 0, (command, done.stderr)
    assert "releases/1" in on(database, "releases").stdout
    assert len(list(exported.iterdir())) == 7
    persons = tmp_path / "persons.txt"
    persons.write_text("7\r\n\n8\n999\n")
    erased = on(database, "erase", "people", "--persons", str(persons))
    assert [line.split() for line in erased.stdout.splitlines()] == [
        ["rows", "removed", "2"],
        ["persons", "without", "rows", "1"],
        ["released", "in", "releases/1"],
    ]
    assert on(database, "truncate", "people").stdout == f"{samples.ROWS - 2} rows removed.\n"
    with duckdb.connect(database, read_only=True) as connection:
        assert connection.sql("SELECT mode, owner FROM tableveil.loads").fetchall() == [("REPLACE", "admin")]
    entries = [json.loads(line) for line in database.with_name("new.duckdb.audit.jsonl").read_text().splitlines()]
    by = {(entry["principal"], entry["authenticated_by"]) for entry in entries if entry.get("method")}
    assert by == {("admin", "FILE")}


def test_files_that_are_not_there_or_taken(database: Path) -> None:
    assert on(database, "releases").exit_code == 2
    assert not database.exists()
    samples.create(database, people=samples.PEOPLE)
    with_both = tableveil("releases", "--database", str(database), server="127.0.0.1:1")
    assert "name a --server, or the --database" in with_both.stderr
    missing = on(database, "export", "7", "--output", "exported")
    assert missing.exit_code == 8, missing.stderr
