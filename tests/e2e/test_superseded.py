"""Retries of loads whose rows were replaced, and releases that are bound to a load: no release of the wrong month."""

from __future__ import annotations

import json
from collections.abc import Callable

import duckdb
import pytest

from tests.e2e import samples
from tests.e2e.commands import Outcome, tableveil
from tests.e2e.process import Serve

Command = Callable[..., Outcome]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory, serve_all_along: Serve) -> Command:
    """Runs commands on a new database, beside which are two months of rows and a policy."""
    directory = tmp_path_factory.mktemp("months")
    for month, years in (("a", 0), ("b", 1)):
        rows = f"SELECT * REPLACE (age + {years} AS age) FROM ({samples.PEOPLE})"
        duckdb.sql(f"COPY ({rows}) TO '{directory / month}.parquet'")
    (directory / "policy.json").write_text(json.dumps(samples.policy(repeat_reason="a test")))
    (directory / "persons").write_text("7\n")
    samples.create(directory / "months.duckdb")
    server = serve_all_along(directory / "months.duckdb")
    files = {"a": "a.parquet", "b": "b.parquet", "policy": "policy.json", "persons": "persons"}

    def run(*arguments: str) -> Outcome:
        named = [str(directory / files[one]) if one in files else one for one in arguments]
        return tableveil(*named, server=server.address)

    return run


def load(command: Command, month: str, table: str, *options: str) -> Outcome:
    return command("load", month, table, "--request-id", f"load {month} into {table}", *options)


def loaded(command: Command, month: str, table: str, *options: str) -> str:
    """The name of a load that is made, or was made."""
    done = load(command, month, table, "--json", *options)
    assert done.exit_code == 0, done.stderr
    return str(done.documents[0]["load"]["name"])


def submit(command: Command, table: str, name: str) -> Outcome:
    return command(
        *("submit", "--wait", "policy", "--source", table, "--source-load", name),
        *("--release-name", f"{table}_released", "--set", "release.if_exists=REPLACE"),
    )


def refused(outcome: Outcome, *says: str) -> None:
    said = " ".join(outcome.stderr.split())
    assert (outcome.exit_code, "LOAD_SUPERSEDED" in said) == (6, True), said
    assert all(text in said for text in says), said


def test_a_retry_does_not_release_another_month(command: Command) -> None:
    first = loaded(command, "a", "people", "--replace")
    assert "nothing was loaded now" in load(command, "a", "people", "--replace").stdout
    second = loaded(command, "b", "People", "--replace")
    replaced = f"{first}, whose rows {second} replaced: that load stands"
    refused(load(command, "a", "people", "--replace"), replaced)
    # The pipeline of the first month may be past its load already.
    refused(submit(command, "people", first), replaced)
    assert submit(command, "people", second).exit_code == 0
    stated = command("show", "1", "--policy", "--json").documents[0]["policy"]["source"]
    assert stated["load"] == second
    refreshed = command("sql", "-c", "REFRESH ANONYMIZED TABLE people_released", "--json").documents[-1]["release"]
    assert refreshed["policy"]["source"]["load"] == ""


def test_appended_erased_and_removed_rows(command: Command) -> None:
    first = loaded(command, "a", "ward")
    erased = command("erase", "ward", "--person-column", "id", "--persons", "persons")
    assert erased.exit_code == 0, erased.stderr
    assert loaded(command, "a", "ward") == first
    assert submit(command, "ward", first).exit_code == 0
    second = loaded(command, "b", "ward", "--append")
    assert loaded(command, "a", "ward") == first
    refused(submit(command, "ward", first), f"to whose table {second} appended rows")
    assert command("truncate", "ward").exit_code == 0
    for again in (load(command, "a", "ward"), load(command, "b", "ward", "--append"), submit(command, "ward", second)):
        refused(again, "whose table was emptied since")


def test_a_load_that_is_bound_to(command: Command) -> None:
    first, other = loaded(command, "a", "east"), loaded(command, "a", "west")
    for wrong in ("loads/999", "releases/1", "0", other):
        outcome = submit(command, "east", wrong)
        assert (outcome.exit_code, "source.load" in outcome.stderr) == (2, True), outcome.stderr
    # The load alone names the table.
    options = ("--release-name", "alone", "--set", f"source={{load: {first}}}")
    done = command("submit", "--wait", "policy", *options, "--json")
    assert done.exit_code == 0, done.stderr
    assert done.documents[-1]["release"]["source"]["table"] == "east"
    text = command("sql", "-c", "SHOW CREATE ANONYMIZED TABLE alone").stdout
    assert f"source = {{load: '{first}'}}" in text
    again = command("sql", "-c", text.replace("alone", "stated"), "--json")
    assert again.documents[-1]["release"]["policy"]["source"]["load"] == first
    for elsewhere in (f"population={{table: {{table: east, load: {first}}}}}",):
        outcome = command("submit", "policy", "--set", elsewhere)
        assert (outcome.exit_code, "population.table.load" in outcome.stderr) == (2, True)
