"""`--dry-run` at the command line: people read what a policy would release, and nothing was released."""

import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from tableveil.cli.main import cli
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve


@pytest.mark.long
def test_submit_and_run(serve: Serve, tmp_path: Path) -> None:
    database, file = tmp_path / "clinic.duckdb", tmp_path / "policy.json"
    samples.create(database, people=samples.PEOPLE)
    file.write_text(json.dumps(samples.policy()))
    server = serve(database)
    told = tableveil("submit", str(file), "--dry-run", "--wait", server=server.address)
    assert told.exit_code == 0, told.stderr
    assert told.stdout.startswith("dryRuns/1  clinic.main.people, nothing was released\n")
    for heading in ("Result", "Attributes", "Risk of being re-identified", "Proof"):
        assert f"\n{heading}\n" in told.stdout
    assert "SELECT" not in told.stdout
    *_, rows = told.stdout.partition(" of the rows\n")
    assert 10 < len(rows.splitlines()) <= 21, "a line for the columns, and one for each row"
    assert tableveil("show", "dryRuns/1", server=server.address).stdout == told.stdout
    # Where it says that there is more, there is.
    assert "tableveil show dryRuns/1 --privacy" in told.stdout
    assert "delta disclosure" in tableveil("show", "dryRuns/1", "--privacy", server=server.address).stdout
    assert tableveil("releases", server=server.address).stdout == "No releases yet.\n"
    assert server.terminate() == 0
    ran = CliRunner().invoke(cli, ["run", str(file), "--database", str(database), "--dry-run", "--json"])
    assert ran.exit_code == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1])["dry_run"]["name"] == "dryRuns/2"
    with duckdb.connect(str(database), read_only=True) as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall()
    assert names == [("people",)]


def test_advice_about_a_release(serve: Serve, tmp_path: Path) -> None:
    database, file = tmp_path / "clinic.duckdb", tmp_path / "policy.json"
    samples.create(database, people=samples.PEOPLE)
    file.write_text(json.dumps(samples.policy()))
    server = serve(database)
    assert tableveil("submit", str(file), "--wait", server=server.address).exit_code == 0
    advised = tableveil("show", "releases/1", "--advice", server=server.address)
    assert advised.exit_code == 0, advised.stderr
    made = json.loads(tableveil("show", "dryRuns/1", "--json", server=server.address).stdout)["dry_run"]["release"]
    for warning in made.get("warnings", ["There is nothing to advise."]):
        assert warning in " ".join(advised.stdout.split())
    file.write_text(json.dumps(samples.policy() | {"local_recoding": {}}))
    tried = tableveil("submit", str(file), "--dry-run", "--wait", server=server.address)
    assert tried.exit_code == 0, tried.stderr
    _, table = tried.stdout.split("\nAlso reached, with little work\n")
    assert table.startswith("  k  limit  suppressed  score ")
