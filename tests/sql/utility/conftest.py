"""One database for a file of tests, and two tables to be compared."""

from collections.abc import Callable

import pytest

from tableveil.backend import Database, Session
from tableveil.policy import TableReference
from tableveil.source import Source
from tableveil.source.tables import columns_of
from tableveil.utility import Sides


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def sides(session: Session) -> Callable[..., Sides]:
    """Makes the tables "before" and "after" of two queries."""

    def make(before: str, after: str, marker: str = "") -> Sides:
        session.execute(f'CREATE OR REPLACE TABLE "before" AS {before}')
        session.execute(f'CREATE OR REPLACE TABLE "after" AS {after}')
        catalog = session.value("SELECT current_database()")
        source = TableReference(catalog, "main", "before")
        columns = tuple(column for column in columns_of(session, source) if not isinstance(column, tuple))
        return Sides(Source(source, columns), TableReference(catalog, "main", "after"), marker)

    return make
