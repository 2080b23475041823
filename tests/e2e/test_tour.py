"""Walks the README's tour with the commands as they are typed: demo, serve, submit, look, export, query."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tableveil.client import Client
from tableveil.document import load_policy
from tests.e2e.forked import Command
from tests.e2e.process import Serve

ROWS = 5_000


class Shell:
    """Runs `tableveil` as a process in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment: dict[str, str] = {}

    def __call__(self, *arguments: str, exit_code: int = 0) -> str:
        """What it prints; both streams, as a terminal shows them."""
        code, said = Command(*arguments, directory=self.directory, environment=self.environment).ended()
        assert code == exit_code, said
        return said


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("tour"))


def test_the_demo(shell: Shell) -> None:
    said = shell("demo", "--rows", str(ROWS))
    for words in ("releases/1", "5-anonymity", "optimal", "Risk of being re-identified", f"{ROWS:,}"):
        assert words in said
    demo = shell.directory / "tableveil-demo"
    with duckdb.connect(demo / "released.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) > 4000 FROM discharges_released").fetchone() == (True,)
    assert not list(demo.glob(".*.spill")), "raw data stays nowhere but in the database"


def test_by_hand(shell: Shell, serve: Serve) -> None:
    demo = shell.directory / "tableveil-demo"
    server = serve(demo / "clinic.duckdb")
    shell.environment["TABLEVEIL_SERVER"] = server.address

    said = shell("submit", "tableveil-demo/policy.yaml", "--wait", exit_code=6)
    assert "TARGET_EXISTS" in said

    text = (demo / "policy.yaml").read_text().replace("k: 5", "k: 10").replace("_released", "_planning")
    planning = shell.directory / "planning.yaml"
    planning.write_text(text)
    assert "repeat_reason" in shell("submit", "planning.yaml", exit_code=2)
    planning.write_text(f"{text}\nrepeat_reason: weekly extract for the planning office\n")
    assert shell("check-policy", "planning.yaml") == "Nothing is wrong with the policy.\n"
    said = shell("submit", "planning.yaml", "--wait")
    assert "jobs/2 succeeded" in said
    assert "10-anonymity" in said

    assert shell("watch", "jobs/2").splitlines()[0] == "jobs/2 succeeded"
    assert [line.split()[:2] for line in shell("jobs").splitlines()[1:]] == [
        ["jobs/2", "succeeded"],
        ["jobs/1", "succeeded"],
    ]
    assert [line.split()[0] for line in shell("releases").splitlines()[1:]] == ["releases/2", "releases/1"]
    assert shell("show", "releases/2") in said
    listed = json.loads(shell("releases", "--json"))["releases"]
    assert [release["name"] for release in listed] == ["releases/2", "releases/1"]

    shell("export", "releases/2", "--output", "planning.duckdb")
    shell("export", "releases/2", "--output", "planning", "--format", "parquet")
    with duckdb.connect(shell.directory / "planning.duckdb", read_only=True) as connection:
        exported = connection.table("discharges_planning").to_arrow_table()
    assert pq.read_table(shell.directory / "planning" / "discharges_planning.parquet").equals(exported)

    policy, faults = load_policy(planning)
    assert not faults
    with Client(server.address) as client:
        assert client.read_table("releases/2", "discharges_planning").equals(exported)
        policy.release.name = "discharges_again"
        job = client.wait(client.submit(policy, shell.directory).name)
        assert client.read_table(job.release, "discharges_again").equals(exported)

    assert server.terminate() == 0
    shell("jobs", exit_code=5)
