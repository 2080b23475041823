"""The questions of docs/analysts.md have the same answers in the database, at an endpoint, and in PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tableveil.backend import Database, Settings
from tableveil.publishing import DirectoryTarget, Target, read_edition
from tableveil.publishing.postgresql import PostgresqlTarget
from tableveil.state.releases import Release
from tests.migrated import opened
from tests.postgresql import rows
from tests.service.endpoint.published import KnownReaders, connected, serving
from tests.service.jobs.test_labels import POLICY, QUESTIONS, create

Rows = list[tuple[Any, ...]]
Ask = Callable[[str], Rows]

NUMBER = re.compile(r"-?\d+(\.\d+)?")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory, run: Callable[..., Release]) -> Iterator[Database]:
    """A database with one release, which may write the directory `published` beside it."""
    place = tmp_path_factory.mktemp("questions")
    for database in opened(place / "test.duckdb"):
        with database.session() as session:
            create(session)
        run(database, POLICY)
    (place / "published").mkdir()
    database = Database(Settings(place / "test.duckdb", threads=1, directories=(place / "published",)))
    yield database
    database.close()


@pytest.fixture(scope="module")
def here(released: Database) -> Iterator[Ask]:
    with released.session() as session:
        yield session.rows


@pytest.fixture(scope="module")
def endpoint(released: Database) -> Iterator[Ask]:
    place = released.path.parent
    publish(released, DirectoryTarget(place / "published"))
    with serving(place, KnownReaders(ann={1})) as served, connected(served) as connection:

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
    """The value as all three give it: numbers differ in their types and in their last digits."""
    return float(f"{float(str(value)):.12g}") if NUMBER.fullmatch(str(value)) else value


def test_the_guide_has_ten_questions() -> None:
    assert len(QUESTIONS) == 10


@pytest.mark.parametrize("place", ["endpoint", "warehouse"])
@pytest.mark.parametrize("number", range(1, 11))
def test_questions_have_the_same_answers_everywhere(
    here: Ask, request: pytest.FixtureRequest, place: str, number: int
) -> None:
    question = QUESTIONS[number - 1]
    ordered = list if "ORDER BY" in question else sorted
    expected, found = (
        ordered(tuple(map(comparable, row)) for row in ask(question)) for ask in (here, request.getfixturevalue(place))
    )
    assert expected
    assert found == expected
