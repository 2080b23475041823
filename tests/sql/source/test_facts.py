"""Facts about the rows: what a policy says of people, unique columns and NULLs is held against them."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    PRIVACY_FIELDS,
    AttributePolicy,
    AverageRisk,
    DeltaPresence,
    EstimatedKMap,
    Inclusion,
    KAnonymity,
    KMap,
    NoAttack,
    NullHandling,
    Policy,
    PrivacyModel,
    ReleaseTarget,
    Role,
    SampleUniqueness,
    TableReference,
)
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.source import check_facts, resolve_source

AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly())

POLICY = Policy(
    source=TableReference("", "main", "t"),
    attributes=(AGE, AttributePolicy("person", Role.IDENTIFYING), AttributePolicy("note", Role.INSENSITIVE)),
    person_column="person",
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "out"),
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


Rows = Sequence[tuple[int | None, str | None, str | None]]


def faults_of(session: Session, rows: Rows, policy: Policy = POLICY) -> list[tuple[str, str]]:
    """Field and finding of each fault for rows of (age, person, note)."""
    session.execute("CREATE OR REPLACE TABLE t (age INTEGER, person VARCHAR, note VARCHAR)")
    columns = [pa.array([row[j] for row in rows]) for j in range(3)]
    with session.relation("rows_", pa.table(columns, names=["age", "person", "note"])):
        session.execute("INSERT INTO t SELECT * FROM rows_")
    source, complete, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    facts = check_facts(session, source, complete)
    assert facts.records == len(rows)
    return [(fault.field, fault.found) for fault in facts.faults]


def people(count: int, note: str | None = "same") -> list[tuple[int | None, str | None, str | None]]:
    return [(20 + i % 5, f"p{i}", note) for i in range(count)]


def test_sound_rows(session: Session) -> None:
    assert faults_of(session, people(100)) == []


def test_empty_table(session: Session) -> None:
    assert faults_of(session, []) == [("source.table", "'test.main.t', which is empty")]


@pytest.mark.parametrize("count", [1, 3])
def test_few_rows(session: Session, count: int) -> None:
    policy = replace(POLICY, attributes=POLICY.attributes[:2], default_role=Role.SENSITIVE)
    assert faults_of(session, people(count), policy) == []


def test_person_with_several_records(session: Session) -> None:
    rows = [*people(100), (30, "p7", "same"), (31, "p7", "same")]
    assert faults_of(session, rows) == []
    several = "although 100 people have 102 records"
    counting_records: list[tuple[PrivacyModel, str]] = [
        (KMap(3), "3-map"),
        (EstimatedKMap(3), "3-map estimated (poisson, significance 0.05)"),
        (DeltaPresence(Decimal("0.1")), "(0.1, 1)-presence"),
        (Inclusion(), "inclusion"),
        (AverageRisk(Decimal("0.1")), "average risk 0.1"),
        (SampleUniqueness(Decimal("0.1")), "sample uniqueness 0.1"),
        (NoAttack(), str(NoAttack())),
    ]
    for model, name in counting_records:
        field = f"privacy_models[0].{PRIVACY_FIELDS[type(model)]}"
        found = f"{name}, which takes every record for another person, {several}"
        assert faults_of(session, rows, replace(POLICY, privacy_models=(model,))) == [(field, found)]
        assert faults_of(session, people(100), replace(POLICY, privacy_models=(model,))) == []
    assert faults_of(session, rows, replace(POLICY, methods=(Microaggregation(),))) == []


def test_rows_without_a_person(session: Session) -> None:
    rows = [*people(10), (30, None, "same"), (31, None, "same")]
    assert faults_of(session, rows) == [("person_column", "2 rows without a person in 'person'")]


def test_rows_are_people(session: Session) -> None:
    rows = [*people(10), (30, "p7", "same"), (31, None, "same")]
    assert faults_of(session, rows, replace(POLICY, person_column=None)) == []


def notes(rows: int, distinct: int) -> list[tuple[int | None, str | None, str | None]]:
    return [(20, f"p{i}", f"n{i % distinct}") for i in range(rows)]


@pytest.mark.parametrize(("distinct", "refused"), [(1000, True), (900, True), (334, False), (1, False)])
def test_nearly_unique_insensitive_column(session: Session, distinct: int, refused: bool) -> None:
    """Nine tenths distinct is nearly unique, and that is counted, not estimated."""
    found = f"INSENSITIVE for 'note', which has {distinct} distinct values in 1000 records"
    rows = notes(1000, distinct) if distinct != 334 else notes(1002, distinct)
    assert faults_of(session, rows) == ([("attributes[2].role", found)] if refused else [])


@pytest.mark.parametrize(("k", "few", "distinct"), [(2, 3, 500), (2, 3, 899), (7, 7, 200), (100, 10, 120)])
def test_an_identifier_that_a_few_share(session: Session, k: int, few: int, distinct: int) -> None:
    """A phone of a family is known to those who look for one of them; a ward of eleven is not known for that."""
    policy = replace(POLICY, privacy_models=(KAnonymity(k),))
    found = f"INSENSITIVE for 'note', which has values that fewer than {few} records share in 1000 of 1000 records"
    assert faults_of(session, notes(1000, distinct), policy) == [("attributes[2].role", found)]
    assert faults_of(session, notes(1000, 1000 // (few + 1)), policy) == []
    rare = [(20, f"q{i}", f"n{i // 2}") for i in range(499)]
    assert faults_of(session, [*people(501), *rare], policy) == []


def test_nearly_unique_among_the_values_present(session: Session) -> None:
    rows = [*people(90, note=None), *[(20, f"q{i}", f"n{i}") for i in range(10)]]
    found = "INSENSITIVE for 'note', which has 10 distinct values in 10 records"
    assert faults_of(session, rows) == [("attributes[2].role", found)]


def test_unique_columns_of_other_roles(session: Session) -> None:
    """A nearly unique sensitive column is a key to other tables; rare values of one are for models to protect."""
    identifying, sensitive = (AttributePolicy("note", role) for role in (Role.IDENTIFYING, Role.SENSITIVE))
    policies = [replace(POLICY, attributes=(*POLICY.attributes[:2], note)) for note in (identifying, sensitive)]
    found = "SENSITIVE for 'note', which has 90 distinct values in 100 records"
    assert faults_of(session, notes(100, 90), policies[0]) == []
    assert faults_of(session, notes(100, 90), policies[1]) == [("attributes[2].role", found)]
    assert faults_of(session, notes(100, 89), policies[1]) == []


@pytest.mark.parametrize("role", [Role.INSENSITIVE, Role.SENSITIVE])
def test_acknowledged_unique_column(session: Session, role: Role) -> None:
    note = AttributePolicy("note", role, acknowledged=True)
    assert faults_of(session, notes(100, 100), replace(POLICY, attributes=(*POLICY.attributes[:2], note))) == []


@pytest.mark.parametrize("nulls", list(NullHandling))
def test_nulls_are_an_error_only_where_the_policy_says_so(session: Session, nulls: NullHandling) -> None:
    rows = [*people(10), (None, "x", "same"), (None, "y", "same")]
    policy = replace(POLICY, attributes=(replace(AGE, nulls=nulls), *POLICY.attributes[1:]))
    expected = [("attributes[0].nulls", "2 NULLs in 'age'")] if nulls is NullHandling.ERROR else []
    assert faults_of(session, rows, policy) == expected


def test_all_null_columns(session: Session) -> None:
    rows = [(None, f"p{i}", None) for i in range(10)]
    assert faults_of(session, rows) == []
    policy = replace(POLICY, attributes=(replace(AGE, nulls=NullHandling.ERROR), *POLICY.attributes[1:]))
    assert faults_of(session, rows, policy) == [("attributes[0].nulls", "10 NULLs in 'age'")]


def test_all_faults_at_once(session: Session) -> None:
    rows = [*notes(100, 100), (None, None, "n1")]
    policy = replace(POLICY, attributes=(replace(AGE, nulls=NullHandling.ERROR), *POLICY.attributes[1:]))
    assert [field for field, _ in faults_of(session, rows, policy)] == [
        "person_column",
        "attributes[2].role",
        "attributes[0].nulls",
    ]


@pytest.mark.parametrize("field", ["person_column", "record_column"])
def test_negative_zeros(session: Session, field: str) -> None:
    """They equal zero, so that the next release may have it in their place: as a newcomer, and as one who left."""
    session.execute(
        "CREATE OR REPLACE TABLE t AS SELECT 20 AS age, 'same' AS note, i AS person, "
        "CASE WHEN i = 0 THEN '-0.0' ELSE i::VARCHAR END::DOUBLE AS who FROM range(10) r(i)"
    )
    attributes = (*POLICY.attributes, AttributePolicy("who", Role.IDENTIFYING))
    person, record = ("who", "") if field == "person_column" else ("person", "who")
    policy = replace(POLICY, attributes=attributes, person_column=person, record_column=record)
    source, complete, _ = resolve_source(session, policy)
    assert source is not None
    found = check_facts(session, source, complete).faults
    assert [(fault.field, fault.found) for fault in found] == [(field, "1 records with -0.0 in 'who'")]
