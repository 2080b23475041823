"""A release over Spark equals the one in the database: score, classes and every table, for columns of many types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.backend import Database, table
from tableveil.lookups import Releases
from tableveil.policy import Distance, DistinctLDiversity, KAnonymity, Policy, SuppressedRecords, TCloseness
from tableveil.spark import SparkWarehouse
from tests.migrated import opened
from tests.service.jobs.elsewhere import (
    MADE,
    NUMBERED,
    OF_COMBINATIONS,
    POLICY,
    SUPPRESSING,
    UNCHANGED,
    check_analyses,
    check_known_again,
    decided,
    done,
    here,
    tables,
)
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


MODELS = (KAnonymity(2), DistinctLDiversity("illness", 2), TCloseness("illness", Decimal("0.4"), Distance.EQUAL))


@pytest.mark.parametrize(
    ("policy", "approval"),
    [
        (replace(POLICY, privacy_models=MODELS), ()),
        (replace(SUPPRESSING, suppressed_records=SuppressedRecords.KEEP), ()),
        (replace(SUPPRESSING, suppressed_records=SuppressedRecords.BLANK, release=NUMBERED), ()),
        (UNCHANGED, ("lake.clinic",)),
        *((policy, ()) for policy in OF_COMBINATIONS.values()),
    ],
    ids=["models", "keep", "blank", "approved", *OF_COMBINATIONS],
)
def test_equals_one_in_the_database(database: Database, policy: Policy, approval: tuple[str, ...]) -> None:
    name = f"released_{abs(hash(policy))}"
    policy = replace(policy, release=replace(policy.release, name=name))
    there, own_job = done(database, policy, approval), done(database, here(policy))
    assert (there.failure, own_job.failure) == (None, None)
    assert there.result is not None
    if approval:
        with database.session() as session, database.rows_session(session, "lake") as rows:
            assert name not in tables(rows)
        decided(database, there.result, approved=True, policy=policy)
    elsewhere, own = (Releases(database).get(job.result) for job in (there, own_job) if job.result)
    for field in ("score", "records", "suppressed_records", "classes", "risk_before", "risk_after"):
        assert getattr(elsewhere, field) == getattr(own, field)
    # The second one repeats the people of the first.
    reached, own_reached = (
        [one for one in release.guarantees if not one.model.startswith("joint_k")] for release in (elsewhere, own)
    )
    assert reached == own_reached
    assert set(elsewhere.versions) - set(own.versions) == {"spark", "pyspark"}
    with database.session() as session, database.rows_session(session, "lake") as rows:
        found, expected = tables(rows), tables(session)
    assert set(found) == set(expected)
    for each in expected:
        assert sorted(map(repr, found[each])) == sorted(map(repr, expected[each])), each


def test_analyses_equal_those_in_the_database(database: Database) -> None:
    check_analyses(database, POLICY)


def test_knows_people_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableveil.source.sketch.MOST_VALUES", 64)
    check_known_again(database, ("lake", "lake"))
