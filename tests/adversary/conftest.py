"""Publishes small tables into directories of their own."""

from __future__ import annotations

from itertools import count

import pyarrow as pa
import pytest

from tests.adversary.publishing import Document, Publish, Published, create_source, publish_from


@pytest.fixture(scope="session")
def publish(tmp_path_factory: pytest.TempPathFactory) -> Publish:
    """`publish(table, document, *statements)` makes a source, releases it and returns what came out."""
    directory = tmp_path_factory.mktemp("published")
    numbers = count(1)

    def publish(table: pa.Table, document: Document, *statements: str) -> Published:
        # Always the same file name, because an adversary must not learn from it either.
        path = directory / str(next(numbers)) / "clinic.duckdb"
        path.parent.mkdir()
        create_source(path, table, *statements)
        return publish_from(path, document)

    return publish
