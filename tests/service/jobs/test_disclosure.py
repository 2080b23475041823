"""Columns released as they are must not give away what the labels of a quasi-identifier hide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.state.releases import Release

Run = Callable[..., Release]

TOWNS = InlineLevels(tuple((f"t{i}", f"county {i // 4}", f"land {i // 8}", "*") for i in range(16)))

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("town", Role.QUASI_IDENTIFIER, TOWNS, minimum_level=1, maximum_level=1),
        AttributePolicy("note", Role.INSENSITIVE),
    ),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "released"),
)


def fill(session: Session, note: str) -> None:
    """160 people in 16 towns; `note` is an expression over the person's number i and the town's t."""
    session.execute(
        f"CREATE TABLE people AS SELECT 't' || t AS town, {note} AS note "
        "FROM (SELECT i, i % 16 AS t FROM range(160) r(i))"
    )


@pytest.mark.parametrize(
    ("note", "refused"),
    [
        pytest.param("'mayor of ' || t", True, id="names the town"),
        pytest.param("'town hall ' || t || ' room ' || (i // 16) % 2", True, id="finer than the town"),
        pytest.param("CASE WHEN i < 148 THEN 'mayor of ' || t ELSE 'none' END", True, id="names it nearly always"),
        pytest.param("CASE WHEN i < 130 THEN 'mayor of ' || t ELSE 'none' END", False, id="names it too rarely"),
        pytest.param("CASE WHEN i < 148 THEN 'mayor of ' || t END", True, id="NULL now and then"),
        pytest.param("CASE WHEN i < 80 THEN 'mayor of ' || t END", True, id="NULL mostly"),
        pytest.param("'county ' || t // 4", False, id="what is released anyway"),
        pytest.param("'land ' || t // 8", False, id="coarser than what is released"),
        pytest.param("'same'", False, id="one value"),
        pytest.param("'room ' || i // 16", False, id="independent"),
        pytest.param("NULL::VARCHAR", False, id="nothing"),
    ],
)
def test_a_column_that_determines_what_is_hidden(
    database: Database, session: Session, run: Run, note: str, refused: bool
) -> None:
    fill(session, note)
    if not refused:
        run(database, POLICY)
        return
    with pytest.raises(InvalidError) as raised:
        run(database, POLICY)
    assert raised.value.code == "COLUMN_DISCLOSES"
    (fault,) = raised.value.faults
    assert fault.field == "attributes[1].role"
    assert "'note', which determines 'town' more finely than its released level 1" in fault.found
    assert session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'released'") == []


def test_levels_that_hide_nothing_more_are_looked_through(database: Database, session: Session, run: Run) -> None:
    """At the level below the released one the groups may be the same: what matters is the level that tells more."""
    fill(session, "'mayor of ' || t")
    towns = InlineLevels(tuple((row[0], row[1], row[1], "*") for row in TOWNS.rows))
    town = replace(POLICY.attributes[0], hierarchy=towns, minimum_level=2, maximum_level=2)
    with pytest.raises(InvalidError) as raised:
        run(database, replace(POLICY, attributes=(town, POLICY.attributes[1])))
    assert raised.value.code == "COLUMN_DISCLOSES"


@pytest.mark.parametrize("role", [Role.SENSITIVE, Role.IDENTIFYING])
def test_columns_of_other_roles(database: Database, session: Session, run: Run, role: Role) -> None:
    fill(session, "'mayor of ' || t")
    run(database, replace(POLICY, attributes=(POLICY.attributes[0], AttributePolicy("note", role))))


def test_acknowledged_column(database: Database, session: Session, run: Run) -> None:
    fill(session, "'mayor of ' || t")
    note = AttributePolicy("note", Role.INSENSITIVE, acknowledged=True)
    run(database, replace(POLICY, attributes=(POLICY.attributes[0], note)))


def test_released_values_hide_nothing(database: Database, session: Session, run: Run) -> None:
    fill(session, "'mayor of ' || t")
    town = replace(POLICY.attributes[0], minimum_level=0, maximum_level=0)
    run(database, replace(POLICY, attributes=(town, POLICY.attributes[1])))


def test_a_column_of_the_default_role(database: Database, session: Session, run: Run) -> None:
    """Nobody listed it: the field to change is the default."""
    fill(session, "'mayor of ' || t")
    policy = replace(POLICY, attributes=POLICY.attributes[:1], default_role=Role.INSENSITIVE)
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    assert [fault.field for fault in raised.value.faults] == ["default_role"]
