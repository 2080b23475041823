# Files, settings, the environment.
FROM 'secret.csv'
FROM '/etc/passwd'
FROM "secret.csv"
FROM read_csv('x')
FROM read_text('x')
FROM parquet_scan('x')
FROM glob('*')
SELECT * FROM sniff_csv('x')
SELECT read_text('x')
SELECT current_setting('temp_directory')
SELECT getenv('HOME')
SELECT getvariable('x')
PRAGMA version
SET threads = 1
RESET threads
SELECT version()
SELECT current_user
SELECT current_database()
SELECT pg_catalog.version()
SELECT main.getenv('x')
FROM duckdb_secrets()
FROM pragma_version()
# The catalog, other databases, other principals' releases.
FROM duckdb_databases()
FROM duckdb_settings
FROM pg_catalog.pg_class
FROM sqlite_master
FROM system.main.duckdb_tables
FROM temp.x
FROM memory.main.discharges
FROM tableveil.release
FROM releases_7.main.discharges
FROM main.secret
FROM other.discharges
FROM "main.discharges"
FROM ｄischarges
FROM dischargeıs
FROM duckdb_databases WHERE EXISTS (WITH duckdb_databases AS (SELECT 1) SELECT 1)
WITH x AS (SELECT 1) SELECT (SELECT 1 FROM duckdb_settings) FROM x
WITH a AS (FROM b), b AS (SELECT 1) FROM a
WITH duckdb_settings AS (FROM duckdb_settings) FROM duckdb_settings
SELECT secret.main.t.x FROM discharges
# Statements in texts.
FROM query('SELECT 1')
FROM query_table('discharges')
FROM query_table(['discharges'])
SELECT json_execute_serialized_sql('x')
FROM json_execute_serialized_sql('x')
CALL query('x')
# Rows of no table, and functions that do more than compute.
FROM range(1000000000000)
FROM repeat('x', 10)
FROM discharges()
SELECT write_log('x')
SELECT nextval('x')
SELECT error('x')
SELECT setseed(1)
FROM summary(TABLE x)
SELECT query(1)
SELECT "getenv"('x')
SELECT GETENV ('x')
SELECT list_transform([1], lambda x: x)
SELECT 'x'.getenv()
SELECT discharges.getenv('x') FROM discharges
SELECT list_aggregate([1], 'getenv') FROM getenv
# Other statements, and several.
DETACH x
ATTACH 'x'
LOAD x
INSTALL x
COPY discharges TO 'x'
COPY (SELECT 1) TO 'x'
EXPORT DATABASE 'x'
CREATE TABLE x (i INT)
CREATE VIEW x AS SELECT 1
CREATE MACRO x() AS 1
DROP TABLE discharges
VACUUM
INSERT INTO discharges VALUES (1)
UPDATE discharges SET age = 1
DELETE FROM discharges
CHECKPOINT
PREPARE x AS SELECT 1
EXECUTE x
DEALLOCATE x
BEGIN
USE main
SELECT 1; SELECT 2
SELECT 1; DROP TABLE x
EXPLAIN COPY discharges TO 'x'
EXPLAIN EXPLAIN SELECT 1
EXPLAIN (FORMAT JSON) SELECT 1
EXPLAIN
DESCRIBE
EXPLAIN ANALYZE INSERT INTO x VALUES (1)
DESCRIBE x; DROP TABLE x
WITH x AS (DELETE FROM t RETURNING *) FROM x
SELECT * INTO x FROM discharges
SELECT 1 FROM discharges FOR UPDATE
FROM discharges AT (VERSION => 1)
FROM (DESCRIBE discharges)
FROM (SHOW TABLES)
SELECT 1 FROM (EXPLAIN SELECT 1)
;
-- nothing
VALUES
}{
SELECT 'x
# Parameters, types and words that are no values.
SELECT :name
SELECT x'00'
SELECT 1::ENUM('a')
SELECT 1::secret
SELECT 1::STRUCT(a INT)
FROM ?
SELECT * FROM $1
SELECT 'x' COLLATE nocase
SELECT {'a': 1}
SELECT a.b.c.d.e FROM discharges a
# Functions of labels, and parts of what they answer.
SELECT tv_mean(age).getenv() FROM discharges
SELECT getenv('HOME').x
SELECT (SELECT 1).a
SELECT (tv_mean(age)).low.high() FROM discharges
SELECT ((tv_mean(getenv('HOME')))).low
SELECT main.tv_mean(age) FROM discharges
SELECT memory.main.tv_mean(age) FROM discharges
SELECT tv_secret(age) FROM discharges
SELECT tv_band(age, 10) FROM discharges
FROM tv_mean(1, 2, 3)
FROM discharges, tv_secret(age, 10)
FROM discharges, tv_band(getenv('HOME'), 10)
FROM discharges, tv_band((FROM duckdb_settings()), 10)
FROM discharges, main.tv_band(age, age, age, 10)
FROM discharges, LATERAL tv_band(age, age, age, 10)
FROM discharges, query_table('discharges')
# Views of tables: only three, and nothing else of the catalog.
FROM information_schema.key_column_usage
FROM information_schema.secret
FROM memory.information.tables
FROM information.tables
FROM other.information_schema.tables
FROM system.information_schema.tables
FROM "information_schema.tables"
SELECT system.information_schema.tables.table_name FROM information_schema.tables
SHOW TABLES FROM other
SHOW ALL TABLES; SELECT 1
SHOW VARIABLES
SHOW DATABASES
SHOW discharges; DROP TABLE discharges
SUMMARIZE duckdb_settings()
SUMMARIZE secret
SUMMARIZE 'secret.csv'
SUMMARIZE SELECT getenv('HOME')
SUMMARIZE SUMMARIZE discharges
SUMMARIZE discharges; DROP TABLE discharges
FROM (SUMMARIZE discharges)
DESCRIBE PIVOT secret ON age IN ('x') USING sum(charge)
# PIVOT and UNPIVOT read what a SELECT may read.
PIVOT secret ON age IN ('x') USING sum(charge)
PIVOT 'secret.csv' ON age IN ('x') USING sum(charge)
PIVOT duckdb_settings() ON name IN ('x') USING max(value)
PIVOT read_csv('x') ON a IN ('x') USING max(b)
PIVOT discharges ON age IN ('x') USING getenv(charge)
PIVOT discharges ON getenv('HOME') IN ('x') USING sum(charge)
PIVOT discharges ON age IN secret USING sum(charge)
FROM discharges PIVOT (sum(charge) FOR age IN secret)
FROM discharges PIVOT (getenv('x') FOR age IN ('x'))
FROM discharges PIVOT (sum(charge) FOR age IN (getenv('x')))
FROM discharges PIVOT (sum(charge) FOR age IN (SELECT name FROM duckdb_settings))
FROM secret UNPIVOT (v FOR n IN (a, c))
UNPIVOT secret ON a, c INTO NAME n VALUE v
UNPIVOT discharges ON getenv('x') INTO NAME n VALUE v
UNPIVOT (FROM duckdb_settings()) ON name INTO NAME n VALUE v
WITH p AS (PIVOT secret ON b IN ('x') USING sum(c)) FROM p
WITH p AS (PIVOT discharges ON b IN ('x') USING getenv(c)) FROM p
CREATE TABLE x AS PIVOT discharges ON age IN ('x') USING sum(charge)
# Rows of numbers have ends that are written down, and are few.
FROM range(1000001)
FROM range(0, 10000000, 2)
FROM range(-600000, 600000)
SELECT range(1000000000000)
FROM range(charge)
SELECT range(age_from) FROM discharges
FROM range((SELECT 1))
FROM range(1 + 1)
FROM range(?)
FROM range($n)
FROM range(1e9)
FROM range('9999999999')
FROM generate_series(DATE '0001-01-01', DATE '9999-01-01', INTERVAL 1 SECOND)
FROM generate_series(DATE '2024-01-01', today(), INTERVAL 1 MICROSECOND)
FROM generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-02', INTERVAL '1 microsecond')
FROM generate_series(TIMESTAMP '2024-01-01', TIMESTAMP 'infinity', INTERVAL 1 DAY)
FROM range(1, 2, 3, 4)
FROM range()
FROM main.range(3)
FROM system.main.range(3)
SELECT main.range(3)
SELECT discharges.range(3) FROM discharges
FROM unnest(getenv('HOME'))
FROM unnest((FROM duckdb_settings()))
SELECT unnest(range(100000000))
SELECT unnest([1], recursive := true)
SELECT unnest([getenv('x')])
FROM discharges, LATERAL unnest([getenv('x')]) u(i)
FROM discharges, LATERAL range(3)
# Columns by their names: no functions of names.
SELECT COLUMNS(c -> getenv(c)) FROM discharges
SELECT COLUMNS(lambda c: c LIKE 'a%') FROM discharges
SELECT COLUMNS(getenv('x')) FROM discharges
SELECT COLUMNS([getenv('x')]) FROM discharges
SELECT COLUMNS((SELECT 'x')) FROM discharges
SELECT COLUMNS('a', 'b') FROM discharges
SELECT COLUMNS() FROM discharges
SELECT COLUMNS(1) FROM discharges
FROM COLUMNS('x')
SELECT discharges.columns('x') FROM discharges
SELECT secret.main.columns('x') FROM discharges
SELECT getenv(COLUMNS('x')) FROM discharges
SELECT unpack(COLUMNS('x')) FROM discharges
SELECT main.width_bucket(1, 2, 3, 4)
SELECT width_bucket(getenv('x'), 2, 3, 4)
SELECT $name, $1
SELECT $name, ?
