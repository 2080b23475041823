"""How statements use labels: calls that are completed, and what ends in an error with a hint that is right."""

from collections.abc import Iterator
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
import duckdb
import pyarrow as pa
import pytest

from tableveil.endpoint.duckdb_tree import require_same
from tableveil.endpoint.endpoint import Endpoint
from tableveil.endpoint.labels import LabelColumn, LookInFiles, ReleaseTable
from tableveil.endpoint.statement import CheckedStatement, check
from tableveil.errors import InvalidError
from tests.once import once
from tests.service.endpoint.published import KnownReaders, connected, publish, serving

STAYS = """
SELECT label AS age, low AS age_from, high AS age_to, place AS age_rank,
  ['2024-Q1', '2024'][1 + i % 2] AS admitted, DATE '2024-01-01' AS admitted_from,
  [DATE '2024-03-31', DATE '2024-12-31'][1 + i % 2] AS admitted_to, (1 + i % 2)::INTEGER AS admitted_rank,
  '2024-02' AS noted, TIMESTAMP '2024-02-01' AS noted_from, TIMESTAMP '2024-03-01' AS noted_to,
  1::INTEGER AS noted_rank,
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
ESTIMATES = (
    "SELECT 9::BIGINT AS age, '9' AS stay, ward, TIMESTAMP '2024-02-02' AS noted, DATE '2024-02-02' AS admitted, "
    "charge FROM main.stays"
)
SHARES = (
    "FROM (VALUES ('age', 1.0), ('stay', 0.5), ('admitted', 1.0), ('noted', 1.0), ('ward', NULL)) "
    "AS v (column_name, estimated_share)"
)
TABLES = {("main", name): 1 for name in ("stays", "coded", "stays_estimated")}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("labels")
    (place / "published").mkdir()
    publish(
        place / "published",
        1,
        "main",
        {
            "stays": STAYS,
            "stays_columns": SHARES,
            "stays_estimated": ESTIMATES,
            "coded": CODED,
            "coded_columns": LEVELS,
        },
    )
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
        "SELECT count(*) FROM stays WHERE age = '>= 90' OR age IN ('*') OR age IS NOT NULL OR age = '-3' OR age = NULL",
        "SELECT count(age), min(age_rank), count(DISTINCT age_rank), mode(age), histogram(age) FROM stays",
        "SELECT count(*) FROM stays WHERE age IN ('[9, 10]', '[9, 80]') OR age_rank = 1",
        "SELECT count(*) FROM stays WHERE age NOT IN (SELECT x FROM (VALUES ('[9, 10]'), ('[9, 80]')) AS v(x))",
        "SELECT count(*) FROM stays WHERE age LIKE '[9%' AND admitted IN ('2024-Q1', '2024')",
        "SELECT sum(CASE WHEN coalesce(age_from >= 65, FALSE) THEN charge END) FROM stays",
        "SELECT count(*) FROM stays WHERE (age_to >= 65) IS NOT FALSE AND coalesce(age_to <= 80, TRUE)",
        "SELECT count(*) FROM coded WHERE zip IN ('0213*', '02***', '0****', '*') AND plain = 'gone'",
        "SELECT left(plain, 1), count(DISTINCT plain) FROM coded WHERE plain LIKE 'g%' GROUP BY 1 ORDER BY 1",
        # No label lies on both sides of these.
        "SELECT count(*) FROM stays WHERE age_from >= 9 AND admitted_from >= DATE '2024-01-01'",
        "SELECT any_value(charge), arg_max(age, charge), string_agg(age, ', ' ORDER BY age_rank) FROM stays",
        "SELECT * FROM stays WHERE charge > 10 ORDER BY charge, age_rank LIMIT 3",
        "SELECT area FROM (VALUES ('[9, 10]', 'x'), ('[9, 80]', 'y')) AS l (age, area) JOIN stays USING (age)",
        "WITH v(age) AS (VALUES (1)) SELECT max(age), avg(age) FROM v",
        "SELECT max(ward) FROM stays",
        "SELECT avg(age), max(stay), count(*) FILTER (WHERE stay = '9') FROM stays_estimated WHERE age >= 65",
        "SELECT corr(age_rank, charge), max(age_rank) FROM stays",
        "SELECT stay, max(stay), count(DISTINCT stay) FROM stays_estimated WHERE stay LIKE '9%' GROUP BY 1 ORDER BY 1",
        "SELECT right(stay, 1), n FROM stays_estimated JOIN (VALUES ('9', 1), ('11', 2)) AS v(stay, n) USING (stay)",
        "SELECT max(COLUMNS('^charge$')), count(COLUMNS(['age', 'ward'])) FROM stays",
        "UNPIVOT stays ON charge INTO NAME n VALUE v",
        "SELECT (SELECT max(charge) FROM stays) AS most, charge FROM stays ORDER BY 1",
        "FROM range(3) r(i) JOIN stays ON i = age_rank SELECT max(i)",
        "SELECT (tv_mean(age)).low AS low FROM stays ORDER BY (tv_mean(age)).low",
    ],
)  # fmt: skip
def test_what_is_right_passes(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    assert checked(connection, statement).hint == ""


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT age, count(*) AS n FROM stays GROUP BY age ORDER BY n DESC, min(age_rank)",
        "SELECT age, charge, count(*) FROM stays GROUP BY ALL",
        "SELECT count(*) OVER (PARTITION BY age ORDER BY charge) FROM stays",
        "SELECT a.charge FROM stays a JOIN stays b ON a.age = b.age",
        "PIVOT stays ON age USING sum(charge) GROUP BY charge",
        "SELECT count(*) FROM coded GROUP BY ROLLUP (zip, charge)",
        "SELECT DISTINCT ON (age) charge FROM stays",
        "SELECT age FROM stays INTERSECT SELECT age FROM stays",
    ],
)
def test_groups_of_labels_that_overlap_are_answered_with_a_hint(
    connection: duckdb.DuckDBPyConnection, statement: str
) -> None:
    assert "overlap" in checked(connection, statement).hint


EQUAL = "Write age IN ('[9, 10]', '[9, 80]') for all who may be meant, age_rank = 1 for the label alone"
UNDER = "Write age IN ('[11, 80]', '[9, 80]') with the labels that it may be under, tv_count_between(age, 42, 42)"
BETWEEN = "tv_count_between(age, low, high) for how many certainly and possibly are"
AS_VALUE = "labels that are compared, grouped and counted"


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("age = '[9, 10]'", EQUAL),
        ("age <> '[9, 10]'", EQUAL),
        ("age IS DISTINCT FROM '[9, 10]'", EQUAL),
        ("age IN ('[9, 10]')", EQUAL),
        ("age = '[9, ' || 10 || ']'", EQUAL),
        ("age = CAST('[9, 10]' AS VARCHAR)", EQUAL),
        ("age = (SELECT '[9, 10]')", EQUAL),
        ("age = ANY (SELECT '[9, 10]')", EQUAL),
        ("CASE age WHEN '[9, 10]' THEN true END", EQUAL),
        ("nullif(age, '[9, 10]') IS NULL", EQUAL),
        ("age IN ('[9, 80]')", "age IN ('[9, 80]', '[9, 10]', '[11, 80]')"),
        ("age = '42'", UNDER),
        ("age = 42", UNDER),
        ("'42' IN (age, ward)", UNDER),
        ("coalesce(age, '?') = '42'", UNDER),
        ("EXISTS (SELECT 1 FROM (VALUES ('42')) AS v(x) WHERE x = age)", UNDER),
        ("EXISTS (SELECT 1 FROM unnest(['42']) AS v(x) WHERE x = age)", UNDER),
        ("(SELECT s.age FROM stays AS s LIMIT 1) = '42'", UNDER),
        ("age IN (SELECT lower(x) FROM (VALUES ('42')) AS v(x))", "a text that the query computes"),
        ("admitted = '2024-01-09'", "tv_count_between(admitted, DATE '2024-01-09', DATE '2024-01-09')"),
        ("age = 'gone'", "with those of these labels that it may be under"),
        ("age >= '65'", "coalesce(age_from >= …, FALSE) for those who certainly are, coalesce(age_to >= …, TRUE)"),
        ("'65' > age", BETWEEN),
        ("age BETWEEN '10' AND '20'", BETWEEN),
        ("stay > '5'", "compare stay_rank"),
        ("age_from >= 65", BETWEEN),
        ("65 > age_to", BETWEEN),
        ("age_from BETWEEN 12 AND 20", BETWEEN),
        ("NOT (charge > 3 AND age_to < 65)", BETWEEN),
        ("age_from = 9", BETWEEN),
        ("(age, ward) IN (('42', 'a'))", AS_VALUE),
        ("left(age, 2) = '[9'", AS_VALUE),
        ("age || '' = '42'", AS_VALUE),
        ("list_contains([age], '42')", AS_VALUE),
        ("abs(age_from - 65) <= 5", AS_VALUE),
        ("age SIMILAR TO '4.*'", "'4.*'', which is no label"),
        ("age LIKE 42", "a text that the query computes"),
    ],
)  # fmt: skip
def test_labels_are_not_taken_for_values(connection: duckdb.DuckDBPyConnection, condition: str, told: str) -> None:
    statement = f"SELECT count(*) FROM stays WHERE {condition}"
    assert told in str(refusal(connection, statement))
    assert checked(connection, statement, lenient=True).hint


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT DISTINCT age FROM stays ORDER BY age", "select age_rank as well"),
        ("SELECT age AS a, count(*) FROM stays GROUP BY a ORDER BY a", "write ORDER BY min(age_rank)."),
        ("SELECT ward, MIN( age ) FROM stays GROUP BY ward", "Write (tv_min(age)).low and (tv_min(age)).high, or ask"),
        ("SELECT median(age) FROM stays", "Write (tv_median(age)).low"),
        ("SELECT age_to, first(charge) FROM stays GROUP BY ALL", "Write GROUP BY age"),
        ("SELECT (SELECT age LIMIT 1), charge FROM stays ORDER BY 1", "select age_rank as well"),
        ("SELECT age, charge FROM stays ORDER BY ALL", "ORDER BY age_rank"),
        ("SELECT age FROM stays UNION SELECT ward FROM stays ORDER BY age", "select age_rank as well"),
        ("SELECT arg_max(charge, age) FROM stays", AS_VALUE),
        ("PIVOT stays ON ward USING avg(age_from)", "Write (tv_mean(age)).low"),
        ("PIVOT stays ON age IN ('42') USING count(*)", UNDER),
        ("PIVOT stays ON age_from USING count(*) GROUP BY ward", "Write GROUP BY age"),
        ("SELECT max(v) FROM (UNPIVOT stays ON age, ward INTO NAME n VALUE v)", "tv_max"),
        ("SELECT max(COLUMNS(*)) FROM stays", "Write (tv_max(age)).low"),
        ("SELECT x FROM (SELECT COLUMNS('^age$') AS x FROM stays) WHERE x = '42'", UNDER),
        ("WITH t(k) AS (SELECT age FROM stays) SELECT count(*) FROM t AS x WHERE x.k = '42'", UNDER),
        ("SELECT k FROM stays, LATERAL (SELECT age AS k) AS l WHERE k = '42'", UNDER),
        ("SELECT AGE AS k FROM STAYS WHERE K = '42'", UNDER),
        ("SELECT age FROM stays EXCEPT SELECT '42'", UNDER),
        ("SELECT stays FROM stays", "Select its columns."),
        ("SELECT main.stays, releases.main.stays FROM stays", "Select its columns."),
        ("SELECT avg((age_from + age_to) / 2.0) FROM stays", AS_VALUE),
        ("SELECT age_from // 10 * 10 AS band, count(*) FROM stays GROUP BY band", AS_VALUE),
        ("SELECT year(admitted_from), count(*) FROM stays GROUP BY ALL", AS_VALUE),
        ("SELECT age_from, count(*) FROM stays GROUP BY age_from", "Write GROUP BY age"),
        ("SELECT f, count(*) FROM (SELECT age_from AS f FROM stays) GROUP BY f", "Write GROUP BY age"),
        ("SELECT mode(age_from) FROM stays", AS_VALUE),
        ("SELECT avg(age_rank) FROM stays", "Write (tv_mean(age)).low"),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age_from) FROM stays", "tv_quantile(age, 0.9)"),
        ("SELECT count(*) FROM stays_estimated WHERE ward = 'a'", "ward IN ('a', '*') for all who may be meant."),
        ("SELECT left(ward, 1) FROM stays_estimated", "Ask stays, where ward_rank stands beside them."),
        ("SELECT count(*) FROM stays WHERE stay = '9'", "or ask stays_estimated, which has values in place of labels"),
        # The estimated table has the labels of ward, too.
        ("SELECT count(*) FROM stays WHERE ward = 'a'", "ward_rank = 1 for the label alone."),
        # Estimated texts are those that the release shows: others would be counted 0 times.
        ("SELECT count(*) FROM stays_estimated WHERE stay = '11'", "Write stay IN ('9')"),
        ("SELECT sum((s IN ('9', '11'))::INT) FROM (SELECT stay AS s FROM stays_estimated)", "Write stay IN ('9')"),
        ("SELECT count(*) FROM stays_estimated WHERE stay LIKE '1%'", "Write stay IN ('9')"),
        ("SELECT sum(age_from) FROM stays", "Write (tv_mean(age)).low and"),
        ("SELECT count(DISTINCT age) FROM stays", "Write count(DISTINCT age_rank) for the number of labels"),
        ("SELECT ntile(4) OVER (ORDER BY age_rank) FROM stays", AS_VALUE),
        ("SELECT count(*) FROM stays a JOIN coded b ON a.age_rank = b.zip_rank", "Compare the labels."),
        ("SELECT ward, tv_mean(age) AS m FROM stays GROUP BY ward ORDER BY m", "a part of the answer"),
        ("SELECT count(*) FROM coded WHERE zip = '02139'", "Write zip IN ('0****', '0213*', '02***', '*')"),
        ("SELECT count(*) FROM coded WHERE zip LIKE '021%'", "Write zip IN ('0213*', '0****', '02***', '*')"),
    ],
)  # fmt: skip
def test_labels_are_not_taken_for_values_anywhere(
    connection: duckdb.DuckDBPyConnection, statement: str, told: str
) -> None:
    assert told in str(refusal(connection, statement))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT nullif('42', age) IS NULL FROM stays",
        "SELECT nullif(9, age_from) IS NULL FROM stays",
        "SELECT count(*) FROM stays WHERE age NOT LIKE '[9, 10]'",
        "SELECT count(*) FROM stays AS t(k) WHERE k = '42'",
        "SELECT max(k) FROM main.stays AS t(k, f) JOIN coded ON f > 3",
        "SELECT '42' INTERSECT SELECT age FROM stays",
        "SELECT '42' EXCEPT SELECT age FROM stays",
        "SELECT * FROM stays ORDER BY *",
        "SELECT charge FROM stays ORDER BY stays.*",
        "SELECT a.charge FROM stays a ASOF JOIN stays b USING (charge, age)",
        "SELECT avg(age_rank * 1.0) FROM stays",
        "SELECT avg(a) FROM (SELECT age_rank::DOUBLE AS a FROM stays)",
        "SELECT stddev(age_rank), list_avg(list(age_rank)) FROM stays",
        "SELECT avg(abs(age_rank)), sum(age_rank | 0) FROM stays",
        "SELECT sum(x) FROM (SELECT unnest(list(sqrt(age_rank))) AS x FROM stays)",
        "SELECT avg(x) FROM stays, unnest([greatest(age_rank, 0)]) AS u(x)",
        "SELECT list_avg(list(abs(age_rank))) FROM stays",
        "SELECT count(*) FROM stays a JOIN coded b ON a.age_rank - b.zip_rank = 0",
        "SELECT count(*) FROM stays a JOIN stays b ON a.age = b.ward",
        "SELECT count(*) FROM stays WHERE age IN (SELECT ward FROM stays)",
        "SELECT age AS charge FROM stays ORDER BY charge",
        "SELECT * REPLACE (age AS charge) FROM stays ORDER BY (charge)",
        "WITH a(x, y) AS (SELECT ward, age FROM stays) SELECT count(*) FROM a AS b(p, q) WHERE q = '42'",
        "SELECT count(DISTINCT age_from) FROM stays",
        "SELECT DISTINCT ON (age_from) charge FROM stays",
        "SELECT * FROM (PIVOT stays ON ward IN ('a', '*') USING first(age)) WHERE a = '42'",
        "WITH p AS (PIVOT stays ON ward IN ('a', '*') USING first(age) AS f) SELECT min(a_f) FROM p",
    ],
)
def test_odd_ways_to_take_labels_for_values_are_refused(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    refusal(connection, statement)


def test_pivot_finds_no_values_of_columns_that_are_named_anew(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(InvalidError, match="PIVOT without a list of values"):
        checked(connection, "PIVOT stays AS t(ward) ON ward USING count(*)")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT DISTINCT ON (age_rank) charge, age_rank + 1, -age_rank FROM stays WHERE age_rank * 2 < 4",
        "SELECT t.k, f FROM stays AS t(k, f) WHERE t.k = '>= 90' AND ward IS NOT NULL",
        "SELECT tv_mean(k) FROM stays AS t(k, f, u)",
        "SELECT count(*) FROM stays a ASOF JOIN stays b USING (age_rank, charge)",
        "SELECT nullif(age_rank, 3), nullif(age, '*') FROM stays",
        "SELECT sum(CASE age_rank WHEN 1 THEN charge END), max(abs(age_rank)), sum(nullif(1, age_rank)) FROM stays",
        "SELECT avg(charge) FROM stays WHERE abs(age_rank - 2) <= 1 AND list_contains([1, 2], age_rank)",
        "SELECT charge AS age FROM stays ORDER BY age",
        "SELECT * REPLACE (charge AS age) FROM stays ORDER BY age",
        "SELECT * FROM (SELECT ward, age FROM stays) PIVOT (count(*) FOR ward IN ('a', '*'))",
    ],
)  # fmt: skip
def test_odd_ways_that_are_right_pass(ann: flight_sql.Connection, statement: str) -> None:
    assert ask(ann, statement)


@pytest.mark.parametrize(
    "asked",
    [
        "month(admitted)",
        "extract(month FROM admitted)",
        "date_part('dow', admitted)",
        "dayofweek(admitted + INTERVAL 1 DAY)",
        "dayname(greatest(admitted, noted))",
        "strftime(admitted, '%m')",
        "strftime(admitted, '%Y-%d')",
        "strftime(noted, '%Y-%m-%d %a')",
        "quarter(max(admitted))",
        "day(noted)",
        "CAST(noted AS TIME)",
        "age % 10",
        "mod(age, 2)",
        "(age + 1) % 2",
        "epoch(noted) % 86400",
        "strftime('%m', admitted)",
        "strftime(noted, '%Y-%m-%d %I')",
        "(admitted::VARCHAR)[6:7]",
        "split_part(admitted::VARCHAR, '-', 2)",
        "substr(admitted::VARCHAR, 6, 2)",
        "(age::VARCHAR LIKE '%5')::INT",
        "date_diff('day', date_trunc('year', admitted), admitted)",
        "(last_day(admitted) - admitted)",
        "age - age // 10 * 10",
        "age - 10 * floor(age / 10)",
        "(age / 2 = age // 2)::INT",
        "(age IN (0, age // 10 * 10))::INT",
        "CASE age WHEN age // 10 * 10 THEN 1 ELSE 0 END",
        "ifnull(nullif(age, age // 10 * 10), 0)",
        "epoch(age(admitted, date_trunc('year', admitted)))",
        "bit_xor(age)",
        "(lpad(age::VARCHAR, 3, '0')[3])::INT",
        "(age::VARCHAR ~ '.5')::INT",
        "(age::VARCHAR SIMILAR TO '.5')::INT",
        "age & 1",
        "age + -(age // 10 * 10)",
        "(age > age // 10 * 10 + 5)::INT",
        "gcd(age, 2)",
        "sin(age * pi())",
        "month(COLUMNS('^admitted$'))",
    ],
)
def test_cyclic_parts_of_estimates_are_refused_where_labels_are_wider(
    connection: duckdb.DuckDBPyConnection, asked: str
) -> None:
    ways = (
        f"SELECT {asked} FROM stays_estimated",
        f"WITH x AS (SELECT * FROM stays_estimated) SELECT count(*) FROM x GROUP BY {asked}",
        f"SELECT count(*) FROM (SELECT age + 0 AS age, admitted, date_trunc('day', noted) AS noted FROM "
        f"Stays_Estimated) AS e HAVING min({asked}) > 0",
    )
    for statement in ways:
        with pytest.raises(InvalidError, match="no assumption can") as raised:
            checked(connection, statement)
        assert raised.value.code == "LABELS_TOO_WIDE"
        assert checked(connection, statement, lenient=True).hint


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT a - b FROM (SELECT age AS a, age // 10 * 10 AS b FROM stays_estimated)",
        "WITH x AS (SELECT admitted AS d, date_trunc('year', admitted) AS y FROM stays_estimated) SELECT d - y FROM x",
        "SELECT age - b FROM stays_estimated, LATERAL (SELECT age // 10 * 10 AS b) AS l",
        "SELECT substr(d, 6, 2) FROM (SELECT admitted::VARCHAR AS d FROM stays_estimated)",
        "SELECT month(k) FROM stays_estimated AS t(a, b, c, d, k)",
        "SELECT month(a) FROM (PIVOT stays_estimated ON ward IN ('a', '*') USING first(admitted))",
    ],
)
def test_cyclic_parts_are_found_through_names(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    with pytest.raises(InvalidError, match="no assumption can"):
        checked(connection, statement)


@pytest.mark.parametrize(
    "asked",
    [
        "year(admitted), month(noted), date_part('year', admitted), extract(decade FROM admitted)",
        "date_trunc('month', admitted), time_bucket(INTERVAL 1 MONTH, admitted), last_day(admitted)",
        "strftime(admitted, '%Y-%m-%d'), strftime(noted, '%m'), extract(quarter FROM noted)",
        "age // 10 * 10, age - 1, charge % 3, month(DATE '2024-02-02')",
        "if(age > 65, 'old', 'young'), (admitted::VARCHAR)[1], CASE age WHEN 42 THEN 1 END, age IN (42, 43)",
        "left(admitted::VARCHAR, 7), substr(admitted::VARCHAR, 1, 4), age::VARCHAR LIKE '4%'",
        "age - avg(age) OVER (), age - (SELECT floor(avg(age)) FROM stays_estimated), COLUMNS('charge') % 2",
    ],
)
def test_truncations_of_estimates_pass(connection: duckdb.DuckDBPyConnection, asked: str) -> None:
    assert checked(connection, f"SELECT {asked} FROM stays_estimated").hint == ""


def test_parameters_are_texts_as_any_other(ann: flight_sql.Connection) -> None:
    statement = "SELECT count(*) FROM stays WHERE age = ? AND charge >= ?"
    with ann.cursor() as cursor:
        cursor.execute(statement, (">= 90", 0))
        assert cursor.fetchall() == [(3,)]
        for text in ("42", "[9, 10]"):
            with pytest.raises(flight_sql.Error, match="LABELS_MISREAD"):
                cursor.execute(statement, (text, 0))
        # Each row has to ask for whole labels.
        for texts in ((">= 90", "42"), ("[9, 10]", ">= 90"), ("[9, 10]", "[9, 80]"), (">= 90", None, "gone")):
            with pytest.raises(flight_sql.Error, match="LABELS_MISREAD"):
                cursor.execute(statement, pa.record_batch({"age": texts, "charge": [0] * len(texts)}))
        cursor.execute(statement, pa.record_batch({"age": [">= 90", None, "*"], "charge": [0, 0, None]}))
        assert cursor.fetchall() == [(3,), (0,), (0,)]
        listed = pa.record_batch({"a": [">= 90", "[9, 10]"], "b": ["*", "[9, 80]"]})
        cursor.execute("SELECT count(*) FROM stays WHERE age IN (?, ?)", listed)
        assert cursor.fetchall() == [(3,), (6,)]


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("SELECT tv_mean(age) FROM stays", 'SELECT tv_mean(age, "age_from", "age_to") FROM'),
        ("SELECT (TV_MEAN( s.age )).low FROM stays s",
         'SELECT (TV_MEAN( s.age, "s"."age_from", "s"."age_to" )).low FROM'),
        ("SELECT tv_mean(age, age_from, age_to).low FROM stays", "SELECT tv_mean(age, age_from, age_to).low"),
        ("SELECT tv_count_between(a, 1, NULL) FROM (SELECT age AS a, age_from AS f, age_to AS t FROM stays)",
         'SELECT tv_count_between(a, "f", "t", 1, NULL) FROM'),
        ("WITH x AS (FROM stays) SELECT tv_max(age) FROM x AS y", 'tv_max(age, "y"."age_from", "y"."age_to")'),
        ('SELECT ("tv_Mean"(age /* ( */) FILTER (/* ) */ WHERE charge > (3))).low FROM stays',
         'SELECT (tv_mean_filtered(age, "age_from", "age_to" /* ( */,  charge > (3))).low FROM'),
        ("SELECT tv_count_between(age, 9, (10)) FILTER (charge > 3) FROM stays",
         'SELECT tv_count_between_filtered(age, "age_from", "age_to", 9, (10), charge > 3) FROM'),
        ("SELECT tv_max(age, age_from, age_to) FILTER (WHERE ward IS NOT NULL) FROM stays",
         "SELECT tv_max_filtered(age, age_from, age_to,  ward IS NOT NULL) FROM"),
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
        (
            "SELECT tv_mean(age) FILTER (WHERE random() < 0.5) FROM stays",
            "Let a subquery in FROM select it as a column.",
        ),
        ("SELECT tv_mean(age) FILTER (EXISTS (FROM coded)) FROM stays", "with FILTER of a subquery, or of chance"),
        ("SELECT tv_mean_filtered(age, age_from, age_to, true) FROM stays", "the function 'tv_mean_filtered'"),
        ("SELECT tv_mean(age, age_from, age_to) OVER () FROM stays", "tv_mean with OVER"),
        ("SELECT tv_mean(age) FILTER (WHERE charge > 3) OVER () FROM stays", "tv_mean with OVER"),
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
    assert (
        table.schema.metadata[b"tableveil.hint"] == b"Write (tv_max(age)).low and (tv_max(age)).high"
        b", or ask stays_estimated, which has values in place of labels."
    )


FILTERS = (
    "charge > 30",
    "charge > 30 OR NULL",
    "false",
    "ward IN ('b', '*') AND admitted IS NOT NULL",
    "age = '>= 90'",
)


@pytest.mark.parametrize(
    "call",
    [
        *("tv_count_between(age, 11, 95)", "tv_share_between(age, NULL, 10)", "tv_mean(age)", "tv_min(age)"),
        *("tv_max(age)", "tv_median(age)", "tv_quantile(age, 0.8)", "tv_mean(admitted)", "tv_quantile(noted, 0)"),
        "tv_count_between(admitted, DATE '2024-01-01', DATE '2024-06-30')",
    ],
)
def test_filters_of_functions_are_those_of_their_records(ann: flight_sql.Connection, call: str) -> None:
    for condition in FILTERS:
        filtered = ask(ann, f"SELECT {call} FILTER (WHERE {condition}), {call} FROM stays")
        one_by_one = ask(ann, f"SELECT (SELECT {call} FROM stays WHERE {condition}), (SELECT {call} FROM stays)")
        assert filtered == one_by_one, condition
    grouped = f"SELECT ward, {call} FILTER (WHERE charge > ward_rank * 20) FROM stays GROUP BY ward"
    wards = [(ward, ask(ann, f"SELECT {call} FROM stays WHERE ward_rank = {rank} AND charge > {rank * 20}")[0][0])
             for rank, ward in enumerate(("a", "b", "*"), 1)]  # fmt: skip
    assert sorted(ask(ann, grouped), key=repr) == sorted(wards, key=repr)


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
    assert "bounds of the labels in 'age' in a comparison by >= with 65, and 2 labels on both sides of it;" in told


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
        column = LabelColumn(ReleaseTable(1, "main", "released"), "n", type_)
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
            assert look.labels(column).on_both_sides(operator, str(limit)) == mixed, limit
