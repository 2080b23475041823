"""`--dry-run` at the command line: people read what a policy would release, and nothing was released."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
from click.testing import CliRunner

from tableveil.cli.main import cli
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve


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
    assert tableveil("show", "dryRuns/1", server=server.address).stdout == told.stdout
    assert tableveil("releases", server=server.address).stdout == "No releases yet.\n"
    assert server.terminate() == 0
    ran = CliRunner().invoke(cli, ["run", str(file), "--database", str(database), "--dry-run", "--json"])
    assert ran.exit_code == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1])["dry_run"]["name"] == "dryRuns/2"
    with duckdb.connect(str(database), read_only=True) as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall()
    assert names == [("people",)]
