"""Publishes small tables into directories of their own."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from tests.adversary.publishing import Document, Publish, Published, create_source, publish_from


@pytest.fixture
def publish(tmp_path: Path) -> Publish:
    """`publish(table, document, *statements)` makes a source, releases it and returns what came out."""
    numbers = count(1)

    def publish(table: pa.Table, document: Document, *statements: str) -> Published:
        # Always the same file name, because an adversary must not learn from it either.
        path = tmp_path / str(next(numbers)) / "clinic.duckdb"
        path.parent.mkdir()
        create_source(path, table, *statements)
        return publish_from(path, document)

    return publish
