"""Risk analyses on a running server: of a table and of a release, with the risks of each record."""

import json
from pathlib import Path

import pytest

from tableveil.client import Client
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, durable


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    samples.create(path, people=samples.PEOPLE)
    return path


@pytest.mark.long
def test_from_command_to_table(serve: Serve, database: Path) -> None:
    server = serve(database)
    names = [attribute["column"] for attribute in samples.policy()["attributes"] if "hierarchy" in attribute]
    records = database.with_name("risks.csv")
    options = ("--quasi-identifiers", ",".join(names), "--population-size", "5000", "--records", str(records))
    outcome = tableveil("risk", "people", *options, server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.splitlines()[0] == "riskAnalyses/1"
    assert outcome.stdout == tableveil("show", "riskAnalyses/1", server=server.address).stdout
    mistyped = tableveil("risk", "main.people", "--quasi-identifiers", f"{names[0]}x", server=server.address)
    assert (mistyped.exit_code, mistyped.stdout) == (8, "")
    assert f"Did you mean '{names[0]}'" in mistyped.stderr
    with Client(server.address) as client:
        release = client.get_release(client.wait(client.submit(samples.message(samples.policy())).name).result)
    of_release = tableveil("risk", release.name, "--json", server=server.address)
    analysis = json.loads(of_release.stdout.splitlines()[-1])["risk_analysis"]
    highest = next(
        m["value"] for m in analysis["measures"] if (m["model"], m["measure"]) == ("prosecutor", "highest_risk")
    )
    assert highest == release.risk_after.highest
    assert int(analysis["records"]) == release.records - release.suppressed_records
    assert server.terminate() == 0
    quoted = ", ".join(f'"{name}"' for name in names)
    with durable(database) as connection:
        classes = connection.execute(f"SELECT {quoted}, count(*) FROM people GROUP BY ALL").fetchall()
        kept = connection.execute(f"SELECT {quoted}, records FROM tableveil.record_risks_1").fetchall()
        assert sorted(map(repr, kept)) == sorted(map(repr, classes))
        assert connection.execute("SELECT classes FROM tableveil.risk_analyses WHERE number = 1").fetchone() == (
            len(classes),
        )
    assert len(records.read_text().splitlines()) == len(classes) + 1
