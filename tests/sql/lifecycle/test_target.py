"""Where a release may be written: no missing or reserved schema, not over the source, not over what exists."""

from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import ConflictError
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.lifecycle import check_existing, check_target
from tableveil.policy import AttributePolicy, IfExists, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import resolve_source

POLICY = Policy(
    source=TableReference("", "main", "Patients"),
    attributes=(AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly()),),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "released"),
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def patients(session: Session) -> None:
    session.execute('CREATE OR REPLACE TABLE "Patients" (age INTEGER)')
    session.execute('CREATE OR REPLACE TABLE "p_classes" (age INTEGER)')
    session.execute('CREATE SCHEMA IF NOT EXISTS "Public; x"')


def faults_of(session: Session, target: ReleaseTarget, source: str = "Patients") -> list[tuple[str, str, str]]:
    policy = replace(POLICY, release=target, source=TableReference("", "main", source))
    found, _, _ = resolve_source(session, policy)
    assert found is not None
    return [(fault.field, fault.found, fault.hint) for fault in check_target(session, policy, found)]


@pytest.mark.parametrize("target", [ReleaseTarget("main", "released"), ReleaseTarget("Public; x", "Patients")])
def test_sound_targets(session: Session, target: ReleaseTarget) -> None:
    assert faults_of(session, target) == []


@pytest.mark.parametrize("name", ["Patients", "patients", "PATIENTS"])
def test_target_equals_source(session: Session, name: str) -> None:
    """Whatever the case: the database does not tell such names apart."""
    ((field, found, _),) = faults_of(session, ReleaseTarget("main", name))
    assert (field, found) == ("release.name", f"'{name}', which is the source")


@pytest.mark.parametrize(
    ("name", "source"), [("p", "p_classes"), ("P", "p_classes"), ("p", "P_RISK"), ("p", "p_risk_histogram")]
)
def test_companion_equals_source(session: Session, name: str, source: str) -> None:
    session.execute(f"CREATE OR REPLACE TABLE {source} (age INTEGER)")
    ((field, found, _),) = faults_of(session, ReleaseTarget("main", name), source)
    assert field == "release.name"
    assert "which is the source" in found


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ("mian", "Did you mean 'main'?"),
        ("public; x", "Did you mean 'Public; x'?"),
        ("warehouse", "An admin makes it: tableveil schemas create NAME."),
        ("", "An admin makes it: tableveil schemas create NAME."),
        ("information_schema", "An admin makes it: tableveil schemas create NAME."),
        ("pg_catalog", "An admin makes it: tableveil schemas create NAME."),
    ],
)
def test_missing_schema(session: Session, schema: str, hint: str) -> None:
    assert faults_of(session, ReleaseTarget(schema, "released")) == [("release.schema", f"'{schema}'", hint)]


@pytest.mark.parametrize("schema", ["tableveil", "TableVeil"])
def test_reserved_schema(session: Session, schema: str) -> None:
    assert [field for field, _, _ in faults_of(session, ReleaseTarget(schema, "released"))] == ["release.schema"]


@pytest.mark.parametrize("if_exists", list(IfExists))
@pytest.mark.parametrize("name", ["released", "released_classes", "Released_Risk", "RELEASED_risk_histogram"])
@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_what_tableveil_did_not_write_is_never_replaced(
    session: Session, if_exists: IfExists, name: str, kind: str
) -> None:
    session.execute(f'CREATE {kind} "{name}" AS SELECT 1 AS precious')
    try:
        with pytest.raises(ConflictError) as raised:
            check_existing(session, ReleaseTarget("main", "released", if_exists=if_exists))
    finally:
        session.execute(f'DROP {kind} "{name}"')
    assert raised.value.code == "TARGET_EXISTS"
    assert [fault.field for fault in raised.value.faults] == ["release.name"]
    assert f"{kind.lower()} '{name}'" in str(raised.value.faults[0])


@pytest.mark.parametrize("if_exists", list(IfExists))
def test_every_object_in_the_way_is_named_once(session: Session, if_exists: IfExists) -> None:
    session.execute("CREATE TABLE released AS SELECT 1")
    session.execute("CREATE TABLE released_classes AS SELECT 1")
    session.execute("CREATE VIEW released_risk AS SELECT 1")
    try:
        with pytest.raises(ConflictError) as raised:
            check_existing(session, replace(POLICY.release, if_exists=if_exists))
    finally:
        for dropped in ("TABLE released", "TABLE released_classes", "VIEW released_risk"):
            session.execute(f"DROP {dropped}")
    (fault,) = raised.value.faults
    assert "tables 'released', 'released_classes' and view 'released_risk'" in fault.found


def test_the_same_name_in_another_schema_is_not_in_the_way(session: Session) -> None:
    session.execute('CREATE OR REPLACE TABLE "Public; x".released AS SELECT 1')
    check_existing(session, POLICY.release)
