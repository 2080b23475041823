"""A source query: what may be one, what may not and why, and that its rows are those the statement says."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InvalidError
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import Source, fingerprint, resolve_source
from tableveil.source.model import SNAPSHOT
from tableveil.source.query import resolve_query
from tableveil.source.query_plan import check_functions
from tableveil.source.query_statement import MOST_CHARACTERS, read_statement
from tests.tried import tried_here


@pytest.fixture(scope="module", autouse=True)
def tried() -> Iterator[None]:
    """No query is tried in a process of its own."""
    with tried_here():
        yield


@pytest.fixture(scope="module")
def tables(shared_database: Database) -> Database:
    with shared_database.session() as session:
        for statement in (
            "CREATE TYPE mood AS ENUM ('low', 'high')",
            "CREATE TABLE people (id INTEGER, age INTEGER, ward INTEGER, cost DOUBLE, paid DECIMAL(10, 2), "
            "born DATE, seen TIMESTAMP, note VARCHAR, mood mood)",
            "CREATE TABLE wards (ward INTEGER PRIMARY KEY, name VARCHAR, city VARCHAR)",
            "INSERT INTO people SELECT i, 20 + i % 50, i % 4, i / 7, i / 4, DATE '1950-01-01' + i::INTEGER, "
            "TIMESTAMP '2020-01-01' + to_hours(i), 'note ' || i % 3, ['low', 'high'][1 + i % 2] FROM range(60) r(i)",
            "INSERT INTO wards SELECT i, 'ward ' || i, 'city ' || i % 2 FROM range(4) r(i)",
            'CREATE SCHEMA "we.ird"',
            'CREATE TABLE "we.ird"."q""t" AS SELECT 1 AS "Group", 2 AS "x y"',
            "CREATE TABLE main.Übung AS SELECT 1 AS ä",
            "CREATE TABLE coded (code VARCHAR COLLATE nocase)",
            "CREATE VIEW seniors AS SELECT * FROM people WHERE age > 60",
            "CREATE VIEW files AS SELECT 1 AS one",
            "CREATE MACRO plus_one(x) AS x + 1",
            "CREATE MACRO everything() AS TABLE SELECT * FROM people",
            "CREATE SEQUENCE counter",
        ):
            session.execute(statement)
    return shared_database


@pytest.fixture
def database(tables: Database) -> Database:
    return tables


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED = {
    # no single SELECT
    "": "0 statements",
    "-- nothing": "0 statements",
    "SELECT id FROM people; SELECT 1": "2 statements",
    "SELECT id FROM people; DROP TABLE people": "no SELECT",
    "DROP TABLE people": "no SELECT",
    "INSERT INTO people (id) VALUES (1)": "no SELECT",
    "UPDATE people SET age = 1": "no SELECT",
    "DELETE FROM people": "no SELECT",
    "CREATE TABLE stolen AS SELECT * FROM people": "no SELECT",
    "COPY people TO 'stolen.csv'": "no SELECT",
    "COPY (SELECT * FROM people) TO 'stolen.csv'": "no SELECT",
    "ATTACH 'other.duckdb'": "no SELECT",
    "PRAGMA database_list": "no SELECT",
    "SET threads = 1": "no SELECT",
    "CALL pragma_version()": "no SELECT",
    "EXPLAIN SELECT 1": "no SELECT",
    "INSTALL httpfs": "no SELECT",
    "PREPARE p AS SELECT 1": "no SELECT",
    "EXECUTE p": "no SELECT",
    "BEGIN": "no SELECT",
    "VACUUM": "no SELECT",
    "EXPORT DATABASE 'd'": "no SELECT",
    "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone": "DELETE",
    "WITH new AS (INSERT INTO wards VALUES (9, 'x', 'y') RETURNING *) SELECT * FROM new": "INSERT",
    "WITH new AS (UPDATE people SET age = 1 RETURNING *) SELECT * FROM new": "UPDATE",
    "SELECT id FROM people WHERE": "syntax error",
    "SELEC id FROM people": 'syntax error at or near "SELEC" in line 1, column 1',
    "SELECT id\nFROM people\nWHERE (age > 3": "syntax error",
    "DESCRIBE people": "DESCRIBE",
    "SUMMARIZE people": "SUMMARIZE",
    "SHOW TABLES": "SHOW",
    "FROM (DESCRIBE people)": "DESCRIBE",
    "PIVOT people ON ward USING count(*)": "no SELECT",
    "FROM (PIVOT people ON ward IN (1, 2) USING count(*))": "PIVOT",
    "SELECT id FROM people WHERE age > ?": "a parameter in line 1, column 35",
    "SELECT id FROM people WHERE age > $least": "a parameter",
    # what is no table of the server's database
    "FROM 'people.csv'": "'people.csv' in line 1",
    'FROM "/etc/passwd"': "which is not there",
    "FROM read_csv('people.csv')": "the table function 'read_csv' in line 1, column 6",
    "FROM read_parquet('people.parquet')": "'read_parquet'",
    "SELECT content FROM read_text('/etc/passwd')": "'read_text'",
    "SELECT content FROM read_blob('/etc/passwd')": "'read_blob'",
    "SELECT (SELECT content FROM read_text('/etc/passwd')) AS content FROM people": "'read_text'",
    "SELECT id FROM people WHERE EXISTS (FROM glob('*'))": "'glob'",
    "FROM query('SELECT * FROM people')": "'query'",
    "FROM query_table('people')": "'query_table'",
    "FROM sniff_csv('people.csv')": "'sniff_csv'",
    "FROM duckdb_tables()": "'duckdb_tables'",
    "FROM duckdb_settings()": "'duckdb_settings'",
    "FROM duckdb_secrets()": "'duckdb_secrets'",
    "FROM pragma_table_info('people')": "'pragma_table_info'",
    "FROM parquet_metadata('people.parquet')": "'parquet_metadata'",
    "FROM json_execute_serialized_sql('{}')": "'json_execute_serialized_sql'",
    "FROM main.read_csv('people.csv')": "'read_csv'",
    "FROM everything()": "the table function 'everything'",
    "FROM duckdb_tables": "'duckdb_tables' in line 1, column 6, which is not there",
    "FROM information_schema.tables": "which is not there",
    "FROM pg_catalog.pg_class": "which is not there",
    "FROM sqlite_master": "which is not there",
    "FROM tableveil.releases": "Tableveil's own state",
    "SELECT id FROM people WHERE id IN (SELECT number FROM TABLEVEIL.jobs)": "Tableveil's own state",
    "FROM test.tableveil.secrets": "Tableveil's own state",
    "FROM other.main.people": "of another database",
    "FROM temp.main.people": "of another database",
    "FROM system.main.duckdb_tables": "of another database",
    "FROM seniors": "the view 'seniors' in line 1, column 6",
    "WITH x AS (FROM main.seniors) FROM x": "the view 'main.seniors'",
    "FROM peple": "'peple' in line 1, column 6, which is not there",
    "WITH x AS (SELECT 1 AS a) FROM y": "'y'",
    "(FROM secret) UNION ALL (WITH secret AS (FROM people) FROM secret)": "'secret' in line 1, column 7, which",
    "SELECT * FROM people AT (VERSION => 1)": "AT",
    # what differs from run to run
    "SELECT random() AS r FROM people": "'random' in line 1, column 8",
    "SELECT id,\n  uuid() AS u FROM people": "'uuid' in line 2, column 3",
    "SELECT gen_random_uuid() AS u FROM people": "'gen_random_uuid'",
    "SELECT uuidv7() AS u FROM people": "'uuidv7'",
    "SELECT now() AS t FROM people": "'now'",
    "SELECT today() AS t FROM people": "'today'",
    "SELECT current_timestamp AS t FROM people": "current_timestamp",
    "SELECT current_date AS t FROM people": "current_date",
    "SELECT localtimestamp AS t FROM people": "'current_localtimestamp'",
    "WITH Ü AS (FROM people) FROM ü": "'ü' in line 1, column 30, which is not there",
    "SELECT ago(INTERVAL 1 DAY) AS t FROM people": "'get_current_timestamp' in line 1, column 8",
    "SELECT id FROM people WHERE seen < current_timestamp": "'get_current_timestamp' in line 1, column 36",
    "SELECT date_diff('year', born, CURRENT_DATE) AS age FROM people": "'current_date'",
    "SELECT pg_conf_load_time() AS t FROM people": "'get_current_timestamp'",
    "SELECT current_catalog AS c FROM people": "'current_database'",
    "SELECT age(seen) AS a FROM people": "'age' of one argument",
    "SELECT nextval('counter') AS n FROM people": "'nextval'",
    "SELECT currval('counter') AS n FROM people": "'currval'",
    "SELECT setseed(0.5) AS s FROM people": "'setseed'",
    "SELECT txid_current() AS t FROM people": "'txid_current'",
    "SELECT getvariable('x') AS v FROM people": "'getvariable'",
    "SELECT current_setting('threads') AS v FROM people": "'current_setting'",
    "SELECT getenv('HOME') AS v FROM people": "getenv",
    "SELECT current_query() AS v FROM people": "'current_query'",
    "SELECT sleep_ms(1000) AS v FROM people": "'sleep_ms'",
    "SELECT write_log('x') AS v FROM people": "'write_log'",
    "SELECT error('x') AS v FROM people": "'error'",
    "SELECT stats(age) AS v FROM people": "'stats'",
    "SELECT json_serialize_plan('FROM read_csv(''x.csv'')') AS v FROM people": "'json_serialize_plan'",
    "SELECT pg_get_viewdef(1) AS v": "a scan by 'duckdb_views'",
    "SELECT plus_one(age) AS v FROM people": "the macro 'plus_one' in line 1, column 8",
    "SELECT Random() AS r FROM people": "'random'",
    'SELECT main."random"() AS r FROM people': "'random'",
    "SELECT list_transform([1], lambda x: x + random()) AS r FROM people": "'random'",
    "SELECT id FROM people WHERE random() < 0.5": "'random'",
    "SELECT id FROM people ORDER BY random()": "'random'",
    "SELECT id FROM people TABLESAMPLE 10%": "a sample",
    "SELECT id FROM people USING SAMPLE 10": "a sample",
    "SELECT id FROM people LIMIT 5": "LIMIT",
    "SELECT id FROM people ORDER BY age LIMIT 5": "LIMIT",
    "SELECT id FROM people ORDER BY id OFFSET 5": "LIMIT or OFFSET",
    "SELECT id FROM people LIMIT 10%": "LIMIT",
    "SELECT id FROM people WHERE age = (SELECT age FROM people ORDER BY id LIMIT 1)": "LIMIT",
    "SELECT DISTINCT ON (ward) ward, id FROM people": "DISTINCT ON in line 1, column 21",
    "SELECT ward, first(id) AS id FROM people GROUP BY ward": "'first' in line 1, column 14",
    "SELECT ward, last(id) AS id FROM people GROUP BY ward": "'last'",
    "SELECT ward, any_value(id) AS id FROM people GROUP BY ward": "'any_value'",
    "SELECT ward, arg_max(id, age) AS id FROM people GROUP BY ward": "'arg_max'",
    "SELECT ward, max_by(id, age ORDER BY age) AS id FROM people GROUP BY ward": "'max_by'",
    "SELECT ward, mode(age) AS age FROM people GROUP BY ward": "'mode'",
    "SELECT ward, string_agg(note, ',') AS notes FROM people GROUP BY ward": "'string_agg'",
    "SELECT ward, string_agg(note, ',' ORDER BY age) AS notes FROM people GROUP BY ward": "'string_agg'",
    "SELECT ward, list(note)::VARCHAR AS notes FROM people GROUP BY ward": "'list'",
    "SELECT ward, list(id::VARCHAR ORDER BY age)::VARCHAR AS ids FROM people GROUP BY ward": "'list'",
    "SELECT ARRAY(SELECT id FROM people)::VARCHAR AS ids": "'array_agg'",
    "SELECT ward, sum(cost) AS cost FROM people GROUP BY ward": "'sum' in line 1, column 14",
    "SELECT ward, avg(cost) AS cost FROM people GROUP BY ward": "'avg'",
    "SELECT ward, stddev(age) AS spread FROM people GROUP BY ward": "'stddev'",
    "SELECT ward, geomean(age) AS mean FROM people GROUP BY ward": "'avg'",
    "SELECT ward, approx_quantile(cost, 0.5) AS m FROM people GROUP BY ward": "'approx_quantile'",
    "SELECT ward, reservoir_quantile(cost, 0.5) AS m FROM people GROUP BY ward": "'reservoir_quantile'",
    "SELECT json_group_array(id)::VARCHAR AS ids FROM people": "'string_agg'",
    "SELECT id, row_number() OVER (ORDER BY age) AS n FROM people": "'row_number' in line 1, column 12",
    "SELECT id, lag(age) OVER (ORDER BY age) AS before FROM people": "'lag'",
    "SELECT id, ntile(4) OVER (ORDER BY age) AS n FROM people": "'ntile'",
    "SELECT id, first_value(id) OVER (ORDER BY age) AS n FROM people": "'first_value'",
    "SELECT id FROM people QUALIFY row_number() OVER (PARTITION BY ward ORDER BY age) = 1": "'row_number'",
    "SELECT id, sum(cost) OVER (PARTITION BY ward) AS c FROM people": "'sum' over a window",
    "SELECT id, sum(age) OVER (ORDER BY age ROWS 1 PRECEDING) AS c FROM people": "'sum' over a frame of ROWS",
    "SELECT rowid AS r, id FROM people": "rowid",
    "SELECT p.ROWID AS r, id FROM people p": "rowid",
    "SELECT p.id FROM people p POSITIONAL JOIN wards": "POSITIONAL JOIN",
    "SELECT p.id FROM people p ASOF JOIN wards w ON p.ward >= w.ward": "ASOF JOIN",
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) FROM n": "WITH RECURSIVE",
    # names
    "SELECT id, age + 1 FROM people": "column 2 without a name in line 1, column 16",
    "SELECT count(*) FROM people": "column 1 without a name",
    "SELECT count(*) FROM people UNION ALL SELECT 1 AS n": "column 1 without a name",
    "SELECT id, ID FROM people": "2 columns called 'id'",
    "FROM people JOIN wards ON people.ward = wards.ward": "2 columns called 'ward'",
    "SELECT nosuch FROM people": 'Referenced column "nosuch" not found',
    "SELECT nosuch(id) AS n FROM people": "nosuch",
    # what no parser should meet
    "SELECT bit_count('0101'::BIT) AS b FROM people": "cannot describe",
    "SELECT " + "-1" * 9000 + " AS n": "nested too deeply",
    "SELECT 'a\0b' AS n": "a null character",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000 + " AS n": "nested too deeply",
    "SELECT " + "NOT " * 900 + "true AS n": "nested too deeply",
    "FROM " + "(FROM " * 900 + "people" + ")" * 900: "nested too deeply",
    "SELECT 1 AS n" + " " * MOST_CHARACTERS: "characters",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: " ".join(text.split())[:70])
def test_what_is_no_source_is_refused_and_says_what_it_is(session: Session, text: str) -> None:
    query, faults = resolve_query(session, text)
    assert query is None
    assert {fault.field for fault in faults} == {"source_query"}
    assert any(REFUSED[text] in fault.found for fault in faults), [fault.found for fault in faults]
    assert all(fault.expected and len(fault.found) < 400 for fault in faults)


def test_every_function_that_the_catalog_calls_inconsistent_is_refused(session: Session) -> None:
    names = [
        name
        for (name,) in session.rows(
            # Functions of times with a zone depend on the zone, which the server sets and locks.
            "SELECT function_name FROM duckdb_functions() GROUP BY ALL "
            "HAVING bool_or(stability <> 'CONSISTENT' AND (len(parameter_types) = 0 OR "
            "concat_ws(' ', return_type, parameter_types::VARCHAR) NOT SIMILAR TO '.*(WITH TIME ZONE|TIMESTAMPTZ).*')) "
            "ORDER BY ALL"
        )
    ]
    assert {"random", "nextval", "now", "current_setting", "uuid"} <= set(names)
    found = {fault.found for fault in check_functions(session, dict.fromkeys(names, ""))}
    assert found == {f"'{name}'" for name in names}


def test_every_table_function_but_those_of_their_arguments_is_refused(session: Session) -> None:
    names = {
        name
        for (name,) in session.rows(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('table', 'table_macro')"
        )
    }
    assert {"read_csv", "read_text", "query", "duckdb_tables", "everything"} <= names
    accepted = {name for name in names if not read_statement(session, f"""FROM "{name}"('x')""")[1]}
    assert accepted == {"generate_series", "range", "unnest"}


def test_all_that_is_wrong_in_a_statement_is_said_at_once(session: Session) -> None:
    _, faults = resolve_query(session, "SELECT DISTINCT ON (id) id FROM read_csv('x'), a TABLESAMPLE 1% LIMIT 3")
    assert [fault.found.split(" in ")[0] for fault in faults] == [
        "DISTINCT ON",
        "LIMIT or OFFSET",
        "the table function 'read_csv'",
        "a sample",
    ]


# --- what is accepted -------------------------------------------------------------------------------------------------

PEOPLE, WARDS = "people", "wards"

ACCEPTED = {
    "SELECT * FROM people": {PEOPLE},
    "FROM people": {PEOPLE},
    "FROM PEOPLE;": {PEOPLE},
    "select id, age from main.people where age between 30 and 40 -- some": {PEOPLE},
    "/* all */ FROM test.main.people": {PEOPLE},
    "SELECT p.id, test.main.people.age FROM people, people p WHERE p.id = people.id": {PEOPLE},
    "SELECT id, name FROM people JOIN wards USING (ward)": {PEOPLE, WARDS},
    "SELECT id, name FROM people NATURAL JOIN wards": {PEOPLE, WARDS},
    "SELECT id, name FROM people LEFT JOIN wards w ON w.ward = people.ward AND city = 'city 1'": {PEOPLE, WARDS},
    "SELECT people.* FROM people SEMI JOIN wards USING (ward)": {PEOPLE, WARDS},
    "SELECT people.* FROM people ANTI JOIN wards ON name = note": {PEOPLE, WARDS},
    "SELECT a.id, b.name FROM people AS a CROSS JOIN wards AS b": {PEOPLE, WARDS},
    "SELECT id, n FROM people, LATERAL (SELECT name AS n FROM wards WHERE wards.ward = people.ward) l": {PEOPLE, WARDS},
    "SELECT id, (SELECT name FROM wards w WHERE w.ward = p.ward) AS ward FROM people p": {PEOPLE, WARDS},
    "SELECT id, (SELECT max(age) FROM people) AS oldest, (SELECT name FROM wards WHERE ward = 1) AS w FROM people": {
        PEOPLE,
        WARDS,
    },
    "SELECT id FROM people WHERE ward IN (SELECT ward FROM wards) AND EXISTS (FROM wards)": {PEOPLE, WARDS},
    "SELECT id FROM people WHERE age >= ALL (SELECT age FROM people) OR age = ANY (SELECT ward FROM wards)": {
        PEOPLE,
        WARDS,
    },
    "WITH old AS (FROM people WHERE age > 40) SELECT * FROM old": {PEOPLE},
    "WITH a AS (FROM people), b AS MATERIALIZED (FROM a WHERE age > 30) SELECT b.* FROM a JOIN b USING (id)": {PEOPLE},
    "SELECT age, ward FROM people UNION ALL BY NAME SELECT ward, 3 AS age FROM wards": {PEOPLE, WARDS},
    "SELECT ward FROM people EXCEPT SELECT ward FROM wards": {PEOPLE, WARDS},
    "(SELECT ward FROM people INTERSECT SELECT ward FROM wards) ORDER BY ward": {PEOPLE, WARDS},
    "SELECT DISTINCT ward, age // 10 AS decade FROM people": {PEOPLE},
    "SELECT ward, count(*) AS n, min(age) AS a, max(born) AS b, bool_and(age > 3) AS c FROM people GROUP BY ward": {
        PEOPLE
    },
    "SELECT ward, sum(age) AS s, avg(age) AS a, avg(paid) AS p, sum(paid) AS q FROM people GROUP BY ALL": {PEOPLE},
    "SELECT ward, sum(cost ORDER BY cost) AS s, stddev(age ORDER BY age) AS d FROM people GROUP BY ward": {PEOPLE},
    "SELECT ward, sum(CAST(cost AS DECIMAL(18, 6))) AS s, median(cost) AS m FROM people GROUP BY ward": {PEOPLE},
    "SELECT ward, string_agg(DISTINCT note, ', ' ORDER BY note) AS notes FROM people GROUP BY ward": {PEOPLE},
    "SELECT ward, arg_max(id, age ORDER BY age, id) AS oldest, first(id ORDER BY id) AS f FROM people GROUP BY ward": {
        PEOPLE
    },
    "SELECT ward, list(id ORDER BY id)::VARCHAR AS ids FROM people GROUP BY ward": {PEOPLE},
    "SELECT ward, count(*) FILTER (WHERE age > 40) AS n FROM people GROUP BY ward HAVING count(*) > 2": {PEOPLE},
    "SELECT ward, age, grouping(age) AS g, count(*) AS n FROM people GROUP BY ROLLUP (ward, age)": {PEOPLE},
    "SELECT * FROM people QUALIFY rank() OVER (PARTITION BY ward ORDER BY seen DESC) = 1": {PEOPLE},
    "SELECT id, dense_rank() OVER w AS r, percent_rank() OVER w AS p, cume_dist() OVER w AS c "
    "FROM people WINDOW w AS (ORDER BY age)": {PEOPLE},
    "SELECT id, count(*) OVER (PARTITION BY ward) AS n, sum(age) OVER (ORDER BY age) AS s, "
    "max(cost) OVER (ORDER BY born RANGE BETWEEN INTERVAL 3 DAYS PRECEDING AND CURRENT ROW) AS m FROM people": {PEOPLE},
    "SELECT * EXCLUDE (note) REPLACE (age // 10 AS age) FROM people": {PEOPLE},
    "SELECT COLUMNS('^(id|age)$') FROM people": {PEOPLE},
    "SELECT id, CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS a, coalesce(note, '-') AS n, note LIKE '%1' AS l, "
    "age IN (1, 2) AS i, NOT (age > 3) AS x, try_cast(note AS INTEGER) AS t, -age AS m FROM people": {PEOPLE},
    "SELECT id, year(born) AS y, date_trunc('month', seen) AS m, born + INTERVAL 1 YEAR AS b, "
    "date_diff('year', born, DATE '2020-01-01') AS age, strftime(seen, '%H') AS h, age(seen, born) AS a FROM people": {
        PEOPLE
    },
    "SELECT id, mood::VARCHAR AS mood, upper(note) AS u, note || 'x' AS c, regexp_extract(note, '[0-9]') AS d, "
    "md5(note) AS h, split_part(note, ' ', 1) AS s, note[1:3] AS p, list_sum([age, 1]) AS l FROM people": {PEOPLE},
    "SELECT id, list_transform([age], lambda x: x + 1)[1] AS l, {'a': age}.a AS s FROM people": {PEOPLE},
    "SELECT p.id, r.i, u.x FROM people p, range(3) r(i), unnest([1, 2]) u(x)": {PEOPLE},
    "FROM (UNPIVOT (SELECT id, age, ward FROM people) ON age, ward)": {PEOPLE},
    "SELECT v.a, id FROM people JOIN (VALUES (1, 'x'), (2, 'y')) v(n, a) ON n = ward": {PEOPLE},
    'SELECT "Group", w."x y" AS second FROM "we.ird"."q""t" AS w': {'q"t'},
    'SELECT "a b"."c d" FROM people AS "a b" ("c d", "select")': {PEOPLE},
    "SELECT 'ümläut € $$' AS t, ü.ä FROM Übung ü": {"Übung"},
    "SELECT id AS \"rank()\", 'random()' AS \"now\" FROM people WHERE note <> 'read_text(''x'')' -- ; DROP": {PEOPLE},
    "SELECT id, code FROM people LEFT JOIN coded ON code = note": {PEOPLE, "coded"},
    "SELECT 1 AS one": set(),
    "WITH people AS (SELECT 1 AS id) FROM people": set(),
    "SELECT seen AT TIME ZONE 'UTC' AS s, 1e3 AS d, 1_000 AS t, 3.14 AS p, NULL::INTEGER AS n FROM people": {PEOPLE},
}


@pytest.mark.parametrize("text", ACCEPTED, ids=lambda text: " ".join(text.split())[:70])
def test_what_may_be_a_source_reads_these_tables_and_has_the_rows_of_the_statement(session: Session, text: str) -> None:
    query, faults = resolve_query(session, text)
    assert faults == []
    assert query is not None
    assert {table.table for table in query.tables} == ACCEPTED[text]
    assert {table.catalog for table in query.tables} <= {"test"}
    statement = text.split("--")[0].rstrip("; ")
    rows = session.rows("FROM query(?) ORDER BY ALL", [query.text])
    assert rows == session.rows(f"FROM ({statement}) ORDER BY ALL")
    assert rows or "EXCEPT" in text


def test_a_temporary_table_of_a_job_never_takes_a_tables_place(session: Session) -> None:
    query, _ = resolve_query(session, "SELECT id FROM people")
    assert query is not None
    session.execute("CREATE TEMPORARY TABLE people AS SELECT -1 AS id")
    again, _ = resolve_query(session, "SELECT id FROM people")
    assert again == query
    assert session.value("SELECT min(id) FROM query(?)", [query.text]) == 0


# --- as the source of a policy ----------------------------------------------------------------------------------------

POLICY = Policy(
    source=TableReference("", "main", ""),
    source_query="SELECT id, age, name AS ward, note FROM people JOIN wards USING (ward)",
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("note", Role.SENSITIVE),
    ),
    default_role=Role.IDENTIFYING,
    person_column="id",
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "out"),
)


def resolved(session: Session, policy: Policy) -> Source:
    source, _, faults = resolve_source(session, policy)
    assert faults == []
    assert source is not None
    return source


def test_columns_of_a_query_are_like_those_of_a_table(session: Session) -> None:
    query = (
        "SELECT id, paid * 2 AS paid, mood, born, lower(code) AS code, [1] AS list, NULL AS nothing FROM people, coded"
    )
    source, policy, faults = resolve_source(session, replace(POLICY, source_query=query, attributes=()))
    assert source is not None
    assert [(c.name, c.type) for c in source.columns] == [
        ("id", "INTEGER"),
        ("paid", "DECIMAL(18,2)"),
        ("mood", "ENUM('low', 'high')"),
        ("born", "DATE"),
    ]
    assert [a.role for a in policy.attributes] == [Role.IDENTIFYING] * 7
    assert faults == []
    released = replace(POLICY, source_query=query, attributes=(), default_role=Role.INSENSITIVE, person_column=None)
    _, _, faults = resolve_source(session, released)
    assert [(fault.field, fault.found) for fault in faults] == [
        ("source.'code'", "type 'VARCHAR COLLATE nocase'"),
        ("source.'list'", "type 'INTEGER[]'"),
        ("source.'nothing'", "type '\"NULL\"'"),
    ]


def test_names_that_the_query_lacks_are_reported(session: Session) -> None:
    _, _, faults = resolve_source(session, replace(POLICY, person_column="idd"))
    assert [(fault.field, fault.hint) for fault in faults] == [("person_column", "Did you mean 'id'?")]


def test_the_rows_that_a_fingerprint_is_of_stay_for_the_session_and_change_it_if_they_change(session: Session) -> None:
    source = resolved(session, POLICY)
    with session.transaction():
        before = fingerprint(session, source, b"key")
        rows = session.rows(f"FROM temp.main.{SNAPSHOT.table} ORDER BY id")
    assert rows == session.rows("SELECT id, age, name, note FROM people JOIN wards USING (ward) ORDER BY id")
    with session.transaction():
        assert fingerprint(session, source, b"key") == before
        session.execute("UPDATE wards SET city = 'elsewhere'")
        assert fingerprint(session, source, b"key") == before
        session.execute("UPDATE wards SET name = 'renamed' WHERE ward = 3")
        assert fingerprint(session, source, b"key") != before
        session.execute("UPDATE wards SET name = 'ward 3' WHERE ward = 3")


def test_a_query_that_fails_on_its_rows_says_so_without_a_value(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    query = "SELECT id, note::INTEGER AS age, note FROM people WHERE note <> 'secret Smith'"
    source = resolved(session, replace(POLICY, source_query=query))
    with pytest.raises(InvalidError) as raised, session.transaction():
        fingerprint(session, source, b"key")
    assert raised.value.code == "SOURCE_QUERY_FAILED"
    assert "ConversionException" in str(raised.value)
    assert "note 1" not in str(raised.value) + caplog.text
    assert "Smith" not in caplog.text
