"""Turns: owners come one after another, however many jobs each of them has."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from tableveil.fair_use.turns import Turns


def order(turns: Turns) -> list[int]:
    """The jobs in the order in which they run, one at a time."""
    found = []
    while (number := turns.next()) is not None:
        owner = turns._owners[number]
        turns.start(number)
        turns.end(owner)
        found.append(number)
    return found


def test_jobs_of_one_owner_keep_their_order() -> None:
    turns = Turns()
    for number in range(5):
        turns.add("anna", number)
    assert [turns.position(number) for number in range(5)] == order(turns) == [0, 1, 2, 3, 4]


def test_another_owners_first_job_comes_next() -> None:
    turns = Turns()
    for number in range(1000):
        turns.add("anna", number)
    for number in (0, 1):
        turns.start(number)
    turns.add("bert", 5000)
    turns.add("bert", 5001)
    assert (turns.position(5000), turns.position(5001), turns.position(2)) == (0, 2, 1)
    assert turns.next() == 5000
    turns.start(5000)
    # He has one running job, she two.
    assert turns.next() == 5001
    turns.end("anna")
    turns.end("anna")
    assert turns.next() == 2


def test_an_owner_who_submits_job_after_job_does_not_always_come_first() -> None:
    turns = Turns()
    turns.add("anna", 1)
    turns.add("anna", 2)
    turns.add("bert", 3)
    started = []
    for number in range(4, 8):
        following = turns.next()
        assert following is not None
        owner = turns._owners[following]
        turns.start(following)
        turns.end(owner)
        started.append(owner)
        if owner == "bert":
            turns.add("bert", number)
    assert started == ["anna", "bert", "anna", "bert"]


def test_a_job_that_is_put_back_comes_first() -> None:
    turns = Turns()
    for number in range(3):
        turns.add("anna", number)
    turns.add("bert", 10)
    turns.start(0)
    turns.end("anna")
    turns.add("anna", 0, first=True)
    assert order(turns) == [0, 10, 1, 2]


def test_no_more_jobs_of_an_owner_run_than_allowed() -> None:
    turns = Turns(most_running=1)
    turns.add("anna", 1)
    turns.add("anna", 2)
    turns.start(1)
    assert turns.next() is None
    turns.add("bert", 3)
    assert turns.next() == 3
    turns.end("anna")
    turns.remove(3)
    assert turns.next() == 2


@given(st.lists(st.sampled_from("abcd"), max_size=30))
def test_positions_are_those_of_jobs_that_run_one_at_a_time(owners: list[str]) -> None:
    turns = Turns()
    for number, owner in enumerate(owners):
        turns.add(owner, number)
    positions = {number: turns.position(number) for number in range(len(owners))}
    # By definition: owners in a circle, each in the order of first submission.
    waiting = {owner: deque(n for n, other in enumerate(owners) if other == owner) for owner in dict.fromkeys(owners)}
    expected: list[int] = []
    while any(waiting.values()):
        expected += [jobs.popleft() for jobs in waiting.values() if jobs]
    assert len(turns) == len(owners)
    assert order(turns) == expected
    assert positions == {number: position for position, number in enumerate(expected)}
