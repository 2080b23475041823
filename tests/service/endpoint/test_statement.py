"""The check of statements: what analysts say, and what attackers try."""

import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tableveil.endpoint.duckdb_tree import require_same
from tableveil.endpoint.grammar import FUNCTIONS
from tableveil.endpoint.labels import ReleaseTable
from tableveil.endpoint.statement import CheckedStatement, check
from tableveil.errors import InvalidError, NotFoundError

TABLES = {("main", "discharges"): 7, ("research", "ward names"): 8, ("temp", "stays"): 9}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@pytest.mark.parametrize(
    ("statement", "text", "releases"),
    [
        ("from discharges -- all", 'from discharges', {7}),
        ('SELECT d.age FROM MAIN."Discharges" d', 'SELECT d.age FROM MAIN."Discharges" d', {7}),
        ('FROM releases.research."Ward names"', None, {8}),
        ("FROM discharges JOIN research.\"Ward names\" USING (ward)", None, {7, 8}),
        ("WITH d AS (FROM discharges), e AS (FROM d) SELECT d.age FROM e d", None, {7}),
        ("WITH d AS (FROM discharges) TABLE d;", "WITH d AS (FROM discharges) TABLE d", {7}),
        ("FROM temp.stays", "FROM releases.temp.stays", {9}),
        ("SELECT '😀', 0x1F, - ~ 7, x IS NOT NULL FROM releases.main.discharges x", None, {7}),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) FROM n", None, set()),
        ("WITH discharges AS (FROM discharges) FROM discharges", None, {7}),
        ("SELECT (SELECT max(charge) FROM discharges i WHERE i.age = o.age) FROM discharges o", None, {7}),
        ("SELECT releases.main.discharges.age FROM discharges", None, {7}),
        ("SELECT 1 UNION (SELECT 2 EXCEPT SELECT 3) INTERSECT SELECT 4 ORDER BY 1 LIMIT 2 OFFSET 1", None, set()),
        ("SELECT * EXCLUDE (age) REPLACE (charge + 1 AS charge) FROM discharges", None, {7}),
        ("SELECT age, sum(charge) FILTER (WHERE stay > 1) OVER (PARTITION BY age ORDER BY day ROWS 3 PRECEDING) AS s "
         "FROM discharges QUALIFY row_number() OVER (ORDER BY day) < 3", None, {7}),
        ("SELECT age, count(DISTINCT ward), string_agg(ward, ',' ORDER BY ward DESC) FROM discharges "
         "GROUP BY ROLLUP (age)", None, {7}),
        ("SELECT CASE WHEN charge BETWEEN 1 AND 2 THEN 'a' ELSE ward || 'ß' END FROM discharges WHERE ward ILIKE 'W%' "
         "AND age IN ('x') AND stay IS NOT NULL AND day >= DATE '2024-01-01' - INTERVAL 3 DAY", None, {7}),
        ("FROM (VALUES (1, 'a')) v(i, t), LATERAL (SELECT i + 1) l", None, set()),
        ("SELECT ' -- ; ', 'a' /* ; DROP */ -- ;\n;", None, set()),
        ("show tables;", 'SELECT table_name AS name FROM memory.information.tables ORDER BY ALL', set()),
        ("SHOW ALL TABLES", None, set()),
        ("SHOW SCHEMAS", None, set()),
        ("FROM releases.Information_Schema.COLUMNS c JOIN information_schema.tables USING (table_name)",
         'FROM memory.information.COLUMNS c JOIN memory.information.tables USING (table_name)', set()),
        ("PIVOT discharges ON ward IN ('a', 'b') USING sum(charge) AS charge, count(*) GROUP BY age", None, {7}),
        ("FROM discharges PIVOT (sum(charge) FOR ward IN ('a') GROUP BY age) p", None, {7}),
        ("UNPIVOT discharges ON charge, stay INTO NAME n VALUE v", None, {7}),
        ("FROM discharges UNPIVOT INCLUDE NULLS (v FOR n IN (charge, stay))", None, {7}),
        ("WITH d AS (FROM discharges) PIVOT d ON ward IN ('a') USING count(*)", None, {7}),
        ("WITH p AS (PIVOT discharges ON ward IN ('a') USING count(*)) FROM p", None, {7}),
        ("FROM range(3) r(i), generate_series(-5, 5, 2), unnest([1, 2]) u(j), range(1_000_000)", None, set()),
        ("SELECT unnest(range(2, 5)) FROM generate_series(DATE '2024-01-01', DATE '2024-12-31', INTERVAL 1 MONTH)",
         None, set()),
        ("FROM discharges, LATERAL unnest([charge]) u(i)", None, {7}),
        ("SELECT sum(COLUMNS('ch.*')), COLUMNS(* EXCLUDE (age)), COLUMNS(['age']) FROM discharges", None, {7}),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY charge) FROM discharges", None, {7}),
        ("SELECT width_bucket(charge, 0, 100, 5), $least FROM discharges WHERE charge > $least", None, {7}),
    ],
)  # fmt: skip
def test_ordinary_statements_pass(
    connection: duckdb.DuckDBPyConnection, statement: str, text: str | None, releases: set[int]
) -> None:
    checked = check(statement, TABLES)
    assert checked.releases == releases
    assert text in (None, checked.text)
    require_same(connection, checked)


