"""The functions of analysts in PostgreSQL answer as the macros of DuckDB do."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tableveil.answers import MACROS
from tableveil.answers.postgresql import statements
from tests.once import once
from tests.postgresql import Cluster, rows
from tests.sql.answers.generalized import COLUMNS, STEPS, fill
from tests.sql.answers.test_macros import number

LABEL = "label, label_from, label_to"
PARTS = {"tv_mean": ("estimated", "low", "high", "open_ends"), "tv_min": ("low", "high"), "tv_max": ("low", "high"),
         "tv_median": ("low", "high"), "tv_quantile": ("low", "high"),
         "tv_count_between": ("certain", "possible", "estimated"),
         "tv_share_between": ("certain", "possible", "estimated")}  # fmt: skip

Ask = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def url(postgresql: Cluster) -> str:
    """A database with the functions, made twice as by two releases."""
    from adbc_driver_postgresql import dbapi

    url = postgresql.new_database()
    with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in [*statements('"public"'), *statements('"public"')]:
            cursor.execute(statement)
    return url


@pytest.fixture(params=once(COLUMNS, 2), scope="module")
def both(request: pytest.FixtureRequest, url: str) -> Iterator[tuple[str, Ask, Ask]]:
    """A kind of columns, and the same records of it in DuckDB and in PostgreSQL."""
    from adbc_driver_postgresql import dbapi

    kind = str(request.param)
    with duckdb.connect() as connection, dbapi.connect(url, autocommit=True) as other, other.cursor() as cursor:
        for macro in MACROS:
            connection.execute(macro.created())
        fill(connection, COLUMNS[kind], 7)
        records: pa.Table = connection.sql("FROM released").to_arrow_table()
        cursor.adbc_ingest("released", records, mode="replace")

        def ask(statement: str) -> list[tuple[Any, ...]]:
            cursor.execute(statement)
            return list(cursor.fetchall())

        yield kind, lambda statement: connection.execute(statement).fetchall(), ask


def same(one: object, other: object) -> bool:
    if one is None or other is None or isinstance(one, str):
        return one == other
    return number(one) == pytest.approx(number(other), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("function", PARTS)
def test_aggregates_answer_as_macros_do(both: tuple[str, Ask, Ask], function: str) -> None:
    kind, here, there = both
    random, at = Random(1), COLUMNS[kind].at
    for _ in range(8 if "between" in function or function == "tv_quantile" else 1):
        low, high = sorted(random.randrange(-5, STEPS + 5) for _ in range(2))
        ends = random.choice([(low, high), (low, None), (None, high), (None, None)])
        limits = ", ".join("NULL" if end is None else f"'{at(end)}'" for end in ends)
        fraction = f", {random.choice([0, 0.05, 0.25, 0.9, 0.95, 1])}" if function == "tv_quantile" else ""
        call = f"{function}({LABEL}{', ' + limits if 'between' in function else fraction})"
        asked = ", ".join(f"({call}).{part}" for part in PARTS[function])
        groups = "CASE WHEN record % 20 < 15 THEN record % 20 END"
        statement = f"SELECT {groups} AS part, {asked} FROM released GROUP BY {groups} ORDER BY 1 NULLS FIRST"
        expected, found = here(statement), there(statement)
        assert len(found) == 16
        assert all(same(*pair) for row in zip(expected, found, strict=True) for pair in zip(*row, strict=True))


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT tv_count_between('x', date '2024-01-01', date '2024-01-02', timestamp '2024-01-01 10:00', NULL)",
         "time of day"),
        ("SELECT tv_quantile('x', 1::bigint, 2::bigint, 1.5)", "fraction: expected a number from 0 to 1"),
        ("SELECT tv_quantile('x', 1::bigint, 2::bigint, NULL)", "fraction: expected a number from 0 to 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused(url: str, statement: str, told: str) -> None:
    from adbc_driver_postgresql import dbapi

    with pytest.raises(dbapi.Error, match=told):
        rows(url, statement)


def test_limits_may_differ_in_a_group(url: str) -> None:
    counted = "SELECT (tv_count_between(l, 1::bigint, 2::bigint, v, NULL)).certain FROM (VALUES ('a', 1), ('b', 2))"
    assert rows(url, f"{counted} AS r(l, v)") == [(1,)]


def test_a_column_may_have_thousands_of_labels(url: str) -> None:
    """The time grows with the records, and not with the labels as well."""
    numbers = "SELECT '[' || i || ']' AS l, i AS f, i + 1 AS t FROM generate_series(1, 20000) AS r(i)"
    asked = "(tv_mean(l, f, t)).low, (tv_max(l, f, t)).high, (tv_count_between(l, f, t, 5001, NULL)).certain"
    asked += ", (tv_median(l, f, t)).low, (tv_quantile(l, f, t, 0.9)).high"
    with_types = f"SELECT l, f::bigint, t::bigint FROM ({numbers}) AS n"
    assert rows(url, f"SELECT {asked} FROM ({with_types}) AS r") == [(10000.5, 20001, 15000, 10000, 18002)]


def test_nothing_is_known_of_nothing(url: str) -> None:
    none = "FROM (SELECT NULL::text AS l, NULL::bigint AS f, NULL::bigint AS t) AS r"
    assert rows(url, f"SELECT (tv_count_between(l, f, t, 1, 2)).certain, (tv_max(l, f, t)).high {none}") == [(0, None)]
    assert rows(url, f"SELECT (tv_mean(l, f, t)).open_ends, (tv_median(l, f, t)).low {none} WHERE false") == [(0, None)]
