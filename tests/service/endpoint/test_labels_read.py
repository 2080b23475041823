"""How statements use labels: calls that are completed, and what ends in an error with a hint that is right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
import duckdb
import pytest

from tableveil.endpoint.endpoint import Endpoint
from tableveil.endpoint.looked import LookInFiles
from tableveil.endpoint.meanings import ReleaseTable
from tableveil.endpoint.second_opinion import require_same
from tableveil.endpoint.statement import CheckedStatement, check
from tableveil.errors import InvalidError
from tests.once import once
from tests.service.endpoint.published import KnownReaders, connected, publish, serving

STAYS = """
SELECT label AS age, low AS age_from, high AS age_to, place AS age_rank,
  ['2024-Q1', '2024'][1 + i % 2] AS admitted, DATE '2024-01-01' AS admitted_from,
  [DATE '2024-03-31', DATE '2024-12-31'][1 + i % 2] AS admitted_to, (1 + i % 2)::INTEGER AS admitted_rank,
  ['9', '10', '*'][1 + i % 3] AS stay, (1 + i % 3)::INTEGER AS stay_rank,
  ['a', 'b', '*'][1 + i % 3] AS ward, (1 + i % 3)::INTEGER AS ward_rank, i * 10.0 AS charge
FROM range(12) r(i) JOIN (VALUES (0, '[9, 10]', 9::BIGINT, 10::BIGINT, 1::INTEGER), (1, '[11, 80]', 11, 80, 2),
  (2, '>= 90', 90, NULL, 3), (3, '[9, 80]', 9, 80, 4)) AS v(k, label, low, high, place) ON k = i % 4
"""
CODED = """
SELECT ['0213*', '02***', '*', '0****'][1 + i % 4] AS zip, ([2, 3, 4, 1][1 + i % 4])::INTEGER AS zip_rank,
  ['a', 'b'][1 + i % 2] AS plain, (1 + i % 2)::INTEGER AS plain_rank, i AS charge FROM range(12) r(i)
