"""Publishes small tables into directories of their own."""

from collections.abc import Sequence
from itertools import count

import pyarrow as pa
import pytest

from tests.adversary.publishing import Document, Publish, PublishEach, Published, create_source, in_schema, publish_from


@pytest.fixture(scope="session")
def publish_each(tmp_path_factory: pytest.TempPathFactory) -> PublishEach:
    """`publish_each([(table, document), …], *statements)` releases every table on one server.

    Each has a schema of its own, in which the statements are run.
    """
    directory = tmp_path_factory.mktemp("published_each")
    numbers = count(1)

    def publish_each(
        sources: Sequence[tuple[pa.Table, Document]], *statements: str, export: bool = True
    ) -> list[Published]:
        path = directory / str(next(numbers)) / "clinic.duckdb"
        path.parent.mkdir()
        documents = []
        for number, (table, document) in enumerate(sources):
            create_source(path, table, *statements, schema=f"clinic_{number}")
            documents.append(in_schema(document, f"clinic_{number}"))
        return publish_from(path, documents, export=export)

    return publish_each


@pytest.fixture(scope="session")
def publish(tmp_path_factory: pytest.TempPathFactory) -> Publish:
    """`publish(table, document, *statements)` makes a source, releases it and returns the release."""
    directory = tmp_path_factory.mktemp("published")
    numbers = count(1)

    def publish(table: pa.Table, document: Document, *statements: str, export: bool = True) -> Published:
        # Always the same file name, because an adversary must not learn from it either.
        path = directory / str(next(numbers)) / "clinic.duckdb"
        path.parent.mkdir()
        create_source(path, table, *statements)
        [published] = publish_from(path, [document], export=export)
        return published

    return publish
