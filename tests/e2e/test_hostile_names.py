"""Names that would end a statement, a path or somebody's patience: all of them are names, and work like any other."""

from collections import Counter
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tableveil.client import Client, ExportFormat
from tableveil.v1 import job_service_pb2
from tests.e2e import samples
from tests.e2e.process import NotServingError, Serve, ServerProcess, durable
from tests.e2e.samples import Document, attribute
from tests.once import once

NAMES = {
    "quotes and a statement": "a'b`c\"; DROP TABLE main.people; --",
    "a path with placeholders": "../../etc/%s {0} $1 ? \\",
    "a table that the service makes for itself": "base_histogram",
    "spaces and a comment": "  /* two words */ -- ",
    "another script": "Größe 表 نص 😀 e\u0301\u200d\u202e",
    "many characters": "n" * 10_000,
    "control characters": "a\nb\tc\x1b[31m",
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def policy(name: str, target: Document) -> Document:
    """A policy for a table with the hostile name for everything that may have it."""
    return {
        "source": {"schema": name, "table": name},
        "rows_are_people": True,
        "attributes": [
            attribute(name, "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}, maximum_level=0),
            attribute(f"{name}.2", "QUASI_IDENTIFIER", hierarchy={"redaction": {"length": 5, "alphabet_size": 10}}),
            attribute(f"{name}.3", "SENSITIVE"),
            attribute(f"{name}.4", "INSENSITIVE", acknowledged=True),
        ],
        "privacy_models": [{"k_anonymity": {"k": 4}}],
        "suppression_limit": "0.5",
        "suppressed_records": {"handling": "BLANK", "marker_column": f"{name}.5"},
        "release": {"schema": name, **target},
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, serve_all_along: Serve) -> ServerProcess:
    database = tmp_path_factory.mktemp("names") / "my clinic's; data.duckdb"
    samples.create(database, people=samples.PEOPLE)
    with duckdb.connect(database) as connection:
        for name in NAMES.values():
            columns = ", ".join(quoted(column) for column in (name, f"{name}.2", f"{name}.3", f"{name}.4"))
            connection.execute(f"CREATE SCHEMA {quoted(name)}")
            connection.execute(
                f"CREATE TABLE {quoted(name)}.{quoted(name)} AS "
                f"SELECT * FROM (SELECT sex, zip, diagnosis, ward FROM people) AS t({columns})"
            )
    return serve_all_along(database)


@pytest.mark.parametrize("title", once(NAMES, 2))
def test_a_release_of_that_name(title: str, server: ServerProcess, tmp_path: Path) -> None:
    name = NAMES[title]
    with Client(server.address) as client:
        # Ordinary names meet the service's own tables; a view quotes names once more than a table does.
        kind = "TABLE" if name.isidentifier() else "VIEW"
        document = policy(name, {"name": f"{name}.out", "kind": kind})
        job = client.wait(client.submit(samples.message({**document, "repeat_reason": name})).name)
        assert job.state == job_service_pb2.JOB_STATE_SUCCEEDED, job.failure
        released = client.read_table(job.result, f"{name}.out")
        assert released.column_names == [name, f"{name}.2", f"{name}.2_rank", *(f"{name}.{i}" for i in range(3, 6))]
        assert released.num_rows == samples.ROWS
        rows = zip(*(released.column(i).to_pylist() for i in (0, 1, 5)), strict=True)
        sizes = Counter((sex, zip_code) for sex, zip_code, gone in rows if not gone)
        assert min(sizes.values()) >= 4

        client.export(job.result, tmp_path / "out.duckdb", ExportFormat.DUCKDB)
        file, *_ = client.export(job.result, tmp_path / "out", ExportFormat.PARQUET)
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as connection:
        assert connection.table(quoted(f"{name}.out")).to_arrow_table().equals(released)
    assert pq.read_table(file).equals(released)
    with durable(server.database) as connection:
        assert connection.execute("SELECT count(*) FROM people").fetchone() == (samples.ROWS,)
        mine = connection.execute("FROM information_schema.tables SELECT table_name WHERE table_schema = ?", [name])
        assert {table for (table,) in mine.fetchall()} == {name, *(f"{name}.out{suffix}" for suffix in SUFFIXES)}


SUFFIXES = ("", "_classes", "_risk", "_risk_histogram", "_columns", "_labels", "_about")


def test_a_file_that_is_called_as_the_state_is(tmp_path: Path) -> None:
    with pytest.raises(NotServingError, match="DATABASE_NAME"):
        ServerProcess(tmp_path / "Tableveil.duckdb")


@pytest.mark.parametrize("file", ["main.duckdb", "temp.duckdb", "x.y é.db"])
def test_a_file_of_that_name(file: str, serve: Serve, tmp_path: Path) -> None:
    """DuckDB names the catalog after the file, and a schema may have that name, too."""
    database = tmp_path / file
    samples.create(database, people=samples.PEOPLE)
    with duckdb.connect(database) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(database.stem)}")
    server = serve(database)
    with Client(server.address) as client:
        for schema in {"main", database.stem}:
            document = samples.policy(release={"schema": schema, "name": "released"}, repeat_reason="a test")
            job = client.wait(client.submit(samples.message(document)).name)
            assert job.state == job_service_pb2.JOB_STATE_SUCCEEDED, job.failure
            assert client.read_table(job.result, "released_risk").num_rows > 0
    assert server.terminate() == 0
