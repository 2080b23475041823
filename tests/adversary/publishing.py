"""Publishes a table through a real server and client, and separates the files to give away from the others."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tableveil.client import Client, ExportFormat
from tableveil.document import read_policy
from tableveil.server import ServeSettings, TableveilServer
from tableveil.v1 import job_service_pb2, policy_pb2, release_service_pb2

Document = dict[str, Any]
"""A policy as it stands in a JSON file."""

Publish = Callable[..., "Published"]
"""`publish(table, document, *more_sql)`."""

PublishEach = Callable[..., "list[Published]"]
"""`publish_each([(table, document), …], *more_sql, export=True)`."""


@dataclass(frozen=True, slots=True)
class Exports:
    """The files of a release, in DuckDB's format and, by kind of object, in Parquet."""

    database: Path
    parquet: dict[str, Path]


@dataclass(frozen=True, slots=True)
class Published:
    """A release.

    An adversary gets: `objects` by kind (ROWS, CLASSES, RISK, RISK_HISTOGRAM) as read over gRPC, the bytes of these in
    `streams`, and the `exports`, if they were asked for. Only the owner has the `source_file` and the evidence in
    `release`.
    """

    objects: dict[str, pa.Table]
    streams: dict[str, bytes]
    exports: Exports | None
    source_file: Path
    release: release_service_pb2.Release

    @property
    def database_file(self) -> Path:
        """The exported database."""
        assert self.exports
        return self.exports.database

    @property
    def parquet_files(self) -> dict[str, Path]:
        """The exported files by kind of object."""
        assert self.exports
        return self.exports.parquet

    @property
    def rows(self) -> pa.Table:
        """The released rows."""
        return self.objects["ROWS"]

    @property
    def suppressed(self) -> int:
        """The number of suppressed records, as the public table of risks has it."""
        (value,) = [r["value"] for r in self.objects["RISK"].to_pylist() if r["measure"] == "suppressed_records"]
        return int(value)


def policy_of(document: Document) -> policy_pb2.Policy:
    """The message of a document without faults."""
    policy, faults = read_policy(json.dumps(document), "json")
    assert not faults
    return policy


def changed(document: Document, **fields: object) -> Document:
    """A copy with other top-level fields."""
    return {**deepcopy(document), **fields}


def create_source(path: Path, table: pa.Table, *statements: str, schema: str = "main") -> None:
    """A database, new or not, with the table as `patients` of a schema, and the tables that the statements make."""
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}; USE {schema}")
        connection.from_arrow(table).create("patients")
        for statement in statements:
            connection.execute(statement)


def in_schema(document: Document, schema: str) -> Document:
    """The policy for the source in that schema, which is released there, too."""
    return changed(
        document,
        source={"schema": schema, "table": "patients"},
        release={**document["release"], "schema": schema},
        # The records were released before, if from another schema.
        repeat_reason="a test",
    )


def publish_from(path: Path, documents: Sequence[Document], *, export: bool = True) -> list[Published]:
    """Serves the database, releases by the documents, one after another, and exports the releases beside it."""
    server = TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=2))
    published = []
    try:
        with Client(server.address) as client:
            for document in documents:
                job = client.wait(client.submit(policy_of(document)).name)
                assert job.state == job_service_pb2.JOB_STATE_SUCCEEDED, job
                published.append(_fetched(client, client.get_release(job.result), path, export))
    finally:
        server.close()
    return published


def _fetched(client: Client, release: release_service_pb2.Release, source: Path, export: bool) -> Published:
    kinds = [
        release_service_pb2.ReleaseObjectKind.Name(item.kind).removeprefix("RELEASE_OBJECT_KIND_")
        for item in release.objects
    ]
    exports = None
    if export:
        place = source.parent / release.name.replace("/", "_")
        place.mkdir()
        database, directory = place / "clinic.export.duckdb", place / "clinic.parquet"
        client.export(release.name, database, ExportFormat.DUCKDB)
        files = client.export(release.name, directory, ExportFormat.PARQUET)
        exports = Exports(database, dict(zip(kinds, files, strict=True)))
    tables = [client.read_table(release.name, item.name) for item in release.objects]
    return Published(
        objects=dict(zip(kinds, tables, strict=True)),
        streams=dict(zip(kinds, map(_stream, tables), strict=True)),
        exports=exports,
        source_file=source,
        release=release,
    )


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def texts(tables: Sequence[pa.Table]) -> set[str]:
    """All texts in the tables, names of columns included."""
    found: set[str] = set()
    for table in tables:
        found.update(table.column_names)
        for column in table.columns:
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                found.update(value for value in column.to_pylist() if value is not None)
    return found
