"""Shows that names, types and definitions of public objects carry only what the documentation says."""

import duckdb
import pytest

from tableveil.answers import MACROS
from tests.adversary import samples
from tests.adversary.publishing import Publish, Published, changed, texts
from tests.adversary.samples import canary
from tests.once import once

SECRETS = {name: canary("shape", name) for name in ("member", "comment", "default", "check", "index", "macro")}


def quoted(name: str) -> str:
    return "'" + SECRETS[name].replace("'", "''") + "'"


# Everything that hangs on a table and could travel with a copy of it.
LADEN = (
    f"CREATE TYPE ward AS ENUM ('east', 'west', {quoted('member')})",
    "ALTER TABLE patients ALTER ward TYPE ward",
    f"COMMENT ON TABLE patients IS {quoted('comment')}",
    f"COMMENT ON COLUMN patients.diagnosis IS {quoted('comment')}",
    f"ALTER TABLE patients ALTER diagnosis SET DEFAULT {quoted('default')}",
    "CREATE UNIQUE INDEX patients_by_id ON patients(id)",
)

COLUMNS = {
    "released": {
        *("age", "age_from", "age_to", "age_rank", "sex", "city", "city_rank"),
        *("diagnosis", "ward", "suppressed"),
    },
    "released_classes": {
        *("age", "sex", "city", "class_size", "risk", "class_id"),
        *("distinct_l_diagnosis", "entropy_l_diagnosis"),
    },
    "released_risk": {"measure", "threshold", "value"},
    "released_risk_histogram": {"class_size", "classes", "records", "risk"},
    "released_columns": {
        *("position", "column_name", "type", "role", "description", "describes", "levels", "star_means"),
        *("blank_means", "null_means", "end_included", "unit"),
    },
    "released_labels": {
        *("column_name", "label", "rank", "records"),
        *("number_from", "number_to", "time_from", "time_to", "to_included"),
    },
    "released_about": {"fact", "value"},
}

FUNCTIONS = (
    "SELECT schema_name, function_name, parameters, macro_definition, description, comment, tags "
    "FROM duckdb_functions() WHERE NOT internal ORDER BY ALL"
)


@pytest.fixture(params=once([{"name": "released"}, samples.VIEW]), ids=["table", "view"], scope="module")
def laden(publish: Publish, request: pytest.FixtureRequest) -> Published:
    document = changed(samples.policy(), release=request.param, suppressed_records=samples.BLANK)
    return publish(samples.patients(), document, *LADEN)


def test_the_export_holds_the_documented_tables_and_nothing_else(laden: Published) -> None:
    with duckdb.connect(laden.database_file, read_only=True) as connection:
        tables = connection.execute(
            "SELECT schema_name, table_name, comment, tags, has_primary_key, index_count, check_constraint_count "
            "FROM duckdb_tables()"
        ).fetchall()
        assert {name for _, name, *_ in tables} == set(COLUMNS)
        for schema, _, *rest in tables:
            assert (schema, *rest) == ("main", None, {}, False, 0, 0)
        for function, condition in (
            ("duckdb_views", "NOT internal"),
            ("duckdb_types", "NOT internal"),
            ("duckdb_indexes", "true"),
            ("duckdb_sequences", "true"),
            ("duckdb_constraints", "true"),
        ):
            assert connection.execute(f"SELECT * FROM {function}() WHERE {condition}").fetchall() == []
        functions = connection.execute(FUNCTIONS).fetchall()
    # The functions of analysts are the same in every file: nothing of a table is in them.
    with duckdb.connect() as empty:
        for macro in MACROS:
            empty.execute(macro.created())
        assert functions == empty.execute(FUNCTIONS).fetchall()


def test_columns_are_the_documented_ones(laden: Published) -> None:
    with duckdb.connect(laden.database_file, read_only=True) as connection:
        check_columns(connection)
    fields = [field for table in laden.objects.values() for field in table.schema]
    # Labels of a level above 0 are text, and ENUMs have become text.
    expected = {"age", "sex", "city", "diagnosis", "ward", "measure", "threshold", "label", "fact", "value"}
    expected |= COLUMNS["released_columns"] - {"position", "end_included"} | {"column_name"}
    assert {field.name for field in fields if str(field.type) == "string"} == expected
    assert not [field for field in fields if field.metadata]
    assert not [table.schema.metadata for table in laden.objects.values() if table.schema.metadata]


def test_the_owners_catalog_does_not_show_secrets_beside_the_release(laden: Published) -> None:
    """An analyst who may query the database's public objects may look at how they are defined, too."""
    with duckdb.connect(laden.source_file, read_only=True) as connection:
        comments = connection.execute(
            "SELECT comment FROM duckdb_tables() WHERE comment IS NOT NULL AND table_name <> 'patients' UNION ALL "
            "SELECT comment FROM duckdb_columns() WHERE comment IS NOT NULL AND table_name <> 'patients'"
        ).fetchall()
        assert len(comments) > len(COLUMNS)
        check_columns(connection)
        definitions = [
            sql
            for (sql,) in connection.execute(
                "SELECT sql FROM duckdb_views() WHERE NOT internal UNION ALL "
                "SELECT sql FROM duckdb_tables() WHERE table_name <> 'patients'"
            ).fetchall()
        ]
        definitions += [words for (words,) in comments]
        hidden = texts([samples.patients()]) - texts(list(laden.objects.values())) | set(SECRETS.values())
        hidden -= set(samples.patients().column_names)
        assert len(definitions) > 4
        assert not [value for value in hidden for definition in definitions if value in definition]
        snapshots = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'tableveil' AND table_name LIKE 'snapshot%'"
        ).fetchall()
        for (snapshot,) in snapshots:
            columns = connection.execute(f"DESCRIBE tableveil.{snapshot}").fetchall()
            assert columns == connection.execute("DESCRIBE released").fetchall()
            rows = connection.execute(f"FROM tableveil.{snapshot}").fetchall()
            assert rows == connection.execute("FROM released").fetchall()


def check_columns(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute(
        "SELECT table_name, column_name, data_type, column_default FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND table_name LIKE 'released%'"
    ).fetchall()
    assert {table: {name for t, name, *_ in rows if t == table} for table, *_ in rows} == COLUMNS
    for _, _, type_, default in rows:
        assert type_ in ("VARCHAR", "BOOLEAN", "BIGINT", "DOUBLE", "INTEGER", "TIMESTAMP")
        assert default is None


def test_nothing_numbers_the_rows(laden: Published) -> None:
    """Neither the source's row ids nor numbers of jobs and releases."""
    for table in laden.objects.values():
        numbers = [field.name for field in table.schema if str(field.type).startswith(("int", "uint"))]
        # These number columns, classes and labels in their order.
        ordered = {"position", "class_id", "rank", "age_rank", "city_rank"}
        bounds = {"age_from", "age_to"}
        assert set(numbers) <= {"class_size", "classes", "records", "distinct_l_diagnosis", *ordered, *bounds}


def test_exported_files_are_named_by_the_release_alone(laden: Published) -> None:
    assert {path.name for path in laden.parquet_files.values()} == {f"{name}.parquet" for name in COLUMNS}
