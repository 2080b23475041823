"""The spread of numbers from an estimated table: published, asked at an endpoint, beside what is true."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from tableveil.backend import Database, Settings
from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.main import cli
from tableveil.publishing import DirectoryTarget
from tableveil.state.releases import Release
from tests.migrated import opened
from tests.service.endpoint.published import KnownReaders, connected, serving
from tests.service.jobs.test_estimates import LOCAL, people
from tests.service.jobs.test_questions import publish

Ask = Callable[..., Result]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, run: Callable[..., Release]) -> Path:
    place = tmp_path_factory.mktemp("spread")
    (place / "published").mkdir()
    for database in opened(place / "test.duckdb"):
        with database.session() as session:
            people(session)
        run(database, LOCAL)
    database = Database(Settings(place / "test.duckdb", threads=1, directories=(place / "published",)))
    publish(database, DirectoryTarget(place / "published"))
    database.close()
    return place


@pytest.fixture(scope="module")
def ask(place: Path) -> Iterator[Ask]:
    with serving(place, KnownReaders(ann={1})) as endpoint:
        address = endpoint.uri.partition("://")[2]

        def asked(statement: str, *options: str) -> Result:
            environment = {"TABLEVEIL_TOKEN": "ann"}
            return CliRunner().invoke(cli, ["query", statement, "--endpoint", address, *options], env=environment)

        yield asked


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def truth(place: Path, statement: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(place / "test.duckdb", read_only=True) as connection:
        return connection.execute(statement).fetchall()


def test_tables_are_listed_once(place: Path, ask: Ask) -> None:
    assert sum("estimated" in str(row) for row in rows(ask("SHOW TABLES", "--json"))) == 1
    with duckdb.connect(place / "published" / "releases-1.duckdb", read_only=True) as connection:
        listed = [name for (name,) in connection.execute("SHOW TABLES").fetchall()]
        assert [name for name in listed if "estimated" in name] == ["out_estimated"]
        assert connection.execute("SELECT count(*) FROM tableveil_5.out_estimated").fetchall() == [(2_000,)]


def test_rows_of_parameters_have_a_spread_each(place: Path) -> None:
    statement = "SELECT count(*) AS n, ? AS least FROM out_estimated WHERE age >= ?"
    header = {"adbc.flight.sql.rpc.call_header.tableveil-spread": "true"}
    with (
        serving(place, KnownReaders(ann={1})) as endpoint,
        connected(endpoint, **header) as ann,
        ann.cursor() as cursor,
    ):
        answers = []
        for ages in ([42, 70], [42], [70], []):
            cursor.execute(statement, pa.table([pa.array(ages, pa.int64())] * 2, ["a", "b"]))
            answers.append(cursor.fetch_arrow_table().to_pylist())
    both, young, old, nobody = answers
    assert both == young + old
    assert list(young[0]) == ["n", "n ±", "least", "least ±"]
    assert nobody == []


def test_spreads_hold_the_truth(place: Path, ask: Ask) -> None:
    statement = "SELECT town, count(*) AS n, avg(age) AS mean FROM {} WHERE age >= 42 GROUP BY town ORDER BY town"
    answered = {row["town"]: row for row in rows(ask(statement.format("out_estimated"), "--spread", "--json"))}
    for town, n, mean in truth(place, statement.format("people")):
        row = answered[town]
        assert abs(row["n"] - n) <= max(row["n ±"], 2)
        assert abs(row["mean"] - mean) <= max(row["mean ±"], 1)
    assert "what reasonable assumptions differ by" in ask(statement.format("out_estimated"), "--spread").stderr


def test_the_first_rows_of_one_assumption_are_looked_up_in_all_of_the_others(ask: Ask) -> None:
    grouped = "SELECT age // 10 AS decade, count(*) AS n FROM out_estimated GROUP BY decade ORDER BY n DESC"
    whole, first = (rows(ask(statement, "--spread", "--json")) for statement in (grouped, f"{grouped} LIMIT 2"))
    assert first == whole[:2]
    assert all(isinstance(row["decade"], int) and row["n ±"] is not None for row in first)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) AS n FROM out_estimated WHERE age < 30",
        "SELECT round(avg(age), 1) AS n, max(town) AS t FROM out_estimated",
        "WITH old AS (FROM out_estimated WHERE age > 60) SELECT town, sum(cost) AS n FROM old GROUP BY ALL",
        "SELECT town, n FROM (SELECT town, count(*) AS n FROM out_estimated GROUP BY 1)",
        "SELECT e.town AS t, count(*) AS n FROM main.out_estimated e JOIN out_classes USING (class_id) GROUP BY e.town",
    ],
)
def test_numbers_get_a_spread(ask: Ask, statement: str) -> None:
    for row in rows(ask(statement, "--spread", "--json")):
        assert isinstance(row["n"], float)
        assert isinstance(row["n ±"], float)


@pytest.mark.parametrize(
    "statement",
    [
        "FROM out_estimated",
        "SELECT age FROM out_estimated ORDER BY age LIMIT 5",
        "SELECT count(*) FROM out",
        "SUMMARIZE out_estimated",
        "SELECT count(*) AS n FROM out_estimated GROUP BY town",
    ],
)
def test_it_says_where_there_is_none(ask: Ask, statement: str) -> None:
    refused = ask(statement, "--spread")
    assert refused.exit_code == ExitCode.INVALID, refused.output
    assert "NO_SPREAD" in refused.stderr


def test_a_group_that_an_assumption_has_not_is_counted_as_none(ask: Ask) -> None:
    counts = "SELECT age, count(*) AS n, avg(cost) AS c FROM out_estimated GROUP BY age ORDER BY age"
    assert all(row["n"] >= 0 and row["n ±"] is not None for row in rows(ask(counts, "--spread", "--json")))


def test_without_the_wish_a_statement_is_answered_as_ever(ask: Ask) -> None:
    assert list(rows(ask("SELECT count(*) AS n FROM out_estimated", "--json"))[0]) == ["n"]