@pytest.mark.parametrize(
    ("statement", "described"),
    [
        ("EXPLAIN FROM discharges", "EXPLAIN"),
        ("explain analyze\tSELECT 1", "EXPLAIN ANALYZE"),
        ("DESCRIBE main.discharges", "DESCRIBE"),
        ("DESC SELECT 1", "DESCRIBE"),
        ("SUMMARIZE discharges", "SUMMARIZE"),
        ("summarize SELECT 1", "SUMMARIZE"),
    ],
)
def test_what_is_asked_about_a_statement_is_taken_off(statement: str, described: str) -> None:
    checked = check(statement, TABLES)
    assert checked.described == described
    assert checked.text.strip().startswith(("FROM", "SELECT"))


def test_parameters_are_counted() -> None:
    assert check("SELECT ?, ? WHERE 1 = ?", TABLES).parameters == 3
    assert check("SELECT $1, $2, $1", TABLES).parameters == 2
    named = check("SELECT $low, $high, $low", TABLES)
    assert (named.parameters, named.names) == (2, ("low", "high"))


ATTACKS = [
    line for line in Path(__file__).with_name("attacks.sql").read_text().splitlines() if not line.startswith("#")
]


@pytest.mark.parametrize("statement", [*ATTACKS, "", "SELECT 1\0", "SELECT 1\n;\nSELECT 2"])
def test_everything_else_is_refused(statement: str) -> None:
    with pytest.raises((InvalidError, NotFoundError)):
        check(statement, TABLES)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT '" + "x" * 1_000_000 + "'",
        "SELECT " + "(" * 10_000 + "1" + ")" * 10_000,
        "SELECT " + "[" * 101 + "1" + "]" * 101,
        "SELECT " + "NOT " * 9_000 + "true",
        "SELECT " + "- " * 9_000 + "1",
        "SELECT " + "1 + " * 9_000 + "1",
        "SELECT " + "1, " * 11_000 + "1",
        "SELECT " + "CASE WHEN true THEN " * 3_000 + "1" + " END" * 3_000,
    ],
    ids=["long", "parentheses", "brackets", "not", "minus", "plus", "tokens", "case"],
)
def test_statements_that_would_hold_the_parser_up_are_refused(statement: str) -> None:
    with pytest.raises(InvalidError):
        check(statement, TABLES)


def test_each_function_is_one_of_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute("SELECT DISTINCT lower(function_name) FROM duckdb_functions()").fetchall()
    parsed = {"coalesce", "ifnull", "nullif", "grouping", "grouping_id", "percentile_cont", "percentile_disc"}
    assert FUNCTIONS - parsed <= {name for (name,) in rows}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM duckdb_settings()",
        "FROM repeat('x', 3)",
        "FROM main.range(3)",
        "FROM memory.information.tables",
        "FROM discharges PIVOT (sum(charge) FOR age IN secret)",
        "SELECT COLUMNS(lambda c: c LIKE 'a%') FROM range(3)",
        "FROM tv_secret(1)",
        "FROM main.tv_band(1, 2, 3, 4)",
        "SELECT main.tv_mean(1, 2, 3)",
        "SELECT {'a': getenv('HOME')}.a",
        "SELECT 1",
        "FROM discharges, stays",
        "FROM discharges, memory.main.discharges",
        "FROM discharges, (WITH stays AS (FROM stays) FROM stays)",
        "FROM discharges, (WITH a AS (FROM stays), stays AS (SELECT 1) FROM a)",
        "FROM discharges, (WITH RECURSIVE stays AS (FROM stays UNION ALL FROM stays) FROM stays)",
        "FROM discharges, (WITH RECURSIVE stays AS (FROM stays) FROM stays)",
        "FROM discharges, stays WHERE EXISTS (WITH stays AS (SELECT 1) SELECT 1)",
        "FROM discharges, (WITH DuckDB_Databases AS (SELECT 1) FROM duckdb_databases)",
        "FROM discharges, (WITH RECURSIVE duckdb_tables AS (FROM duckdb_tables UNION ALL SELECT 1) SELECT 1)",
        "FROM discharges, releases_9.main.discharges",
        "SELECT getenv('HOME')",
        "SELECT 1; SELECT 2",
        "SHOW TABLES",
        "DROP TABLE x",
    ],
)
def test_the_second_parser_refuses_what_the_first_might_let_pass(
    connection: duckdb.DuckDBPyConnection, text: str
) -> None:
    read = frozenset({ReleaseTable(7, "main", "discharges")})
    require_same(connection, CheckedStatement("FROM Discharges, (WITH a AS (SELECT 1) FROM a)", "", read, 0))
    with pytest.raises(InvalidError):
        require_same(connection, CheckedStatement(text, "", read, 0))


@pytest.mark.parametrize("statement", ["SELECT user", "SELECT current_schema", "SELECT localtime"])
def test_functions_without_brackets_are_refused(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    with pytest.raises(InvalidError):
        require_same(connection, check(statement, TABLES))


def test_a_deep_statement_leaves_the_limit_of_calls_as_it_was() -> None:
    before = sys.getrecursionlimit()
    with pytest.raises(InvalidError):
        check("SELECT " + "NOT " * 9_000 + "true", TABLES)
    assert sys.getrecursionlimit() == before
