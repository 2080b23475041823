"""The questions of docs/guides/analyst.md have right answers in files, at an endpoint, in Parquet, in PostgreSQL."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tableveil.backend import Database, Settings
from tableveil.console.questions import questions
from tableveil.policy import Policy
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.publishing import DirectoryTarget, Target, read_edition
from tableveil.publishing.parquet import ParquetTarget
from tableveil.publishing.postgresql import PostgresqlTarget
from tableveil.state.releases import Release
from tests.migrated import opened
from tests.once import once
from tests.postgresql import rows
from tests.service.endpoint.published import KnownReaders, connected, serving
from tests.service.jobs.test_labels import POLICY as LABELS
from tests.service.jobs.test_labels import create

Rows = list[tuple[Any, ...]]
Ask = Callable[[str], Rows]

ANALYSTS = Path(__file__).parents[3] / "docs" / "guides" / "analyst.md"
BEFORE, _, AFTER = ANALYSTS.read_text(encoding="utf-8").partition("## Ten questions")
INTERVALS, QUESTIONS = (re.findall(r"```sql\n(.*?)```", part, re.S) for part in (BEFORE, AFTER))
INTERVAL = next(each for each in INTERVALS if "tv_share_between" in each)
NUMBER = re.compile(r"-?\d+(\.\d+)?")
POLICY = replace(LABELS, release=replace(LABELS.release, estimates=True))
POLICIES = {
    # Its labels are of several levels, as those of no other kind are.
    "local": replace(
        POLICY,
        attributes=tuple(replace(attribute, minimum_level=0, maximum_level=None) for attribute in POLICY.attributes),
        methods=(LocalRecoding(),),
    ),
    "full-domain": POLICY,
}


@pytest.fixture(scope="module", params=once(POLICIES))
def policy(request: pytest.FixtureRequest) -> Policy:
    return POLICIES[request.param]


@pytest.fixture(scope="module")
def released(
    tmp_path_factory: pytest.TempPathFactory, run: Callable[..., Release], policy: Policy
) -> Iterator[Database]:
    """A database with one release, which may write the directory `published` beside it."""
    place = tmp_path_factory.mktemp("questions")
    for database in opened(place / "test.duckdb"):
        with database.session() as session:
            create(session)
        run(database, policy)
    (place / "published").mkdir()
    database = Database(Settings(place / "test.duckdb", threads=1, directories=(place / "published",)))
    yield database
    database.close()


@pytest.fixture(scope="module")
def file(released: Database) -> Iterator[Ask]:
    directory = released.path.parent / "published"
    publish(released, DirectoryTarget(directory))
    with duckdb.connect(directory / "releases-1.duckdb", read_only=True) as connection:
        yield lambda statement: connection.execute(statement).fetchall()


@pytest.fixture(scope="module")
def parquet(released: Database) -> Iterator[Ask]:
    """DuckDB on the Parquet files, with the functions of the file beside them."""
    directory = released.path.parent / "published" / "parquet"
    directory.mkdir(exist_ok=True)
    publish(released, ParquetTarget(directory))
    (link,) = [path for path in directory.iterdir() if path.is_symlink()]
    with duckdb.connect() as connection:
        connection.execute((link / "functions.sql").read_text(encoding="utf-8"))
        for path in link.glob("*.parquet"):
            connection.execute(f"CREATE VIEW {path.stem} AS FROM '{path}'")
        yield lambda statement: connection.execute(statement).fetchall()


@pytest.fixture(scope="module")
def endpoint(released: Database, file: Ask) -> Iterator[Ask]:
    with serving(released.path.parent, KnownReaders(ann={1})) as served, connected(served) as connection:

        def ask(statement: str) -> Rows:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall()

        yield ask


@pytest.fixture(scope="module")
def warehouse(released: Database, request: pytest.FixtureRequest) -> Ask:
    url = request.getfixturevalue("postgresql").new_database()
    publish(released, PostgresqlTarget(url))
    return lambda statement: rows(url, statement)


def publish(database: Database, target: Target) -> None:
    with database.session() as session:
        target.publish(session, lambda: read_edition(session, 1, lambda _: POLICY), lambda: None)


def comparable(value: object) -> object:
    """The value as all places give it: numbers differ in their types and in their last digits."""
    return float(f"{float(str(value)):.12g}") if NUMBER.fullmatch(str(value)) else value


def test_the_guide_has_ten_questions() -> None:
    assert len(QUESTIONS) == 10


@pytest.mark.parametrize("place", once(["parquet", "endpoint", "warehouse"]))
@pytest.mark.parametrize("number", range(1, 11))
def test_questions_have_the_same_answers_everywhere(
    file: Ask, request: pytest.FixtureRequest, place: str, number: int
) -> None:
    question = QUESTIONS[number - 1]
    ordered = list if "ORDER BY" in question else sorted
    expected, found = (
        ordered(tuple(map(comparable, row)) for row in ask(question)) for ask in (file, request.getfixturevalue(place))
    )
    assert expected
    assert found == expected


# --- other questions, as the endpoint's hints lead to them ------------------------------------------------------------

OTHERS = {
    "percentiles": "SELECT region, (tv_quantile(age, age_from, age_to, 0.9)).low, (tv_quantile(age, age_from, age_to, "
    "0.25)).high FROM discharges_released GROUP BY region ORDER BY region",
    "year over year": "WITH years (year, records) AS (SELECT extract(year FROM admitted), count(*) FROM "
    "discharges_released_estimated GROUP BY 1) SELECT year, records, records - lag(records) OVER (ORDER BY year) "
    "FROM years ORDER BY year",
    "cumulative by month": "SELECT CAST(date_trunc('month', admitted) AS date), sum(count(*)) OVER (ORDER BY "
    "date_trunc('month', admitted)) FROM discharges_released_estimated GROUP BY date_trunc('month', admitted) "
    "ORDER BY 1",
    "three per group": "SELECT region, diagnosis, mean FROM (SELECT region, diagnosis, avg(charge) AS mean, "
    "rank() OVER (PARTITION BY region ORDER BY avg(charge) DESC) AS place FROM discharges_released "
    "GROUP BY region, diagnosis) AS r WHERE place <= 3 ORDER BY region, mean DESC",
    "pyramid": "SELECT age, count(*) FILTER (WHERE region IN ('north', '*')), "
    "-count(*) FILTER (WHERE region IN ('south', '*')) FROM discharges_released GROUP BY age ORDER BY min(age_rank)",
    "groups of age": "SELECT CASE WHEN coalesce(age_to < 60, FALSE) THEN 'young' "
    "WHEN coalesce(age_from >= 60, FALSE) THEN 'old' ELSE 'unknown' END, count(*), avg(charge) "
    "FROM discharges_released GROUP BY 1 ORDER BY 1",
    "having": "SELECT diagnosis, (tv_mean(age, age_from, age_to)).low FROM discharges_released WHERE age <> '*' "
    "GROUP BY diagnosis HAVING (tv_mean(age, age_from, age_to)).low > 30 ORDER BY diagnosis",
    "ratio": "SELECT (tv_share_between(age, age_from, age_to, NULL, 19)).possible / "
    "(tv_share_between(age, age_from, age_to, 20, NULL)).certain FROM discharges_released",
    "pairs of one class": "SELECT count(*) FROM discharges_released AS a JOIN discharges_released AS b "
    "ON a.class_id = b.class_id WHERE a.diagnosis < b.diagnosis",
    "labels of known values": "WITH known (label, least, most) AS (VALUES ('north', 1::BIGINT, 3::BIGINT), "
    "('south', 4::BIGINT, 9::BIGINT), ('*', 1::BIGINT, 9::BIGINT)) "
    "SELECT (tv_mean(region, least, most)).low, (tv_max(region, least, most)).high, "
    "(tv_count_between(region, least, most, 3, 5)).possible FROM discharges_released JOIN known ON label = region",
}


@pytest.mark.parametrize("place", once(["parquet", "endpoint", "warehouse"]))
@pytest.mark.parametrize("question", OTHERS)
def test_other_questions_have_the_same_answers_everywhere(
    file: Ask, request: pytest.FixtureRequest, place: str, question: str
) -> None:
    expected, found = (
        [tuple(map(comparable, row)) for row in ask(OTHERS[question])] for ask in (file, request.getfixturevalue(place))
    )
    assert expected
    assert found == expected


# --- the answers are true of the source ------------------------------------------------------------------------------

KEPT = "(SELECT * FROM hidden_source WHERE age IS NOT NULL)"


@pytest.fixture(scope="module")
def source(released: Database, policy: Policy) -> Iterator[Ask]:
    with released.session() as session:
        yield session.rows


def suppressed(file: Ask) -> int:
    (found,) = file("SELECT value::BIGINT FROM discharges_released_about WHERE fact = 'suppressed_records'")[0]
    return int(found)


def test_every_record_is_in_one_group(file: Ask) -> None:
    ((records,),) = file("SELECT count(*) FROM discharges_released")
    for question in (QUESTIONS[0], QUESTIONS[1], QUESTIONS[6]):
        assert sum(row[-1] for row in file(question)) == records


def test_the_share_of_the_old_is_in_its_interval(file: Ask, source: Ask) -> None:
    ((certain, about, possible),) = file(INTERVAL)
    ((old, people),) = source(f"SELECT count(*) FILTER (WHERE age > 65), count(*) FROM {KEPT}")
    assert 0 < certain <= about <= possible < 1
    # The suppressed people may all be old, or all young.
    missing = suppressed(file)
    assert certain <= old / (people - missing)
    assert possible >= (old - missing) / people


def test_the_estimated_share_is_in_its_interval(file: Ask) -> None:
    ((certain, _, possible),) = file(INTERVAL)
    ((share,),) = file(QUESTIONS[2])
    assert certain <= share <= possible


# --- the statements that the console makes for a release --------------------------------------------------------------

MEANINGS = ("column_name", "type", "role", "describes", "unit", "estimated_share")
COLUMNS = f"SELECT {', '.join(MEANINGS)} FROM discharges_released_columns ORDER BY position"


def made(file: Ask) -> list[str]:
    meanings = [dict(zip(MEANINGS, row, strict=True)) for row in file(COLUMNS)]
    tables = (f"discharges_released{more}" for more in ("", "_columns", "_about", "_estimated"))
    rows, columns, about, estimated = (f'"main"."{name}"' for name in tables)
    return [question.statement for question in questions(rows, columns, about, meanings, estimated)]


@pytest.mark.long
def test_the_console_asks_ten_questions_that_the_endpoint_answers(file: Ask, endpoint: Ask) -> None:
    statements = made(file)
    assert len(statements) == 10
    for statement in statements:
        assert endpoint(statement), statement


def test_statements_of_the_console_count_every_record(file: Ask) -> None:
    ((records,),) = file("SELECT count(*) FROM discharges_released")
    totals = [sum(row[-1] for row in file(one)) for one in made(file) if "_estimated" in one and "AS records" in one]
    assert totals == [records] * 3


def test_without_estimates_the_console_asks_for_intervals(file: Ask) -> None:
    meanings = [dict(zip(MEANINGS, row, strict=True)) for row in file(COLUMNS)]
    statements = [one.statement for one in questions("discharges_released", "c", "a", meanings)]
    assert not any("_estimated" in one for one in statements)
    assert any("tv_share_between" in one for one in statements)


def test_a_release_of_other_columns_has_fewer_questions() -> None:
    """None of numbers or dates: names are quoted, whatever they are."""
    meanings = [{"column_name": 'a "b"', "type": "VARCHAR", "role": "QUASI_IDENTIFIER", "describes": None}]
    statements = [one.statement for one in questions("r", "c", "a", meanings)]
    assert len(statements) == 3
    assert 'r."a ""b"""' in statements[0]
