"""Shares of sensitive values among the people whom known rows leave, against a count of every set one by one."""

import itertools
from decimal import Decimal

import numpy as np
import pytest

from tableveil.repair import shares
from tableveil.repair.facts import RowFacts
from tableveil.repair.shares import Having, within_share

Having_ = dict[int, set[int]]


def _within(
    one_in: Decimal, people: list[dict[int, int]], values: list[dict[int, set[int]]], m: int, own: bool
) -> bool:
    """Whether each value is that of few enough people; `own` values are of people, others of their labels."""
    labels = sorted({label for have in people for label in have})
    for size in range(0 if own else 1, m + 1):
        for known in itertools.combinations_with_replacement(labels, size):
            fits = [i for i, have in enumerate(people) if all(have.get(x, 0) >= known.count(x) for x in known)]
            each = [set().union(*(values[i].get(x, set()) for x in ((-1,) if own else known))) for i in fits]
            for value in set().union(*each):
                if sum(value in found for found in each) * one_in > len(fits):
                    return False
    return True


@pytest.mark.parametrize("pairs", [1_000_000, 3])
@pytest.mark.parametrize("of_facts", [False, True])
def test_no_value_is_that_of_too_many(monkeypatch: pytest.MonkeyPatch, of_facts: bool, pairs: int) -> None:
    monkeypatch.setattr(shares, "MOST_PAIRS", pairs)
    chance = np.random.default_rng(11)
    seen = set[bool]()
    for _ in range(200):
        people, rows, m = int(chance.integers(1, 9)), int(chance.integers(0, 20)), int(chance.integers(1, 3))
        owners = chance.integers(0, people, rows).astype(np.int32)
        labels = chance.integers(0, 3, rows).astype(np.int32)
        classes = np.sort(chance.integers(-1, 2, people)).astype(np.int32)
        inside = classes[owners] >= 0
        owners, labels = owners[inside], labels[inside]
        facts, fact_of = RowFacts.grouped(owners, labels, np.ones(len(owners), np.int32), 3)
        found = chance.integers(-1, 4, len(owners) if of_facts else people).astype(np.int32)
        held = fact_of.astype(np.int64) if of_facts else np.arange(people, dtype=np.int64)
        one_in = Decimal(str(chance.choice([1, 1.2, 1.5, 2])))
        having = Having.of(held, found, of_facts=of_facts)
        expected = True
        for of in set(classes.tolist()) - {-1}:
            members = np.flatnonzero(classes == of).tolist()
            have: list[dict[int, int]] = [{} for _ in members]
            values: list[Having_] = [{} for _ in members]
            for person, label, count in zip(facts.people, facts.labels, facts.counts, strict=True):
                if int(person) in members:
                    have[members.index(int(person))][int(label)] = int(count)
            for i, value in enumerate(found.tolist()):
                person, label = (int(owners[i]), int(labels[i])) if of_facts else (i, -1)
                if value >= 0 and person in members:
                    values[members.index(person)].setdefault(label, set()).add(value)
            expected = expected and _within(one_in, have, values, m, not of_facts)
        assert within_share(one_in, having, facts, classes, m) == expected
        seen.add(expected)
    assert seen == {True, False}


@pytest.mark.parametrize("of_facts", [False, True])
def test_a_job_that_is_to_end_does_not_wait_for_all_pairs_of_a_class(
    monkeypatch: pytest.MonkeyPatch, of_facts: bool
) -> None:
    monkeypatch.setattr(shares, "MOST_PAIRS", 100)
    people, labels = np.repeat(np.arange(30, dtype=np.int32), 20), np.tile(np.arange(20, dtype=np.int32), 30)
    facts = RowFacts(people, labels, np.ones(600, np.int32))
    having = Having.of(
        np.arange(600 if of_facts else 30), np.full(600 if of_facts else 30, -1, np.int32), of_facts=of_facts
    )
    asked = []
    assert within_share(Decimal(2), having, facts, np.zeros(30, np.int32), 2, lambda: asked.append(1))
    # One part for single facts; each label but the last has pairs with later ones, 30 times each.
    assert len(asked) > 15

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        within_share(Decimal(2), having, facts, np.zeros(30, np.int32), 2, stop)
