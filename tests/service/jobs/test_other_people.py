"""Releases of which somebody says that they are of other people, and tables whose people nobody takes for others."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InvalidError, Rank, rank_of
from tableveil.policy import LeftBehind, Policy, TableReference, validate_policy
from tableveil.state import schema_rules
from tableveil.state.jobs import now
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs.managed import OF_KNOWN_PEOPLE, Open
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
NUMBERS = count(1)

# hash(hash(…)): hashes of two arguments have bits in common.
PEOPLE = (
    "CREATE OR REPLACE TABLE {name} AS SELECT i AS id, (20 + hash(hash(i, {seed})) % 40)::INTEGER AS age, "
    "(hash(hash(i, {seed} + 1)) % 4)::INTEGER AS ward, 'illness ' || hash(hash(i, {seed} + 2)) % 5 AS illness "
    "FROM range(1, {rows}) r(i)"
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def empty(session: Session) -> None:
    session.execute(
        "DELETE FROM tableveil.release_persons; DELETE FROM tableveil.release_sample_values;"
        "DELETE FROM tableveil.release_samples; DELETE FROM tableveil.releases; DELETE FROM tableveil.schema_rules"
    )
    for name, seed, rows in (("staff", 10, 500), ("pupils", 20, 400)):
        session.execute(PEOPLE.format(name=name, seed=seed, rows=rows))


def policy(table: str, name: str, **changes: Any) -> Policy:
    target = plain_target("main", f"{name}_{next(NUMBERS)}")
    return replace(OF_KNOWN_PEOPLE, source=TableReference("", "main", table), release=target, **changes)


def test_registers_that_number_from_1_are_released(database: Database, run: Run) -> None:
    run(database, policy("staff", "staff_r"))
    second = run(database, policy("pupils", "pupils_r"))
    assert not second.repeat_reason
    assert not [one for one in second.guarantees if one.model.startswith("joint_k")]


NOBODY = "Nobody can tell whether the people of releases/"


@pytest.mark.parametrize(
    ("ids", "told"),
    once(
        [
            ("id", "all 399 values of 'id' here are in"),
            ("id::VARCHAR", "all 399 values of 'id' here are in"),
            ("id + 5000", ""),
            ("id * id * 37 + 11", ""),
        ],
        2,
        several=True,
    ),
)
def test_numbers_from_1_in_two_tables_are_noted(
    database: Database, session: Session, run: Run, open_manager: Open, ids: str, told: str
) -> None:
    """Nobody can tell two registers apart whose people are numbered; other numbers than these are others."""
    for table, numbers in (("staff", ids), ("pupils", "id::VARCHAR" if "VARCHAR" in ids else "id")):
        session.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * REPLACE ({numbers} AS id) FROM {table}")
    first = run(database, policy("staff", "staff_r"))
    assert not [text for text in first.warnings if text.startswith(NOBODY)]
    asking = policy("pupils", "pupils_r")
    checked = [text for text in open_manager().check(asking).warnings if text.startswith(NOBODY)]
    second = run(database, asking)
    found = [text for text in second.warnings if text.startswith(NOBODY)]
    assert found == checked
    assert len(found) == bool(told)
    assert all(told in text and rank_of(text) is Rank.NOTE for text in found)
    if told:
        # A statement decides, and readers who may not see the other release are told nothing.
        of_job = "SELECT releases FROM tableveil.joint_texts WHERE job = ? AND text LIKE 'Nobody can tell%'"
        assert session.rows(of_job, [second.job]) == [([first.number],)]
        stated = run(database, policy("pupils", "stated", other_people=(first.number,), repeat_reason="a test"))
        assert not [text for text in stated.warnings if text.startswith(NOBODY)]


def test_a_reloaded_table_is_of_others(database: Database, session: Session, run: Run) -> None:
    """Its name says that it was released, and its rows do not."""
    first = run(database, policy("staff", "first")).number
    session.execute(PEOPLE.format(name="staff", seed=30, rows=450))
    with pytest.raises(InvalidError) as refused:
        run(database, policy("staff", "second"))
    assert refused.value.code == "REPEATED_RELEASE"
    assert f"If they are other people, say so: other_people: [releases/{first}]." in refused.value.faults[0].hint
    second = run(database, policy("staff", "second", other_people=(first,)))
    assert not any("joint" in warning for warning in second.warnings)
    assert not [one for one in second.guarantees if one.model.startswith("joint_k")]
    # It speaks of one release alone.
    session.execute(PEOPLE.format(name="staff", seed=40, rows=450))
    with pytest.raises(InvalidError) as refused:
        run(database, policy("staff", "third", other_people=(first,)))
    assert f"releases/{second.number} came from this source" in refused.value.faults[0].found


@pytest.mark.parametrize("reason", ["", "asked for"])
@pytest.mark.parametrize(
    "change",
    ["CREATE OR REPLACE TABLE later AS FROM staff", "CREATE OR REPLACE TABLE later AS FROM staff WHERE id % 7 > 0"],
)
def test_it_is_refused_where_rows_recur(
    database: Database, session: Session, run: Run, change: str, reason: str
) -> None:
    first = run(database, policy("staff", "first")).number
    session.execute(change)
    with pytest.raises(InvalidError) as refused:
        run(database, policy("later", "second", other_people=(first,), repeat_reason=reason))
    assert refused.value.code == "SAME_PEOPLE"
    (fault,) = refused.value.faults
    assert (fault.field, fault.expected) == ("other_people", "releases of other people")
    assert f"releases/{first}, although" in fault.found
    session.execute("DELETE FROM staff WHERE id < 20")
    with pytest.raises(InvalidError) as refused:
        run(database, policy("staff", "second", other_people=(first,)))
    assert refused.value.code == "SAME_PEOPLE"


def test_it_waits_where_a_reason_would(database: Database, session: Session, run: Run) -> None:
    first = run(database, policy("staff", "first")).number
    with session.transaction():
        schema_rules.put(session.ledger, "MAIN", joint_k=True, set_by="ada", at=now())
    session.execute(PEOPLE.format(name="staff", seed=30, rows=450))
    assert run(database, policy("staff", "second", other_people=(first,))).needs_approval
    assert not run(database, policy("pupils", "third")).needs_approval


def test_it_is_no_release_judged_with_it() -> None:
    target = plain_target("main", "second", together_with=(1,), left_behind=LeftBehind.REPORT)
    faults = validate_policy(replace(policy("staff", "second", other_people=(1, 2, 2)), release=target))
    assert [fault.field for fault in faults] == ["other_people[0]", "other_people[2]"]
