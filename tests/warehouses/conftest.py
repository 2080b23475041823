"""The engines that rows may be in: their sessions are held to one contract, and Spark's server is one for the run.

Tests of Spark are skipped where PySpark's server or Java is missing, and where tests run in several processes: each
would start a server. `make test-spark` runs them.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from tableveil.backend import Database, Session, WarehouseSession
from tableveil.control import Control
from tableveil.errors import InvalidError
from tableveil.spark import SparkWarehouse
from tableveil.spark.local import LocalServer
from tests.migrated import opened
from tests.warehouses.tasks import Tasks

ENGINES = ("duckdb", "spark")
MOST_COLLECTED = 64 * 2**20


def tree(statement: str) -> exp.Expr:
    """A statement for any engine; it is written as DuckDB would have it."""
    return sqlglot.parse_one(statement, dialect="duckdb")


def query(statement: str) -> exp.Query:
    """A query for any engine."""
    return sqlglot.parse_one(statement, dialect="duckdb", into=exp.Select)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tests that are skipped because Spark is missing are counted in one line, not each in its own."""
    report = yield
    if report.skipped and call.when == "setup" and isinstance(report.longrepr, tuple):
        report.longrepr = (__file__, 0, report.longrepr[2])
    return report


@pytest.fixture(scope="session")
def spark_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the server that all tests share."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark_url(spark_directory: Path) -> Iterator[str]:
    """The address of the server that all tests share."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("one server for all tests needs one process: make test-spark")
    try:
        server = LocalServer(spark_directory, persistent=False)
    except InvalidError as error:
        pytest.skip(str(error))
    yield server.url
    server.close()


@pytest.fixture
def spark_tasks(spark_url: str, spark_directory: Path) -> Tasks:
    """The tasks that this server runs."""
    return Tasks(spark_directory / "log")


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session of the embedded database; all tests of a file share it."""
    database: Database
    for database in opened(tmp_path_factory.mktemp("embedded") / "ledger.duckdb"):
        with database.session() as session:
            yield session


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, embedded: Session) -> Iterator[WarehouseSession]:
    """A session of each engine, for all tests of a file; `clinic` is a schema of its own."""
    if request.param == "duckdb":
        embedded.execute("CREATE SCHEMA clinic")
        yield embedded
        return
    url = request.getfixturevalue("spark_url")
    with SparkWarehouse("lake", url, MOST_COLLECTED).session(embedded) as session:
        session.execute(tree("DROP SCHEMA IF EXISTS clinic CASCADE"))
        session.execute(tree("CREATE SCHEMA clinic"))
        yield session


@pytest.fixture
def rows(engine: WarehouseSession) -> WarehouseSession:
    """The engine's session as jobs have it: with a control that may stop it."""
    engine.control = Control()
    return engine
