"""Releases by microaggregation without the records that have a NULL in an aggregated column."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.errors import InfeasibleError, InvalidError
from tableveil.pipelines import microaggregation as run_microaggregation
from tableveil.pipelines.read import read_dictionaries, resolve_fully
from tableveil.policy import (
    Distance,
    DistinctLDiversity,
    KAnonymity,
    NullHandling,
    ReleaseKind,
    SuppressedRecords,
    TCloseness,
)
from tests.engine.search.changes import with_changes
from tests.service.jobs import test_microaggregation
from tests.service.jobs.aggregated_rows import Row, check_aggregates, classes_of, equal_distance, read_rows, within
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target
from tests.service.jobs.test_microaggregation import POLICY, Run, create, refused

database, clean, people = test_microaggregation.database, test_microaggregation.clean, test_microaggregation.people


def with_nulls(people: Sequence[Row]) -> list[Row]:
    """Every tenth person has no age, and the first also no income; they have an illness of their own."""
    rows = [row | ({} if row["tag"] % 10 else {"age": None, "illness": "rare"}) for row in people]
    return [rows[0] | {"income": None}, *rows[1:]]


NULLS_ASIDE = replace(
    POLICY,
    attributes=(
        replace(POLICY.attributes[0], nulls=NullHandling.SUPPRESS),
        replace(POLICY.attributes[1], nulls=NullHandling.SUPPRESS),
        *POLICY.attributes[2:],
    ),
    suppression_limit=Decimal("0.1"),
)


def test_records_with_a_null_are_set_aside(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    rows = with_nulls(people)
    create(session, rows)
    t = Decimal("0.2")
    policy = replace(
        NULLS_ASIDE,
        privacy_models=(KAnonymity(4), TCloseness("illness", t, Distance.EQUAL)),
        suppressed_records=SuppressedRecords.BLANK,
        marker_column="gone",
        release=plain_target("main", "out", ReleaseKind.VIEW),
    )
    release = run(database, policy)
    assert (release.records, release.suppressed_records) == (60, 6)
    assert session.rows("SELECT count(*), count(age), count(illness), count(tag) FROM out WHERE gone") == [(6, 0, 0, 0)]
    clustered = [row for row in rows if row["age"] is not None]
    released = read_rows(session, "SELECT * EXCLUDE gone FROM out WHERE NOT gone")
    check_aggregates(policy, clustered, released)
    illnesses = [row["illness"] for row in clustered]
    assert "rare" not in illnesses
    for members in classes_of(policy, clustered, released).values():
        # The whole that distributions are compared with is that of the clustered records.
        assert within(equal_distance([row["illness"] for row in members], illnesses), t)
    assert release.risk_after.records == 54
    # They have lost everything.
    assert all(attribute.loss > 0.1 for attribute in release.attributes)


def test_more_than_the_limit_is_refused(database: Database, session: Session, people: list[Row]) -> None:
    create(session, with_nulls(people))
    policy = replace(NULLS_ASIDE, suppression_limit=Decimal("0.0999"))
    error = refused(InfeasibleError, database, session, policy)
    assert error.faults[0].field == "suppression_limit"
    assert error.faults[0].found == (
        "6 of 60 records (10 %) that have to be suppressed: they have a NULL in an aggregated column"
    )
    assert "suppression_limit = 0.1." in error.faults[0].hint


def test_the_limit_and_the_models_are_told_together(database: Database, session: Session, people: list[Row]) -> None:
    create(session, with_nulls(people))
    models = (KAnonymity(60), DistinctLDiversity("illness", 4), TCloseness("charge", Decimal(0), Distance.ORDERED))
    policy = replace(NULLS_ASIDE, suppression_limit=Decimal("0.05"), privacy_models=models)
    error = refused(InfeasibleError, database, session, policy)
    # All records together are 0 away from themselves: t is met.
    assert [fault.field for fault in error.faults] == ["suppression_limit", "privacy_models[0]", "privacy_models[1]"]
    assert error.code == "TOO_FEW_RECORDS"
    [relaxation] = error.relaxations
    assert relaxation.nearest
    assert str(relaxation) == (
        "suppression_limit = 0.1 and privacy_models[0].k_anonymity.k = 54 "
        "and privacy_models[1].distinct_l_diversity.l = 3"
    )
    with database.session() as own:
        own.control = Control()
        job, changed = context(own), with_changes(policy, relaxation.changes)
        source, resolved, hierarchies = resolve_fully(own, changed, store=False)
        with own.transaction():
            _, dictionaries = read_dictionaries(own, source, resolved, hierarchies)
            read = run_microaggregation.clusterable(own, resolved, dictionaries)
        run_microaggregation._check_limit(read)
        assert run_microaggregation._solve(job, read).found.clusters.number == 1


def test_a_null_is_a_fault_unless_allowed(database: Database, session: Session, people: list[Row]) -> None:
    create(session, with_nulls(people))
    error = refused(InvalidError, database, session, POLICY)
    assert {fault.field for fault in error.faults} == {"attributes[0].nulls", "attributes[1].nulls"}


@pytest.mark.parametrize("left", [0, 3])
def test_fewer_records_than_a_cluster_needs(database: Database, session: Session, people: list[Row], left: int) -> None:
    rows = [row | ({} if i < left else {"age": None}) for i, row in enumerate(people)]
    columns = {column: pa.array([row[column] for row in rows]) for column in rows[0]} | {
        "age": pa.array([row["age"] for row in rows], pa.int64())
    }
    with session.relation("given", pa.table(columns)):
        session.execute("CREATE OR REPLACE TABLE people AS FROM given")
    error = refused(InfeasibleError, database, session, replace(NULLS_ASIDE, suppression_limit=Decimal(1)))
    assert error.code == "TOO_FEW_RECORDS"
    assert f"{left} records" in error.faults[0].found
