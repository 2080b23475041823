"""The demo's table: reproducible, typed, complete, and shaped like hospital discharges."""

import duckdb
import pyarrow as pa
import pytest

from tableveil.demo import MAXIMUM_ROWS, batches, create_discharges
from tableveil.demo.discharges import CHUNK_ROWS, SCHEMA
from tableveil.demo.hospital import COUNTIES, DIAGNOSES, ETHNICITIES, OLDEST, SEXES, ZIP_CODES
from tableveil.errors import InvalidError

ROWS = 100_000


def table(rows: int, seed: int = 7) -> pa.Table:
    """The generated table as one Arrow table."""
    return pa.Table.from_batches(batches(rows, seed), SCHEMA)


@pytest.fixture(scope="module")
def discharges() -> duckdb.DuckDBPyConnection:
    """A database that holds the demo's table."""
    connection = duckdb.connect(config={"enable_external_access": False})
    create_discharges(connection, "main.discharges", ROWS, seed=7)
    return connection


def scalar(connection: duckdb.DuckDBPyConnection, expression: str, where: str = "true") -> float:
    """The value of an aggregate over the table's rows that meet a condition."""
    row = connection.execute(f"SELECT {expression} FROM discharges WHERE {where}").fetchone()
    assert row is not None
    return float(row[0])


@pytest.mark.parametrize("rows", [0, 1, 1000, CHUNK_ROWS, CHUNK_ROWS + 1])
def test_has_the_rows_asked_for(rows: int) -> None:
    assert table(rows).num_rows == rows


@pytest.mark.parametrize(("rows", "seed"), [(-1, 7), (MAXIMUM_ROWS + 1, 7), (10, -1)])
def test_refuses_what_it_cannot_generate(rows: int, seed: int) -> None:
    with pytest.raises(InvalidError):
        batches(rows, seed)


def test_same_seed_same_table() -> None:
    assert table(CHUNK_ROWS + 10).equals(table(CHUNK_ROWS + 10))


def test_other_seed_other_table() -> None:
    assert not table(10, seed=1).equals(table(10, seed=2))


def test_longer_table_begins_with_the_shorter_one() -> None:
    assert table(CHUNK_ROWS + 10).slice(0, 1000).equals(table(1000))


def test_database_holds_the_batches_in_order(discharges: duckdb.DuckDBPyConnection) -> None:
    stored = discharges.sql("FROM discharges").to_arrow_table()
    assert stored.cast(SCHEMA).equals(table(ROWS))


def test_columns_have_the_stated_types(discharges: duckdb.DuckDBPyConnection) -> None:
    columns = discharges.execute("SELECT column_name, column_type FROM (DESCRIBE discharges)").fetchall()
    assert columns == [
        ("patient_id", "VARCHAR"),
        ("name", "VARCHAR"),
        ("age", "INTEGER"),
        ("sex", "VARCHAR"),
        ("zip_code", "VARCHAR"),
        ("county", "VARCHAR"),
        ("admission_date", "DATE"),
        ("ethnicity", "VARCHAR"),
        ("diagnosis", "VARCHAR"),
        ("length_of_stay", "INTEGER"),
        ("charge", "DECIMAL(12,2)"),
    ]


def test_an_empty_table_has_its_columns() -> None:
    connection = duckdb.connect()
    create_discharges(connection, "discharges", 0, seed=7)
    assert connection.sql("FROM discharges").columns == SCHEMA.names


def test_table_names_are_quoted() -> None:
    connection = duckdb.connect()
    connection.execute('CREATE SCHEMA "select"')
    create_discharges(connection, '"select"."a ""b"" c"', 1, seed=7)
    assert connection.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall() == [
        ("select", 'a "b" c')
    ]


@pytest.mark.parametrize("seed", [0, 7, 10**30])
def test_patient_ids_are_unique_and_of_one_form(seed: int) -> None:
    patient_ids = table(ROWS, seed).column("patient_id").to_pylist()
    assert len(set(patient_ids)) == ROWS
    assert all(len(text) == 9 and text[0] == "P" and text[1:].isdigit() for text in patient_ids)


@pytest.mark.parametrize(
    ("column", "share"), [("ethnicity", 0.01), ("zip_code", 0.003), ("county", 0.003), ("charge", 0.005)]
)
def test_share_of_nulls(discharges: duckdb.DuckDBPyConnection, column: str, share: float) -> None:
    assert scalar(discharges, f"avg(({column} IS NULL)::INT)") == pytest.approx(share, rel=0.2)


def test_other_columns_have_no_nulls(discharges: duckdb.DuckDBPyConnection) -> None:
    others = ("patient_id", "name", "age", "sex", "admission_date", "diagnosis", "length_of_stay")
    assert scalar(discharges, "count(*)", " AND ".join(f"{column} IS NOT NULL" for column in others)) == ROWS


