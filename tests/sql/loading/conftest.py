"""A session in memory, and a file whose name has the database's wildcards in it."""

from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Session
from tableveil.backend.interrupter import Interrupter

INTERRUPTER = Interrupter()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv") / "a [1]*.csv"


@pytest.fixture(scope="module")
def session() -> Session:
    connection = duckdb.connect()
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return Session(connection, INTERRUPTER)
