"""Retries of loads whose rows were replaced, and releases that are bound to a load: no release of the wrong month."""

import json
from collections.abc import Callable
from pathlib import Path

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


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes the rows of a query to a file."""

    def written(name: str, query: str) -> str:
        duckdb.sql(f"COPY ({query}) TO '{tmp_path / name}.parquet'")
        return str(tmp_path / f"{name}.parquet")

    return written


def load(command: Command, month: str, table: str, *options: str) -> Outcome:
    return command("load", month, table, "--request-id", f"load {month} into {table}", *options)


def loaded(command: Command, month: str, table: str, *options: str) -> str:
    """The name of a load that is made, or was made."""
    done = load(command, month, table, "--json", *options)
    assert done.exit_code == 0, done.stderr
    return str(done.documents[0]["load"]["name"])


def submit(command: Command, table: str, *names: str, query: str = "") -> Outcome:
    source = ("--set", f"source_query={json.dumps(query)}", "--set", "source.table=null") if query else ()
    bound = [word for name in names for word in ("--source-load", name)]
    return command(
        *("submit", "--wait", "policy", "--source", table, *bound, *source),
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
    # A policy that is used again is for other rows.
    for kept in (text, command("show", "releases/" + done.documents[-1]["release"]["name"][9:], "--policy").stdout):
        assert f"bound to {first}. Bind it anew" in kept
        assert kept.count("load") == kept.splitlines()[0].count("load")
    again = command("sql", "-c", text.replace("alone", "stated"), "--json")
    assert again.documents[-1]["release"]["policy"]["source"]["load"] == ""
    for named, field in ((f"load: {first}", "load"), (f"loads: [{first}]", "loads[0]")):
        outcome = command("submit", "policy", "--set", f"population={{table: {{table: east, {named}}}}}")
        assert (outcome.exit_code, f"population.table.{field}" in outcome.stderr) == (2, True)


QUERY = 'SELECT p.* FROM january p JOIN "Its wards" w ON p.ward = w.ward'


def test_a_query_is_bound_to_the_loads_of_its_tables(command: Command, rows: Callable[[str, str], str]) -> None:
    """A loads January, B loads February, and the release that A submits then is refused."""
    wards = rows("wards", "SELECT unnest(['east', 'west']) AS ward")
    january = loaded(command, "a", "january", "--replace")
    ward = str(command("load", wards, "Its wards", "--json").documents[0]["load"]["name"])
    other = loaded(command, "a", "elsewhere")
    done = submit(command, "january", january, ward, query=QUERY)
    assert done.exit_code == 0, done.stderr
    assert f"{january}, {ward}" in " ".join(done.stdout.split())
    assert "No load binds" not in done.stdout
    # One of two is bound: the account names the other, as it does where nobody looks.
    done = submit(command, "january", ward, query=QUERY)
    assert "No load binds 'main.january': rows" in " ".join(done.stdout.split()), done.stdout + done.stderr
    held = command("check-policy", "policy", "--source", "january", "--fail-on", "decide")
    assert "No load binds 'main.january': rows" in " ".join((held.stdout + held.stderr).split())
    for names, says in (
        ((january, other), "source.loads[0]"),
        ((other,), "a load of 'main.Its wards' or 'main.january'"),
        ((january, january), "once more"),
        ((january, "loads/999"), "source.loads[0]"),
        ((january, "releases/1"), "source.loads[0]"),
    ):
        wrong = submit(command, "january", *names, query=QUERY)
        assert (wrong.exit_code, says in " ".join(wrong.stderr.split())) == (2, True), wrong.stderr
    february = loaded(command, "b", "january", "--replace")
    late = submit(command, "january", ward, january, query=QUERY)
    refused(late, "source.loads[0]", f"{january}, whose rows {february} replaced")
    both = submit(command, "january", january, february, query=QUERY)
    assert both.exit_code in (2, 6)
    assert submit(command, "january", february, ward, query=QUERY).exit_code == 0
    text = command("sql", "-c", "SHOW CREATE ANONYMIZED TABLE january_released").stdout
    assert f"bound to {february}, {ward}. Bind it anew" in text
    again = command("sql", "-c", "REFRESH ANONYMIZED TABLE january_released", "--json")
    assert "load" not in json.dumps(again.documents[-1]["release"]["policy"].get("source", {}))
