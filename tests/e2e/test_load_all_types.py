"""Every type under a hostile name, from an Arrow stream through a release to an export, stays as it was."""

from pathlib import Path

import duckdb

from tableveil.client import Client, ExportFormat
from tableveil.v1 import job_service_pb2
from tableveil.v1.policy_pb2 import TableReference
from tests.e2e import samples
from tests.e2e.process import Serve, durable
from tests.e2e.test_types import TYPES

INFINITE = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "FLOAT", "DOUBLE")
VALUES = [(type_, least, greatest) for type_, (least, greatest, _, _) in TYPES.items()]
VALUES += [(type_, "-infinity", "infinity") for type_ in INFINITE]

NAMES = ("select", "a\"b'c`d", "two\nlines", "größe 表 😀", "a.b", " ", "x; DROP TABLE t --", "$1 ? %s {0}", "l" * 300)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def texts(connection: duckdb.DuckDBPyConnection, table: str, names: list[str]) -> list[tuple[str, ...]]:
    connection.execute("SET TimeZone = 'UTC'")
    columns = ", ".join(f"{quoted(name)}::VARCHAR" for name in names)
    return sorted(connection.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)


def test_all_types_arrive(serve: Serve, tmp_path: Path) -> None:
    # Names that are hostile are used up by turns, so that each has some type.
    names = [f"{NAMES[i % len(NAMES)]}{i}" for i in range(len(VALUES))]
    names[0] = "select"
    values = [
        f"CASE i % 3 WHEN 0 THEN '{least}'::{type_} WHEN 1 THEN '{greatest}'::{type_} END AS {quoted(name)}"
        for name, (type_, least, greatest) in zip(names, VALUES, strict=True)
    ]
    server = serve(tmp_path / "all.duckdb")
    with duckdb.connect() as connection, Client(server.address) as client:
        connection.execute("SET GLOBAL TimeZone = 'UTC'; SET GLOBAL arrow_lossless_conversion = true")
        connection.execute(
            f"CREATE TABLE typed AS SELECT i AS id, i % 2 AS sex, {', '.join(values)} FROM range(60) t(i)"
        )
        loaded = client.load(connection.table("typed").to_arrow_reader(), TableReference(table="ty'pe.d")).load
        assert [column.name for column in loaded.columns] == ["id", "sex", *names]
        # Arrow knows the values of an ENUM of one column only.
        types = ["VARCHAR" if type_.startswith("ENUM") else type_ for type_, _, _ in VALUES]
        assert [column.type for column in loaded.columns][2:] == types
        attributes = [
            samples.attribute("id", "IDENTIFYING"),
            samples.attribute("sex", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}, maximum_level=0),
            *(
                samples.attribute(name, ("SENSITIVE", "INSENSITIVE")[i % 2], acknowledged=True)
                for i, name in enumerate(names)
            ),
        ]
        job = client.wait(client.submit(samples.message(samples.policy("ty'pe.d", attributes=attributes))).name)
        assert job.state == job_service_pb2.JOB_STATE_SUCCEEDED, job.failure
        client.export(job.result, tmp_path / "out.duckdb", ExportFormat.DUCKDB)
        parquet, *_ = client.export(job.result, tmp_path / "out", ExportFormat.PARQUET)
        expected = texts(connection, "typed", names)
        assert texts(connection, f"'{parquet}'", names) == expected
    with durable(server.database) as connection:
        assert texts(connection, quoted("ty'pe.d"), names) == expected
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as connection:
        assert texts(connection, "released", names) == expected
