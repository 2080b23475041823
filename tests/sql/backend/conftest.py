"""The engines that the contracts of sessions and of the catalog are held against: one, until there is a second.

A contract's statements are trees, which each engine's session renders for itself.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from tableveil.backend import Database
from tests.migrated import opened

ENGINES: dict[str, Callable[[Path], Iterator[Database]]] = {"duckdb": opened}
"""By name how to open a database of the engine at a path, and to close it."""


def tree(statement: str) -> exp.Expr:
    """A statement for any engine; it is written as DuckDB would have it."""
    return sqlglot.parse_one(statement, dialect="duckdb")


@pytest.fixture(scope="module", params=ENGINES)
def engine_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all tests of a file that override `database` with it."""
    yield from ENGINES[request.param](tmp_path_factory.mktemp("engine") / "clinic.duckdb")
