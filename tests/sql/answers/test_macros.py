"""The functions of analysts: their intervals hold the truth, and estimates lie within them."""

import datetime
from collections.abc import Iterator
from random import Random
from typing import Any

import duckdb
import pytest

from tableveil.answers import MACROS
from tests.once import once
from tests.sql.answers.generalized import COLUMNS, STEPS, fill

LABEL = "label, label_from, label_to"


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for macro in MACROS:
            connection.execute(macro.created())
        yield connection


def one(connection: duckdb.DuckDBPyConnection, statement: str, *values: object) -> Any:
    (row,) = connection.execute(statement, list(values)).fetchall()
    return row if len(row) > 1 else row[0]


def number(value: Any) -> float | None:
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    if isinstance(value, datetime.date):
        return datetime.datetime.combine(value, datetime.time()).timestamp()
    return None if value is None else float(value)


def holds(low: Any, truth: Any, high: Any) -> bool:
    """Whether an interval holds the truth; NULL is no end. Sums of floats may differ in their last digits."""
    least, found, most = map(number, (low, truth, high))
    assert found is not None
    slack = 1e-9 * max(1.0, abs(found))
    return (least is None or least <= found + slack) and (most is None or most >= found - slack)


@pytest.mark.parametrize("seed", once(range(25), 2))
@pytest.mark.parametrize("kind", COLUMNS)
def test_intervals_hold_the_truth(connection: duckdb.DuckDBPyConnection, kind: str, seed: int) -> None:
    column, random = COLUMNS[kind], Random(seed)
    fill(connection, column, seed)
    # Small groups have no open end now and then, so that their intervals have both ends.
    parts = [f"(SELECT * FROM released WHERE record % 20 = {i})" for i in random.sample(range(20), 3)]
    for rows in ("released", *parts):
        low, high = sorted(column.at(random.randrange(-5, STEPS + 5)) for _ in range(2))
        require_truth(connection, rows, *random.choice([(low, high), (low, None), (None, high), (low, low)]))


def require_truth(connection: duckdb.DuckDBPyConnection, rows: str, low: Any, high: Any) -> None:
    """All functions of some rows hold what is true of them."""

    def ask(asked: str, *values: object) -> Any:
        return one(connection, f"SELECT {asked} FROM {rows}", *values)

    within = "coalesce(truth >= ?, truth IS NOT NULL) AND coalesce(truth <= ?, truth IS NOT NULL)"
    number, of = ask(f"count(*) FILTER (WHERE {within}), count(label)", low, high)
    counted = ask(f"tv_count_between({LABEL}, ?, ?)", low, high)
    assert counted["certain"] <= number <= counted["possible"]
    if counted["estimated"] is not None:
        assert counted["certain"] <= counted["estimated"] <= counted["possible"]
    shared = ask(f"tv_share_between({LABEL}, ?, ?)", low, high)
    assert of == 0 or holds(shared["certain"], number / of, shared["possible"])
    if ask("count(truth)") == 0:
        return
    mean = ask(f"tv_mean({LABEL})")
    assert holds(mean["low"], ask("avg(truth)"), mean["high"])
    assert mean["estimated"] is None or holds(mean["low"], mean["estimated"], mean["high"])
    for name in ("min", "max", "median"):
        found = ask(f"tv_{name}({LABEL})")
        assert holds(found["low"], ask(f"{name}(truth)"), found["high"]), name
    for fraction in (0, 0.1, 0.25, 0.9, 1):
        found = ask(f"tv_quantile({LABEL}, {fraction})")
        for name in ("quantile_cont", "quantile_disc"):
            assert holds(found["low"], ask(f"{name}(truth, {fraction})"), found["high"]), (name, fraction)
    assert ask(f"tv_quantile({LABEL}, 0.5)") == ask(f"tv_median({LABEL})")


# --- what is defined -------------------------------------------------------------------------------------------------


def people(connection: duckdb.DuckDBPyConnection, *labels: tuple[str | None, int | None, int | None]) -> None:
    connection.execute("CREATE TABLE released (label VARCHAR, label_from BIGINT, label_to BIGINT)")
    connection.executemany("INSERT INTO released VALUES (?, ?, ?)", labels)


AGES = (("[20, 29]", 20, 29), ("[60, 69]", 60, 69), (">= 90", 90, None), ("*", None, None), (None, None, None))


