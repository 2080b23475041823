"""Random SELECTs of allowed shape give the rows that DuckDB finds in the file."""

from collections.abc import Iterator
from random import Random

import adbc_driver_flightsql.dbapi as flight_sql
import duckdb
import pytest

from tests.once import once
from tests.service.endpoint.published import KnownReaders, connected, publish, serving
from tests.service.endpoint.random_selects import TABLE, agree, random_select, rows_of

STATEMENTS = 25


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[flight_sql.Cursor, duckdb.DuckDBPyConnection]]:
    place = tmp_path_factory.mktemp("agreement")
    (place / "published").mkdir()
    file = publish(place / "published", 1, "main", {TABLE: rows_of(2000)})
    with (
        serving(place, KnownReaders(ann={1})) as endpoint,
        connected(endpoint) as connection,
        connection.cursor() as cursor,
        duckdb.connect(file, read_only=True) as direct,
    ):
        yield cursor, direct


@pytest.mark.parametrize("seed", once(range(STATEMENTS), 8))
def test_the_endpoint_agrees_with_duckdb(both: tuple[flight_sql.Cursor, duckdb.DuckDBPyConnection], seed: int) -> None:
    cursor, direct = both
    statement = random_select(Random(seed))
    cursor.execute(statement)
    assert agree(cursor.fetchall(), direct.execute(statement).fetchall()), statement


@pytest.mark.parametrize(
    "expression",
    ["TIMESTAMP '2024-01-02 03:04:05'::DATE", "DATE '2024-01-02'::VARCHAR", "- ~ 7", "2 // 1.5 ** ~ 7", ".5"],
)
def test_expressions_are_those_that_were_written(
    both: tuple[flight_sql.Cursor, duckdb.DuckDBPyConnection], expression: str
) -> None:
    cursor, direct = both
    statement = f"SELECT {expression}, typeof({expression})"
    cursor.execute(statement)
    assert cursor.fetchall() == direct.execute(statement).fetchall()


def test_other_rows_are_noticed() -> None:
    assert agree([(1, None), (2, None)], [(2, None), (1, None)])
    assert not agree([(1,), (1,)], [(1,)])
