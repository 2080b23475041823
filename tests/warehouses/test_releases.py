"""A release over Spark equals the one in the database: score, classes and every table, for columns of many types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.backend import Database, table
from tableveil.lookups import Releases
from tableveil.policy import Distance, DistinctLDiversity, KAnonymity, TCloseness
from tableveil.spark import SparkWarehouse
from tests.migrated import opened
from tests.service.jobs.elsewhere import MADE, POLICY, done, tables
from tests.warehouses.conftest import MOST_COLLECTED, query, tree


@pytest.fixture(scope="module")
def database(spark_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Both have the same tables in a schema `clinic`."""
    for database in opened(tmp_path_factory.mktemp("releases") / "ledger.duckdb"):
        database.warehouses["lake"] = SparkWarehouse("lake", spark_url, MOST_COLLECTED)
        with database.session() as session, database.rows_session(session, "lake") as rows:
            session.execute("CREATE SCHEMA clinic")
            rows.execute(tree("DROP SCHEMA IF EXISTS clinic CASCADE"))
            rows.execute(tree("CREATE SCHEMA clinic"))
            for statement, name in zip(MADE, ("patients", "everybody"), strict=True):
                session.execute(statement.replace("{}", "clinic"))
                rows.create(table(name, "clinic", "lake"), query(f"SELECT * FROM clinic.{name}"))
        yield database


def test_equals_one_in_the_database(database: Database) -> None:
    models = (
        KAnonymity(2),
        DistinctLDiversity("illness", 2),
        TCloseness("illness", Decimal("0.4"), Distance.EQUAL),
    )
    policy = replace(POLICY, privacy_models=models)
    there = done(database, policy)
    here = done(database, replace(policy, source=replace(policy.source, catalog="")))
    assert (there.failure, here.failure) == (None, None)
    elsewhere, own = (Releases(database).get(job.result) for job in (there, here) if job.result)
    for field in ("score", "records", "suppressed_records", "classes", "risk_before", "risk_after"):
        assert getattr(elsewhere, field) == getattr(own, field)
    with database.session() as session, database.rows_session(session, "lake") as rows:
        found, expected = tables(rows), tables(session)
    assert set(found) == set(expected)
    for name in expected:
        assert sorted(map(repr, found[name])) == sorted(map(repr, expected[name])), name