@pytest.mark.parametrize(
    ("low", "high", "certain", "possible", "estimated"),
    [
        ("66", "NULL", 1, 3, 4 * (0.4 + 1) / 3),
        ("NULL", "65", 1, 3, 4 * 1.6 / 3),
        ("20", "29", 1, 2, 4 / 3),
        ("95", "99", 0, 2, 0),
        # `*` may stand for a value that is missing, which lies between no limits.
        ("NULL", "NULL", 3, 4, 4),
        ("65.5", "69", 0, 2, 4 * 0.4 / 3),
    ],
)
def test_an_open_end_is_unbounded_and_null_counts_nowhere(
    connection: duckdb.DuckDBPyConnection, low: str, high: str, certain: int, possible: int, estimated: float
) -> None:
    people(connection, *AGES)
    found = one(connection, f"SELECT tv_count_between({LABEL}, {low}, {high}) FROM released")
    assert found == {"certain": certain, "possible": possible, "estimated": pytest.approx(estimated)}
    share = one(connection, f"SELECT tv_share_between({LABEL}, {low}, {high}) FROM released")
    assert share == pytest.approx({name: number / 4 for name, number in found.items()})


def test_an_estimated_mean_takes_the_declared_bound_and_counts_open_ends(connection: duckdb.DuckDBPyConnection) -> None:
    people(connection, *AGES)
    expected = {"estimated": pytest.approx((24.5 + 64.5 + 90) / 3), "low": None, "high": None, "open_ends": 2}
    assert one(connection, f"SELECT tv_mean({LABEL}) FROM released") == expected
    assert one(connection, f"SELECT tv_mean({LABEL}) FROM released WHERE label_from < 90") == {
        "estimated": 44.5,
        "low": 40,
        "high": 49,
        "open_ends": 0,
    }


def test_extremes_have_the_end_that_is_known(connection: duckdb.DuckDBPyConnection) -> None:
    people(connection, *(row for row in AGES if row[0] != "*"))
    assert one(connection, f"SELECT tv_max({LABEL}) FROM released") == {"low": 90, "high": None}
    assert one(connection, f"SELECT tv_min({LABEL}) FROM released") == {"low": 20, "high": 29}
    assert one(connection, f"SELECT tv_median({LABEL}) FROM released") == {"low": 60, "high": 69}


@pytest.mark.parametrize("condition", ["FALSE", "label IS NULL"])
def test_nothing_is_known_of_nothing(connection: duckdb.DuckDBPyConnection, condition: str) -> None:
    people(connection, *AGES)

    def ask(asked: str) -> Any:
        return one(connection, f"SELECT {asked} FROM released WHERE {condition}")

    assert ask(f"tv_count_between({LABEL}, 1, 2)") == {"certain": 0, "possible": 0, "estimated": None}
    assert ask(f"tv_mean({LABEL})") == {"estimated": None, "low": None, "high": None, "open_ends": 0}
    for function in ("tv_share_between", "tv_min", "tv_max", "tv_median", "tv_quantile"):
        more = {"tv_share_between": ", 1, 2", "tv_quantile": ", 0.5"}.get(function, "")
        assert set(ask(f"{function}({LABEL}{more})").values()) == {None}


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT tv_quantile(label, label_from, label_to, 1.1) FROM whole", "fraction: expected a number from 0 to 1"),
        ("SELECT tv_quantile(label, label_from, label_to, NULL) FROM whole", "fraction: expected a number from 0 to 1"),
        ("SELECT tv_count_between(label, label_from, label_to, TIMESTAMP '2024-01-01', NULL) FROM days", "time of day"),
    ],
)
def test_what_cannot_be_answered_is_refused(connection: duckdb.DuckDBPyConnection, statement: str, told: str) -> None:
    connection.execute("CREATE TABLE whole AS SELECT '[1, 5]' AS label, 1::BIGINT AS label_from, 5::BIGINT AS label_to")
    connection.execute(
        "CREATE TABLE wide AS SELECT '[1, 500)' AS label, 1::DOUBLE AS label_from, 500::DOUBLE AS label_to"
    )
    connection.execute(
        "CREATE TABLE days AS SELECT 'x' AS label, DATE '2024-01-01' AS label_from, DATE '2024-01-02' AS label_to"
    )
    with pytest.raises(duckdb.Error, match=told):
        connection.execute(statement).fetchall()