def test_every_value_is_a_known_one(discharges: duckdb.DuckDBPyConnection) -> None:
    known = {
        "sex": set(SEXES),
        "zip_code": {zip_code.code for zip_code in ZIP_CODES},
        "county": {county.name for county in COUNTIES},
        "ethnicity": {ethnicity.name for ethnicity in ETHNICITIES},
        "diagnosis": {diagnosis.code for diagnosis in DIAGNOSES},
    }
    for column, values in known.items():
        found = {row[0] for row in discharges.execute(f"SELECT DISTINCT {column} FROM discharges").fetchall()}
        assert found - {None} <= values
        assert len(found) > 0.99 * len(values)


def test_zip_code_determines_the_county(discharges: duckdb.DuckDBPyConnection) -> None:
    expected = {zip_code.code: COUNTIES[zip_code.county].name for zip_code in ZIP_CODES}
    found = discharges.execute("SELECT DISTINCT zip_code, county FROM discharges WHERE zip_code IS NOT NULL").fetchall()
    assert len(ZIP_CODES) == len(expected)
    assert all(expected[zip_code] == county for zip_code, county in found)
    assert scalar(discharges, "count(*)", "(zip_code IS NULL) <> (county IS NULL)") == 0


def test_zip_codes_are_text_of_five_digits(discharges: duckdb.DuckDBPyConnection) -> None:
    assert scalar(discharges, "count(*)", "NOT regexp_full_match(zip_code, '[0-9]{5}')") == 0
    assert 0.3 < scalar(discharges, "avg((zip_code LIKE '0%')::INT)") < 0.7


def test_a_few_zip_codes_hold_many_patients(discharges: duckdb.DuckDBPyConnection) -> None:
    shares = "SELECT count(*) AS n FROM discharges WHERE zip_code IS NOT NULL GROUP BY zip_code"
    largest_tenth = f"SELECT sum(n) FROM ({shares} ORDER BY n DESC LIMIT {len(ZIP_CODES) // 10})"
    assert 0.3 < scalar(discharges, f"any_value(({largest_tenth})) / count(*)") < 0.7


def test_ranges(discharges: duckdb.DuckDBPyConnection) -> None:
    assert scalar(discharges, "min(age)") == 0
    assert 100 < scalar(discharges, "max(age)") <= OLDEST
    assert scalar(discharges, "min(length_of_stay)") == 0
    assert scalar(discharges, "min(charge)") > 0
    days = discharges.execute("SELECT min(admission_date)::TEXT, max(admission_date)::TEXT FROM discharges").fetchone()
    assert days == ("2022-01-01", "2024-12-31")


def test_diagnosis_goes_with_age(discharges: duckdb.DuckDBPyConnection) -> None:
    assert scalar(discharges, "max(age)", "diagnosis LIKE 'Z38%'") == 0
    assert scalar(discharges, "min(age)", "diagnosis LIKE 'O%'") > 10
    assert scalar(discharges, "max(age)", "diagnosis LIKE 'O%'") <= 50
    assert scalar(discharges, "avg(age)", "diagnosis LIKE 'I%'") > 60
    assert scalar(discharges, "avg(age)", "diagnosis = 'K35.80'") < 45


def test_diagnosis_goes_with_sex(discharges: duckdb.DuckDBPyConnection) -> None:
    assert scalar(discharges, "count(*)", "sex <> 'F' AND diagnosis LIKE 'O%'") == 0
    assert scalar(discharges, "count(*)", "sex <> 'M' AND diagnosis IN ('C61', 'N40.1')") == 0
    assert 0 < scalar(discharges, "avg((sex = 'X')::INT)") < 0.005
    assert 0.5 < scalar(discharges, "avg((sex = 'F')::INT)") < 0.6


def test_ethnicity_goes_with_county(discharges: duckdb.DuckDBPyConnection) -> None:
    white = "avg((ethnicity = 'White')::INT)"
    assert scalar(discharges, white, "county LIKE '%ME'") > 0.8
    assert scalar(discharges, white, "county = 'Bronx NY'") < 0.2


def test_admissions_follow_week_and_season(discharges: duckdb.DuckDBPyConnection) -> None:
    assert scalar(discharges, "avg((isodow(admission_date) >= 6)::INT)") < 0.26
    assert scalar(discharges, "avg((month(admission_date) IN (12, 1, 2))::INT)", "diagnosis = 'J18.9'") > 0.35


def test_stay_goes_with_age_and_charge_with_stay(discharges: duckdb.DuckDBPyConnection) -> None:
    assert scalar(discharges, "corr(age, length_of_stay)") > 0.15
    assert scalar(discharges, "corr(ln(length_of_stay + 1), ln(charge))") > 0.5
    assert abs(scalar(discharges, "skewness(ln(charge))")) < 0.5
