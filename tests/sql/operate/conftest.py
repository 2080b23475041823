"""A database with one of everything that a copy has to have."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.state.migrate import migrate

EVERYTHING = (
    "CREATE SCHEMA s",
    'CREATE SCHEMA "we""ird"',
    "CREATE SEQUENCE s.numbers START 5 INCREMENT 3",
    "CREATE SEQUENCE s.unused START 7",
    "CREATE SEQUENCE s.round MINVALUE 1 MAXVALUE 3 CYCLE",
    "CREATE TYPE mood AS ENUM ('low', 'high')",
    "CREATE TABLE t (i BIGINT PRIMARY KEY DEFAULT nextval('s.numbers'), m mood, x DECIMAL(9, 2) CHECK (x >= 0), "
    "u VARCHAR UNIQUE COLLATE NOCASE, n INTEGER NOT NULL)",
    "CREATE TABLE a_child (i BIGINT REFERENCES t (i))",
    "CREATE TABLE generated (i INTEGER, twice INTEGER GENERATED ALWAYS AS (i * 2))",
    'CREATE TABLE "we""ird"."ta.b le" (l INTEGER[], k MAP(VARCHAR, INTEGER), u UUID, z TIMESTAMPTZ, b BLOB, s BIT, '
    "h HUGEINT, st STRUCT(a INTEGER, b VARCHAR), d DATE)",
    "INSERT INTO t (m, x, u, n) VALUES ('low', 1, 'one', 1), ('high', 2, 'two', 2)",
    "INSERT INTO a_child VALUES (5)",
    "INSERT INTO generated VALUES (4)",
    "INSERT INTO \"we\"\"ird\".\"ta.b le\" VALUES ([1, NULL], MAP {'a': 1}, uuid(), now(), 'x', '101', 1, "
    "{'a': 1, 'b': 'c'}, '0044-03-15 (BC)')",
    "CREATE INDEX found_by_mood ON t (m)",
    "CREATE VIEW v AS SELECT * FROM t",
    "CREATE VIEW a_view_of_a_view AS SELECT * FROM v",
    "CREATE MACRO plus_one(a) AS a + 1",
    "CREATE VIEW by_macro AS SELECT plus_one(n) AS p FROM t",
    "CREATE TABLE gone (i INTEGER)",
    "CREATE VIEW of_nothing AS SELECT * FROM gone",
    "DROP TABLE gone",
    "COMMENT ON TABLE t IS 'a table'",
    "COMMENT ON COLUMN t.m IS 'a column'",
    "COMMENT ON VIEW v IS 'a view'",
)


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    directory = tmp_path / "back'ups"
    directory.mkdir()
    return directory


@pytest.fixture
def database(tmp_path: Path, backups: Path) -> Iterator[Database]:
    database = Database(Settings(tmp_path / "clinic.duckdb", threads=2, directories=(backups,)))
    with database.session() as session:
        migrate(session.ledger)
        for statement in EVERYTHING:
            session.execute(statement)
    yield database
    database.close()


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    with database.session() as session:
        yield session
