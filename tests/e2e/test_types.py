"""Every type of column that can be released keeps its values on the way to the readers of the release."""

from pathlib import Path

import duckdb

from tableveil.client import Client, ExportFormat
from tableveil.v1 import job_service_pb2
from tests.e2e import samples
from tests.e2e.process import Serve, durable

# By type of the source: two values, mostly the least and the greatest; and, where they differ, the types in an exported
# database and in Parquet as DuckDB reads it.
TYPES: dict[str, tuple[str, str, str, str]] = {
    "TINYINT": ("-128", "127", "", ""),
    "SMALLINT": ("-32768", "32767", "", ""),
    "INTEGER": ("-2147483648", "2147483647", "", ""),
    "BIGINT": ("-9223372036854775808", "9223372036854775807", "", ""),
    "HUGEINT": (f"-{'9' * 38}", "9" * 38, "DECIMAL(38,0)", "DECIMAL(38,0)"),
    "UTINYINT": ("0", "255", "", ""),
    "USMALLINT": ("0", "65535", "", ""),
    "UINTEGER": ("0", "4294967295", "", ""),
    "UBIGINT": ("0", "18446744073709551615", "", ""),
    "UHUGEINT": ("0", "340282366920938463463374607431768211455", "VARCHAR", "VARCHAR"),
    "DECIMAL(4,2)": ("-99.99", "99.99", "", ""),
    "DECIMAL(38,10)": ("-9999999999999999999999999999.9999999999", "0.0000000001", "", ""),
    "FLOAT": ("-3.4e38", "inf", "", ""),
    "DOUBLE": ("1e-300", "nan", "", ""),
    "BOOLEAN": ("true", "false", "", ""),
    "VARCHAR": ("", "Größe\n表", "", ""),
    "JSON": ('{"a": [1, null]}', '"x"', "VARCHAR", "VARCHAR"),
    "ENUM('east', 'west', 'north')": ("east", "west", "VARCHAR", "VARCHAR"),
    "BLOB": ("", r"\x00\xFF", "", ""),
    "BIT": ("0", "1010101010101", "VARCHAR", "VARCHAR"),
    "UUID": ("00000000-0000-0000-0000-000000000000", f"{'f' * 8}-ffff-ffff-ffff-{'f' * 12}", "VARCHAR", "VARCHAR"),
    "DATE": ("0001-01-01", "infinity", "", ""),
    "TIME": ("00:00:00", "24:00:00", "", ""),
    "TIME WITH TIME ZONE": ("12:00:00+05:30", "12:00:00-08", "VARCHAR", "VARCHAR"),
    "TIMESTAMP": ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "", ""),
    "TIMESTAMP_S": ("1900-01-01 00:00:01", "2100-12-31 23:59:59", "", "TIMESTAMP"),
    "TIMESTAMP_MS": ("1900-01-01 00:00:00.001", "2100-12-31 23:59:59.999", "", "TIMESTAMP"),
    "TIMESTAMP_NS": ("1900-01-01 00:00:00.000000001", "2100-12-31 23:59:59.999999999", "", ""),
    "TIMESTAMP WITH TIME ZONE": ("1900-01-01 00:00:00+00", "2100-12-31 23:59:59.999999+00", "", ""),
}


def test_every_type_arrives(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    values = [
        f"CASE sex WHEN 'F' THEN '{least}'::{type_} WHEN 'M' THEN '{greatest}'::{type_} END AS c{i}"
        for i, (type_, (least, greatest, _, _)) in enumerate(TYPES.items())
    ]
    # The sex is missing, and so are all values, in one row of five.
    people = f"SELECT * REPLACE (CASE WHEN id % 5 > 0 THEN sex END AS sex) FROM ({samples.PEOPLE})"
    samples.create(database, typed=f"SELECT id, sex, {', '.join(values)} FROM ({people})")
    document = samples.policy(
        "typed",
        attributes=[
            samples.attribute("id", "IDENTIFYING"),
            samples.attribute("sex", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}, maximum_level=0),
            *(samples.attribute(f"c{i}", "SENSITIVE") for i in range(len(TYPES))),
        ],
    )
    server = serve(database)
    with Client(server.address) as client:
        job = client.wait(client.submit(samples.message(document)).name)
        assert job.state == job_service_pb2.JOB_STATE_SUCCEEDED, job.failure
        client.export(job.result, tmp_path / "out.duckdb", ExportFormat.DUCKDB)
        parquet, *_ = client.export(job.result, tmp_path / "out", ExportFormat.PARQUET)

    with durable(database) as connection:
        expected, types = distinct(connection, "typed")
        assert types == list(TYPES)
        assert len(expected) == 3
        assert distinct(connection, "released")[0] == expected
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as connection:
        exported, types = distinct(connection, "released")
        assert types == [other or type_ for type_, (_, _, other, _) in TYPES.items()]
        assert exported == expected
        exported, types = distinct(connection, f"'{parquet}'")
        assert types == [other or type_ for type_, (_, _, _, other) in TYPES.items()]
        assert exported == expected


def distinct(connection: duckdb.DuckDBPyConnection, table: str) -> tuple[list[tuple[str, ...]], list[str]]:
    """The different rows of the typed columns as text, and the columns' types."""
    connection.execute("SET TimeZone = 'UTC'")
    columns = ", ".join(f"c{i}" for i in range(len(TYPES)))
    query = f"SELECT DISTINCT COLUMNS(*)::VARCHAR FROM (SELECT {columns} FROM {table}) ORDER BY ALL"
    found = connection.execute(query).fetchall()
    described = connection.execute(f"DESCRIBE SELECT {columns} FROM {table}").fetchall()
    return found, [type_ for _, type_, *_ in described]