"""
LEVELS = "FROM (VALUES ('zip', '1, 2, 3, 4'), ('plain', '0'), ('charge', NULL)) AS v (column_name, levels)"
TABLES = {("main", "stays"): 1, ("main", "coded"): 1}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("labels")
    (place / "published").mkdir()
    publish(place / "published", 1, "main", {"stays": STAYS, "coded": CODED, "coded_columns": LEVELS})
    return place


@pytest.fixture(scope="module")
def connection(place: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{place / 'published' / 'releases-1.duckdb'}' AS releases_1 (READ_ONLY)")
        yield connection


@pytest.fixture(scope="module")
def endpoint(place: Path) -> Iterator[Endpoint]:
    with serving(place, KnownReaders(ann={1})) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def ann(endpoint: Endpoint) -> Iterator[flight_sql.Connection]:
    with connected(endpoint) as connection:
        yield connection


def checked(connection: duckdb.DuckDBPyConnection, statement: str, *, lenient: bool = False) -> CheckedStatement:
    look = LookInFiles(connection, lambda release: f"releases_{release}")
    found = check(statement, TABLES, look, lenient=lenient)
    require_same(connection, found)
    return found


def refusal(connection: duckdb.DuckDBPyConnection, statement: str) -> InvalidError:
    with pytest.raises(InvalidError) as raised:
        checked(connection, statement)
    assert raised.value.code == "LABELS_MISREAD"
    return raised.value


def ask(ann: flight_sql.Connection, statement: str) -> list[tuple[object, ...]]:
    with ann.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT age, count(*) FROM stays WHERE age = '>= 90' OR age IN ('*') OR age IS NOT NULL GROUP BY age",
        "SELECT age, count(*) AS n FROM stays GROUP BY age, age_rank ORDER BY age_rank, age",
        "SELECT age, count(*) AS n FROM stays GROUP BY age ORDER BY n DESC, min(age_rank)",
        "SELECT age_from, age_to, count(*) FROM stays WHERE age_from >= 65 GROUP BY age_from, age_to ORDER BY age_from",
        "SELECT age, min(age_from), max(age_to), max(age) FROM stays GROUP BY age",
        "SELECT max(age_to - age_from) AS widest, count(DISTINCT age_rank), string_agg(age) FROM stays",
        "SELECT sum(CASE WHEN coalesce(age_from >= 65, FALSE) THEN charge END) FROM stays",
        "SELECT count(*) FROM stays WHERE coalesce(age_from >= 65, FALSE)",
        "SELECT count(*) FROM stays WHERE (age_to >= 65) IS NOT FALSE",
        "SELECT count(*) FROM stays WHERE coalesce(age_from >= 11, FALSE) AND coalesce(age_to <= 80, FALSE)",
        "SELECT age, count(*) FILTER (WHERE 65 BETWEEN age_from AND age_to) FROM stays GROUP BY age",
        "SELECT age, charge FROM stays WHERE age_from >= 65",
        "SELECT age, count(*) FROM stays WHERE age_to < 65 GROUP BY age",
        "SELECT count(*) FROM stays WHERE age_from = 9 AND age_to = 80",
        "SELECT count(*) FROM stays WHERE age = '[9, 10]' OR age = '*' OR age = '-3' OR age = 'gone' OR age_from = 0",
        "SELECT count(*) FROM coded WHERE zip IN ('0213*', '*') AND plain = 'gone' AND plain LIKE 'g%'",
        "SELECT count(DISTINCT plain), count(DISTINCT (zip, plain)), count(DISTINCT zip_rank) FROM coded",
        "SELECT count(*) FROM coded WHERE upper(plain) = 'A'",
        "SELECT left(zip, 2) AS part, zip, count(*) FROM coded WHERE left(zip, 2) = '02' GROUP BY ALL",
        "SELECT age, ntile(2) OVER (ORDER BY min(age_rank)) AS half FROM stays GROUP BY age",
        "SELECT zip, count(*) FROM coded WHERE zip LIKE '021%' GROUP BY zip",
        # No label lies on both sides of these.
        "SELECT count(*) FROM stays WHERE age_from >= 9",
        "SELECT count(*) FROM stays WHERE age_from < 9 AND charge > 0",
        "SELECT count(*) FROM stays WHERE admitted_from >= DATE '2024-01-01'",
        "SELECT age || ' years' AS shown, any_value(charge), arg_max(age, charge) FROM stays GROUP BY age",
        "SELECT * FROM stays WHERE charge > 10 ORDER BY charge LIMIT 3",
        "WITH l (age, area) AS (VALUES ('[9, 10]', 'x')) SELECT area FROM l JOIN stays USING (age) ORDER BY area",
        "WITH v(age) AS (VALUES (1)) SELECT max(age), avg(age) FROM v",
        # The texts of wards have the order of their ranks.
        "SELECT ward, count(*) FROM stays GROUP BY ward ORDER BY ward",
        "SELECT rank() OVER (PARTITION BY age ORDER BY charge), lag(age) OVER (ORDER BY age_rank) FROM stays",
        "PIVOT stays ON age USING sum(charge) GROUP BY ward",
        "SELECT CASE WHEN age_from >= 65 THEN 'old' WHEN age_to < 65 THEN 'young' ELSE 'unknown' END AS g, count(*) "
        "FROM stays GROUP BY g",
        "SELECT CASE WHEN age_to < 11 THEN 1 WHEN age_from >= 11 AND age_to < 90 THEN 2 WHEN age_from >= 90 THEN 3 END "
        "AS g, count(*) FROM stays GROUP BY g",
        "SELECT sum(CASE WHEN coalesce(age_from >= 65, FALSE) THEN charge ELSE 0 END) FROM stays",
        "SELECT CASE WHEN age_from < 9 THEN 'no' ELSE 'all' END AS g, count(*) FROM stays GROUP BY g",
        "SELECT age, CASE WHEN age_from > 65 THEN 'old' END AS g, count(*) FROM stays GROUP BY ALL",
        "SELECT count(*) FROM stays a JOIN stays b ON a.age_from = b.age_from AND a.age_to = b.age_to",
        "SELECT count(*) FROM stays a JOIN stays b USING (age_from, age_to)",
        "SELECT a.age FROM stays a WHERE NOT EXISTS (SELECT 1 FROM stays b WHERE a.age = b.age AND b.charge > "
         "a.charge)",
        "SELECT count(*) FROM stays WHERE age <> '[9, 10]' AND age IS DISTINCT FROM '*'",
        "SELECT corr(age_rank, charge), mode(age), histogram(age), max(age_rank) FROM stays",
        "PIVOT stays ON ward USING max(age) GROUP BY age",
        "SELECT max(COLUMNS('^charge$')), count(COLUMNS(['age', 'ward'])) FROM stays",
        "SELECT * FROM (PIVOT stays ON ward USING count(*) GROUP BY age, age_rank) ORDER BY age_rank",
        "UNPIVOT stays ON charge INTO NAME n VALUE v",
        "FROM range(3) r(i) JOIN stays ON i = age_rank SELECT max(i)",
    ],
)  # fmt: skip
def test_what_is_right_passes(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    assert checked(connection, statement).hint == ""


@pytest.mark.parametrize(
    ("statement", "pasted"),
    [
        ("SELECT age, charge FROM stays ORDER BY age, charge",
         "SELECT age, charge FROM stays ORDER BY age_rank, charge"),
        ("SELECT s.age, count(*) FROM stays s GROUP BY s.age ORDER BY s.age DESC",
         "SELECT s.age, count(*) FROM stays s GROUP BY s.age ORDER BY min(age_rank) DESC"),
        ("SELECT age, count(*) FROM stays GROUP BY ALL ORDER BY 1",
         "SELECT age, count(*) FROM stays GROUP BY ALL ORDER BY min(age_rank)"),
        ("SELECT age AS a, count(*) FROM stays GROUP BY a ORDER BY a",
         "SELECT age AS a, count(*) FROM stays GROUP BY a ORDER BY min(age_rank)"),
        ("SELECT stay, count(*) FROM stays GROUP BY stay ORDER BY stay",
         "SELECT stay, count(*) FROM stays GROUP BY stay ORDER BY min(stay_rank)"),
        ("SELECT max(age) FROM stays", "SELECT tv_max(age) FROM stays"),
        ("SELECT ward, MIN( age ), median(age) FROM stays GROUP BY ward",
         "SELECT ward, tv_min( age ), tv_median(age) FROM stays GROUP BY ward"),
        ("SELECT age, row_number() OVER (ORDER BY age) FROM stays",
         "SELECT age, row_number() OVER (ORDER BY age_rank) FROM stays"),
        ("WITH t AS (SELECT * FROM stays) SELECT x.age FROM (SELECT age, age_rank FROM t) AS x ORDER BY x.age",
         "WITH t AS (SELECT * FROM stays) SELECT x.age FROM (SELECT age, age_rank FROM t) AS x ORDER BY age_rank"),
        ("SELECT quantile_cont(age, 0.9) FROM stays", "SELECT tv_quantile(age, 0.9) FROM stays"),
        ("SELECT CASE WHEN age_to < 65 THEN 'young' ELSE 'old' END AS g, count(*) FROM stays GROUP BY g",
         "SELECT CASE WHEN age_to < 65 THEN 'young' WHEN age_from >= 65 THEN 'old' ELSE 'unknown' END AS g, count(*) "
         "FROM stays GROUP BY g"),
        ("SELECT CASE WHEN s.age_from >= 65 THEN 'old' WHEN s.age_to < 18 THEN 'child' ELSE 'adult' END AS g, count(*) "
         "FROM stays s GROUP BY ALL",
         "SELECT CASE WHEN s.age_from >= 65 THEN 'old' WHEN s.age_to < 18 THEN 'child' "
         "WHEN s.age_from >= 18 AND s.age_to < 65 THEN 'adult' ELSE 'unknown' END AS g, count(*) "
         "FROM stays s GROUP BY ALL"),
        ("SELECT case when coalesce(age_from >= 65, FALSE) then 1 else 0 end AS g, count(*) FROM stays GROUP BY 1",
         "SELECT CASE WHEN age_from >= 65 THEN 1 WHEN age_to < 65 THEN 0 END AS g, count(*) FROM stays GROUP BY 1"),
        ("SELECT g, sum(c) FROM (SELECT charge AS c, CASE WHEN admitted_to <= '2024-03-31' THEN 'q' ELSE 'r' END AS g "
         "FROM stays) GROUP BY g",
         "SELECT g, sum(c) FROM (SELECT charge AS c, CASE WHEN admitted_to <= DATE '2024-03-31' THEN 'q' "
         "WHEN admitted_from > DATE '2024-03-31' THEN 'r' ELSE 'unknown' END AS g FROM stays) GROUP BY g"),
        ("SELECT a.age FROM stays a JOIN stays b USING (charge) ORDER BY a.age",
         "SELECT a.age FROM stays a JOIN stays b USING (charge) ORDER BY a.age_rank"),
    ],
)  # fmt: skip
def test_hints_are_statements_to_paste(
    connection: duckdb.DuckDBPyConnection, ann: flight_sql.Connection, statement: str, pasted: str
) -> None:
    assert f"Write: {pasted}" in str(refusal(connection, statement))
    assert ask(ann, pasted)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT DISTINCT age FROM stays ORDER BY age", "Select age_rank as well, and sort by it."),
        ("SELECT age FROM stays UNION SELECT ward FROM stays ORDER BY age", "Select age_rank as well"),
        ("SELECT age, charge FROM stays ORDER BY ALL", "Write ORDER BY age_rank."),
        ("SELECT age FROM (SELECT age FROM stays) ORDER BY age", "Select age_rank as well"),
        ("SELECT coalesce(age, '?') AS a FROM stays ORDER BY a", "Write ORDER BY age_rank."),
        ("SELECT string_agg(age, ',' ORDER BY age) FROM stays", "ORDER BY"),
        ("SELECT arg_max(charge, age) FROM stays", "tv_mean"),
        ("PIVOT stays ON ward IN ('a') USING max(age)", "Write: PIVOT stays ON ward IN ('a') USING tv_max(age)"),
        ("PIVOT stays ON ward USING avg(age_from)", "Write tv_mean(age)"),
        ("PIVOT stays ON age_from USING count(*) GROUP BY ward", "Write GROUP BY age"),
        ("FROM stays PIVOT (median(age) FOR ward IN ('a'))", "tv_median(age)"),
        ("SELECT * FROM (PIVOT stays ON ward USING count(*) GROUP BY age) ORDER BY age", "Select age_rank as well"),
        ("SELECT max(v) FROM (UNPIVOT stays ON age, ward INTO NAME n VALUE v)", "Write tv_max(age)"),
        ("SELECT max(v) FROM stays UNPIVOT (v FOR n IN (age, ward))", "Write tv_max(age)"),
        ("SELECT max(COLUMNS(*)) FROM stays", "Write tv_max(age)"),
        ("SELECT min(COLUMNS('age|charge')) FROM stays", "Write tv_min(age)"),
        ("SELECT avg(COLUMNS(* EXCLUDE (age, ward))) FROM stays", "Write tv_mean(admitted)"),
        ("SELECT COLUMNS('^age$') FROM stays ORDER BY age", "ORDER BY age_rank"),
        ("SELECT width_bucket(age_from, 0, 100, 10) FROM stays", "tv_band(age, 10)"),
        ("SELECT greatest(age, '5') FROM stays", "tv_mean"),
        ("SELECT count(*) FROM stays WHERE age >= '65'",
         "Write coalesce(age_from >= 65, FALSE) for those who certainly are, coalesce(age_to >= 65, TRUE)"),
        ("SELECT count(*) FROM stays AS s WHERE '65' > s.age",
         "Write coalesce(age_to < 65, FALSE) for those who certainly are"),
        ("SELECT count(*) FROM stays WHERE age BETWEEN '10' AND '20'", "Write tv_count_between(age, 10, 20)"),
        ("SELECT count(*) FROM stays WHERE (age, ward) < ('a', 'b')", "tv_count_between counts both"),
        ("SELECT count(*) FROM stays WHERE admitted > '2024-02-01'",
         "Write coalesce(admitted_from > DATE '2024-02-01', FALSE)"),
        ("SELECT count(*) FROM stays WHERE stay > '5'", "Compare stay_rank."),
        ("SELECT age FROM stays WHERE age LIKE '[9%'", "Use age_from and age_to"),
        ("SELECT left(age, 2) FROM stays", "Use age_from and age_to"),
        ("SELECT try_cast(age AS INTEGER) FROM stays", "Use age_from and age_to"),
        ("SELECT age[2:3] FROM stays", "Use age_from and age_to"),
        ("SELECT split_part(a, ',', 1) FROM (SELECT age AS a FROM stays)", "Use age_from and age_to"),
        ("SELECT avg(age_from) FROM stays", "Write tv_mean(age)"),
        ("SELECT avg((age_from + age_to) / 2.0) FROM stays", "Write tv_mean(age)"),
        ("SELECT max(age_to) FROM stays", "Write tv_max(age)"),
        ("SELECT age_from // 10 * 10 AS band, count(*) FROM stays GROUP BY band",
         "Add , tv_band(age, 10) AS part to FROM, group by part.band_from"),
        ("SELECT floor(age_from / 10.0) FROM stays", "tv_band(age, 10)"),
        ("SELECT sum(CASE WHEN age_from >= 11 AND age_to <= 80 THEN 1 ELSE 0 END) FROM stays",
         "Write tv_count_between(age, 11, 80) for both numbers, or coalesce(age_from >= 11, FALSE) AND "
         "coalesce(age_to <= 80, FALSE) for those who certainly are, coalesce(age_to >= 11, TRUE) AND "
         "coalesce(age_from <= 80, TRUE) for those who possibly are."),
        ("SELECT avg(CASE WHEN age_from >= 65 THEN 1 WHEN age_to < 65 THEN 0 END) FROM stays",
         "tv_count_between(age, 65, NULL)"),
        ("SELECT CASE WHEN age_from >= 65 AND charge > 3 THEN 'old' ELSE 'rest' END AS g, count(*) FROM stays "
         "GROUP BY g",
         "Write GROUP BY age"),
        ("SELECT CASE WHEN age_to < 18 THEN 'child' WHEN age_to < 65 THEN 'adult' WHEN age_from >= 65 THEN "
         "'old' END AS g, "
         "count(*) FROM stays GROUP BY g", "WHEN age_from >= 18 AND age_to < 65 THEN 'adult'"),
        ("SELECT count(*) FROM stays WHERE age_from >= 11 AND (age_to < 66)", "tv_count_between(age, 11, 65)"),
        ("SELECT count(*) FILTER (WHERE 65 BETWEEN age_from AND age_to) FROM stays", "tv_count_between(age, 65, 65)"),
        ("SELECT count(*) FILTER (WHERE age_from >= 65) AS old, count(*) FILTER (WHERE age_to < 65) AS young "
         "FROM stays",
         "tv_count_between(age, 65, NULL)"),
        ("SELECT count(*) FROM stays WHERE coalesce(age_from >= 65, FALSE) OR age_to < 18",
         "tv_count_between(age, NULL, 17)"),
        ("SELECT count(*) FROM stays WHERE NOT (age_from >= 65)",
         "coalesce(age_to < 65, FALSE) for those who certainly"),
        ("SELECT count(*) FROM stays WHERE NOT (charge > 3 AND age_to < 65)",
         "coalesce(age_from >= 65, FALSE) for those"),
        ("SELECT count_if(age_to >= 65) FROM stays", "tv_count_between(age, 65, NULL)"),
        ("SELECT bool_or(age_from > 20), avg((age_from > 20)::INTEGER) FROM stays", "tv_count_between(age, 21, NULL)"),
        ("SELECT count(*) FROM stays WHERE coalesce(age_to, 120) < 65", "tv_count_between(age, NULL, …)"),
        ("SELECT count(*) FROM stays WHERE age_from - 65 >= 0", "tv_count_between(age, …, NULL)"),
        ("SELECT count(*) FROM stays WHERE abs(age_from - 65) <= 5", "tv_count_between(age, NULL, …)"),
        ("SELECT count(*) FROM stays WHERE charge NOT IN (SELECT charge FROM stays WHERE age_from >= 65)",
         "tv_count_between(age, 65, NULL)"),
        ("SELECT charge FROM stays EXCEPT SELECT charge FROM stays WHERE age_from >= 65",
         "tv_count_between(age, 65, NULL)"),
        ("SELECT age, (SELECT count(*) FROM stays b WHERE b.age_from >= 65) AS n FROM stays a",
         "tv_count_between(age, 65, NULL)"),
        ("SELECT a.age, count(*) FROM stays a JOIN stays b ON b.age_from >= 65 GROUP BY a.age",
         "tv_count_between(age, 65, NULL)"),
        ("SELECT count(*) FROM stays a JOIN stays b ON a.age_from = b.age_from", "Write GROUP BY age"),
        ("SELECT count(*) FROM stays a JOIN stays b USING (age_from)", "Write GROUP BY age"),
        ("SELECT count(*) FROM stays WHERE age <> '42'", "or tv_count_between(age, 42, 42)"),
        ("SELECT count(*) FROM stays WHERE age IS DISTINCT FROM '42'", "or tv_count_between(age, 42, 42)"),
        ("SELECT count(*) FROM stays WHERE age_from <> 9", "Write age = with one of its labels"),
        ("SELECT CASE age_from WHEN 9 THEN 'x' ELSE 'y' END AS g FROM stays", "Write age = with one of its labels"),
        ("SELECT count(*) FROM coded WHERE zip <> '02139'", "Write zip IN ('0****', '0213*', '02***') with the labels"),
        ("SELECT quantile_cont(age, [0.25, 0.75]) FROM stays", "Write tv_quantile(age, 0.9)"),
        ("SELECT sum(age_from) FROM stays", "Write count(age) * (tv_mean(age)).low for the least sum"),
        ("SELECT count(DISTINCT age) FROM stays", "Write count(DISTINCT age_rank) for it."),
        ("SELECT count(DISTINCT zip) FROM coded", "Write count(DISTINCT zip_rank) for it."),
        ("SELECT ntile(4) OVER (ORDER BY age_rank) FROM stays", "Write GROUP BY age, or tv_quantile(age, 0.25)."),
        ("SELECT percent_rank() OVER (ORDER BY zip_rank) FROM coded", "Write GROUP BY zip."),
        ("SELECT arg_max(charge, age_from) FROM stays", "tv_mean"),
        ("SELECT count(*) FROM coded WHERE left(zip, 3) = '021'", "Write zip IN ('0213*') for those who certainly are"),
        ("SELECT count(*) FROM coded WHERE substr(zip, 1, 2) = '03'",
         "Write zip IN ('0****', '*') for those who possibly"),
        ("SELECT count(*) FROM coded WHERE upper(zip) IN ('02139')",
         "Write zip IN ('0****', '0213*', '02***', '*') with the"),
        ("SELECT count(*) FROM coded WHERE right(zip, 1) <> '9'", "or select zip as well"),
        ("SELECT year(admitted), count(*) FROM stays GROUP BY ALL", "tv_period(admitted, 'year')"),
        ("SELECT age_from >= 65, count(*) FROM stays GROUP BY ALL", "Write GROUP BY age"),
        ("SELECT avg(age_rank) FROM stays", "Write tv_mean(age)"),
        ("SELECT corr(age_from, charge) FROM stays", "Take age_rank for the bound."),
        ("SELECT regr_slope(charge, age_to) FROM stays", "Take age_rank for the bound."),
        ("SELECT histogram(age_from) FROM stays", "Write GROUP BY age"),
        ("SELECT mode(age_from) FROM stays", "Write GROUP BY age"),
        ("SELECT CAST(age_from / 10 AS INTEGER) FROM stays", "tv_band(age, 10)"),
        ("SELECT date_trunc('quarter', admitted_from), count(*) FROM stays GROUP BY ALL",
         "tv_period(admitted, 'quarter') AS part"),
        ("SELECT extract(month FROM admitted_from) FROM stays", "tv_period(admitted, 'month')"),
        ("SELECT year(admitted_to) FROM stays", "tv_period(admitted, 'year')"),
        ("SELECT age_from, count(*) FROM stays GROUP BY age_from", "Write GROUP BY age, or add , tv_band(age, 10)"),
        ("SELECT f, count(*) FROM (SELECT age_from AS f FROM stays) GROUP BY f", "Write GROUP BY age"),
        ("SELECT age, count(*) FROM stays WHERE charge > (SELECT min(charge) FROM stays WHERE age < '5') GROUP BY age",
         "Write coalesce(age_to < 5, FALSE)"),
        ("SELECT (SELECT max(s.age)) FROM stays s", "tv_max"),
        ("FROM stays s JOIN stays t ON s.age < t.age", "tv_count_between counts both"),
        ("SELECT max(age) OVER () FROM stays", "Write tv_max(age)"),
        ("SELECT count(*) FROM stays WHERE age_from >= 65",
         "Write tv_count_between(age, 65, NULL) for both numbers, or coalesce(age_from >= 65, FALSE)"),
        ("SELECT ward, count(*) FROM stays AS s WHERE 65 > s.age_to GROUP BY ward", "tv_count_between(age, NULL, 64)"),
        ("SELECT sum(CASE WHEN age_from > 65 THEN charge END) FROM stays", "Write tv_count_between(age, "),
        ("SELECT count(*) FILTER (WHERE age_from BETWEEN 10 AND 100) FROM stays", "Write tv_count_between(age, "),
        ("WITH old AS (SELECT * FROM stays WHERE age_from >= 65) SELECT count(*) FROM old",
         "Write tv_count_between(age, "),
        ("SELECT count(*) FROM (VALUES (9, 40)) AS b (low, high), stays WHERE age_from >= low AND age_from < high",
         "Write tv_count_between(age, …, …)"),
        ("SELECT count(*) FROM stays WHERE age_from > 65", "Write tv_count_between(age, 66, NULL)"),
        ("SELECT count(*) FROM stays WHERE admitted_from > '2024-02-01'",
         "tv_count_between(admitted, DATE '2024-02-02', NULL)"),
        ("SELECT count(*) FROM stays WHERE age_from < 65.5", "tv_count_between(age, NULL, 65.5)"),
        ("SELECT count(*) FROM stays WHERE age = '42'", "or tv_count_between(age, 42, 42)"),
        ("SELECT charge FROM stays WHERE age IN ('[9, 10]', 42)", "or tv_count_between(age, 42, 42)"),
        ("SELECT CASE age WHEN '10' THEN 1 END FROM stays", "or tv_count_between(age, 10, 10)"),
        ("SELECT count(*) FROM stays WHERE age_from = 9", "Write age = with one of its labels"),
        ("SELECT count(*) FROM stays WHERE admitted = '2024-01-09'", "DATE '2024-01-09', DATE '2024-01-09')"),
        ("SELECT count(*) FROM coded WHERE zip = '02139'", "Write zip IN ('0****', '0213*', '02***') with the labels"),
        ("SELECT count(*) FROM coded WHERE zip = 'it''s'", "Write zip IN ('0****', '0213*', '02***', '*') with"),
        ("SELECT count(*) FROM coded WHERE zip LIKE '021%'",
         "Write zip IN ('0213*') for those who certainly are, zip IN ('0****', '0213*', '02***', '*') for those who "
         "possibly are, or select zip as well."),
        ("SELECT count(*) FROM coded WHERE starts_with(zip, '03')",
         "Write zip IN ('0****', '*') for those who possibly"),
        ("SELECT count(*) FROM coded WHERE zip LIKE '%21%'", "Write zip IN ('0****', '0213*', '02***', '*') with the"),
        ("SELECT count(*) FROM stays WHERE age_from >= $1", "Write tv_count_between(age, …, NULL)"),
        ("SELECT count(*) FROM stays WHERE admitted_from >= '2024-02-01'",
         "tv_count_between(admitted, DATE '2024-02-01'"),
    ],
)  # fmt: skip
def test_labels_are_not_taken_for_values(connection: duckdb.DuckDBPyConnection, statement: str, told: str) -> None:
    assert told in str(refusal(connection, statement))
    assert told in checked(connection, statement, lenient=True).hint


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("SELECT tv_mean(age) FROM stays", 'SELECT tv_mean(age, "age_from", "age_to") FROM'),
        ("SELECT (TV_MEAN( s.age )).low FROM stays s",
         'SELECT (TV_MEAN( s.age, "s"."age_from", "s"."age_to" )).low FROM'),
        ("SELECT tv_mean(age, age_from, age_to).low FROM stays", "SELECT tv_mean(age, age_from, age_to).low"),
        ("SELECT tv_count_between(a, 1, NULL) FROM (SELECT age AS a, age_from AS f, age_to AS t FROM stays)",
         'SELECT tv_count_between(a, "f", "t", 1, NULL) FROM'),
        ("WITH x AS (FROM stays) SELECT tv_max(age) FROM x AS y", 'tv_max(age, "age_from", "age_to")'),
        ("SELECT sum(weight) FROM stays, tv_band(age, 10) AS b GROUP BY b.band_from",
         'tv_band(age, "age_from", "age_to", 10) AS b'),
        ("SELECT sum(b.weight) FROM stays s, tv_period(s.admitted, 'month') b",
         "tv_period(s.admitted, \"s\".\"admitted_from\", \"s\".\"admitted_to\", 'month') b"),
    ],
)  # fmt: skip
def test_calls_get_the_bounds_beside_a_label(
    connection: duckdb.DuckDBPyConnection, ann: flight_sql.Connection, statement: str, text: str
) -> None:
    assert text in checked(connection, statement).text
    assert ask(ann, statement)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT tv_mean(charge) FROM stays", "expected tv_mean(column)"),
        ("SELECT tv_mean(ward) FROM stays", "a column of labels with bounds"),
        (
            "SELECT tv_count_between(zip, 3, 4) FROM coded",
            "join (VALUES ('a label', 0::BIGINT, 17::BIGINT)) AS known (label, least, most) ON label = zip, and write "
            "tv_count_between(zip, least, most, low, high).",
        ),
        ("SELECT tv_mean(age || '') FROM stays", "a column of labels with bounds"),
        ("SELECT tv_mean(age) FROM (SELECT age FROM stays)", "Let the subquery select age_from and age_to as well."),
        ("SELECT tv_count_between(age) FROM stays", "expected tv_count_between(column, low, high)"),
        ("SELECT tv_mean() FROM stays", "tv_mean with 0 arguments"),
        # Bounds of another place in FROM are those of other records.
        ("SELECT tv_mean(age) FROM (SELECT a.age, b.age_from, b.age_to FROM stays a, stays b)", "Let the subquery"),
    ],
)
def test_functions_of_labels_want_labels(connection: duckdb.DuckDBPyConnection, statement: str, told: str) -> None:
    with pytest.raises(InvalidError) as raised:
        checked(connection, statement)
    assert told in str(raised.value)


def test_nested_queries_are_read_once(connection: duckdb.DuckDBPyConnection) -> None:
    """A reader that looked at a part twice would double its work with every level."""
    statement = "age"
    for _ in range(20):
        statement = f"(SELECT CASE WHEN true THEN {statement} END AS x GROUP BY 1)"
    checked(connection, f"SELECT {statement} FROM stays")


def test_a_lenient_endpoint_answers_and_says_what_to_write(place: Path) -> None:
    with serving(place, KnownReaders(ann={1}), lenient=True) as endpoint, connected(endpoint) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT max(age) AS oldest FROM stays")
        table = cursor.fetch_arrow_table()
        cursor.close()
    assert table.column("oldest").to_pylist() == ["[9, 80]"]
    assert table.schema.metadata[b"tableveil.hint"] == b"Write: SELECT tv_max(age) AS oldest FROM stays"


def test_answers_are_right(ann: flight_sql.Connection) -> None:
    assert ask(ann, "SELECT tv_max(age) FROM stays") == [({"low": 90, "high": None},)]
    assert ask(ann, "SELECT (tv_count_between(age, 66, NULL)).certain FROM stays") == [(3,)]


def test_summaries_leave_out_what_they_would_misread(ann: flight_sql.Connection) -> None:
    rows = {row[0]: row for row in ask(ann, "SUMMARIZE stays")}
    assert rows["charge"][2:4] == ("0.0", "110.0")
    for name in ("age", "age_from", "admitted_to"):
        assert rows[name][2:4] + rows[name][5:10] == (None,) * 7
        assert rows[name][10] == 12
    assert len(ask(ann, "SUMMARIZE SELECT charge FROM stays")) == 1


def test_the_error_counts_the_labels_on_both_sides(connection: duckdb.DuckDBPyConnection) -> None:
    told = str(refusal(connection, "SELECT count(*) FROM stays WHERE age_from >= 65"))
    assert "found 'age_from' >= 65, a comparison of one bound, with 6 records whose labels lie on both sides;" in told


BOUNDS = """
SELECT v.*, place::INTEGER AS n_rank FROM (VALUES ('[0, 5[', 0.0::{0}, 5.0::{0}, 1), ('[5, 10]', 5, 10, 2),
  ('7', 7, 7, 3), ('>= 10', 10, NULL, 4), ('< 0', NULL, 0, 5), ('*', NULL, NULL, 6),
  (NULL, NULL, NULL, NULL), ('[0, 10]', 0, 10, 7)
) AS v (n, n_from, n_to, place)
"""


@pytest.mark.parametrize("type_", once(["DOUBLE", "BIGINT"]))
@pytest.mark.parametrize("operator", [">", ">=", "<", "<="])
def test_labels_on_both_sides_are_those_of_which_some_values_are(operator: str, type_: str) -> None:
    """Whole numbers include both ends; of others `[0, 5[` and `< 0` leave out the upper one."""
    whole = type_ == "BIGINT"
    step = 1.0 if whole else 0.25
    values = [step * i for i in range(int(-30 / step), int(40 / step))]
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE released AS {BOUNDS.format(type_)}")
        look = LookInFiles(connection, lambda release: "memory")
        table = ReleaseTable(1, "main", "released")
        labels = connection.execute("SELECT n, n_from, n_to FROM released WHERE n IS NOT NULL").fetchall()
        for limit in (-1, 0, 3, 5, 6, 7, 8, 10, 11):
            mixed = 0
            for label, low, high in labels:
                excluded = not whole and label in ("[0, 5[", "< 0")
                under = [
                    value
                    for value in values
                    if (low is None or value >= low) and (high is None or (value < high if excluded else value <= high))
                ]
                sides = {eval(f"{value} {operator} {limit}") for value in under}
                mixed += len(sides) == 2
            assert look.straddling(table, "n", operator, str(limit)) == mixed, limit
        assert look.straddling(table, "n", operator, None) == 6
