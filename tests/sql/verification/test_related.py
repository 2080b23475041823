"""Releases of people and their events are accepted if the definition holds of them, and only then."""

from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest

from tableveil.backend import Session
from tests.adversary.related.worlds import draw
from tests.sql.verification.related_cases import written_case

TOWNS = 8


def test_a_release_is_accepted_if_and_only_if_known_rows_fit_no_key_or_k(session: Session) -> None:
    """All towns but one are repaired: whether that one needs it is counted by the definition."""
    broken, number = 0, 16
    for seed in range(number):
        random = Random(seed)
        world = draw(random, TOWNS, shares=seed % 3 == 0)
        case = written_case(session, random, world, raw=[random.randrange(TOWNS)])
        problems = case.problems(session)
        assert case.broken == bool(problems), (seed, problems)
        broken += case.broken
    assert number / 4 < broken < number


def test_each_fault_of_a_written_release_is_found_by_its_name(session: Session) -> None:
    random = Random(3)
    world = replace(draw(random, TOWNS), k=2, m=2, anchor="FIRST_EVENT", cap=4)
    world = replace(world, levels=(0, 3, 1), event_levels=dict.fromkeys(world.events, (1, 2)))
    case = written_case(session, random, world)
    assert not case.problems(session)
    for statement, fault in FAULTS.items():
        session.execute("BEGIN TRANSACTION")
        session.execute(statement)
        problems = case.problems(session)
        session.execute("ROLLBACK")
        assert any(fault in problem for problem in problems), (statement, problems)
    assert case.policy.related is not None
    no_rows = replace(case.policy.related, rows_limit=Decimal("0.01"), most_rows_of_a_person=1)
    stricter = replace(case.policy, methods=(no_rows,))
    problems = replace(case, policy=stricter).problems(session)
    assert any("more than the limit" in problem for problem in problems)
    assert any("more than 1" in problem for problem in problems)


ONE_ROW = "rowid = (SELECT min(rowid) FROM released_visits)"
FAULTS = {
    "UPDATE released SET person = (SELECT max(person) FROM released)": "a key of their own",
    "UPDATE released SET person = NULL WHERE rowid = 0": "a key of their own",
    f"UPDATE released_visits SET person = uuid() WHERE {ONE_ROW}": "no released person",
    f"UPDATE released_visits SET kind = 'other' WHERE {ONE_ROW}": "oftener than the source",
    f"UPDATE released_visits SET ward = 'none' WHERE {ONE_ROW}": "oftener than the source",
    "INSERT INTO released_visits FROM released_visits": "oftener than the source",
    "UPDATE released SET ill = 'cough' WHERE rowid = 0": "people were released oftener",
    f"DELETE FROM released_visits WHERE {ONE_ROW}": "the number of removed rows is not",
    "UPDATE released_about SET value = '0' WHERE starts_with(fact, 'removed')": "the number of removed rows is not",
    "UPDATE released_about SET value = '1' WHERE fact = 'known_facts'": "the fact known_facts is not",
    "DELETE FROM released_about WHERE fact = 'suppressed_people'": "the fact suppressed_people is not",
    "UPDATE released_about SET value = 'since' WHERE fact = 'relative_time'": "the fact relative_time is not",
    "UPDATE released_known_rows SET below_k = below_k + 1 WHERE known_rows = 3": "the table of known rows does not",
    "ALTER TABLE released_visits ADD COLUMN owner BIGINT": "other columns than expected",
}


@pytest.mark.parametrize("key", ["person::VARCHAR", "md5(person::VARCHAR)", "left(sha256(person::VARCHAR), 32)"])
def test_keys_that_follow_from_the_sources_are_found(session: Session, key: str) -> None:
    random = Random(4)
    world = replace(draw(random, TOWNS), anchor="")
    case = written_case(session, random, world)
    for name in ("released", *(f"released_{event}" for event in world.events)):
        session.execute(f"ALTER TABLE {name} ALTER person TYPE VARCHAR")
    session.execute(f"UPDATE released SET person = (SELECT {key} FROM people ORDER BY person LIMIT 1) WHERE rowid = 0")
    events = tuple(
        replace(events, types=tuple((name, "VARCHAR" if name == "person" else type_) for name, type_ in events.types))
        for events in case.written.events
    )
    problems = replace(case, written=replace(case.written, events=events)).problems(session)
    assert any("are keys of the source, or follow from them" in problem for problem in problems), problems
