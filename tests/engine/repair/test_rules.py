"""Repairs: no set of up to m known rows is left to fewer than k people of a class, in small random worlds."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from tableveil.repair import rules
from tableveil.repair.anchor import repaired_with_anchor
from tableveil.repair.facts import Ints, RowFacts, capped, kept_rows
from tableveil.repair.rules import repaired

World = tuple[RowFacts, Ints, int, int]


def _worlds(number: int, seed: int) -> Iterator[World]:
    chance = np.random.default_rng(seed)
    for _ in range(number):
        people, rows, labels = int(chance.integers(1, 14)), int(chance.integers(0, 40)), int(chance.integers(1, 6))
        owners = chance.integers(0, people, rows).astype(np.int32)
        own = chance.integers(0, labels, rows).astype(np.int32)
        classes = chance.integers(-1, 3, people).astype(np.int32)
        facts = RowFacts.of(owners, own, np.ones(rows, np.int32), labels)
        yield facts, classes, int(chance.integers(1, 4)), int(chance.integers(1, 3))


def _left(facts: RowFacts, kept: Ints, classes: Ints) -> dict[int, list[dict[int, int]]]:
    """Per class the rows of each person, by label."""
    have: list[dict[int, int]] = [{} for _ in classes]
    for person, label, rows in zip(facts.people.tolist(), facts.labels.tolist(), kept.tolist(), strict=True):
        if rows:
            have[person][label] = rows
    return {c: [h for h, of in zip(have, classes, strict=True) if of == c] for c in set(classes.tolist()) - {-1}}


def _few(people: list[dict[int, int]], k: int, m: int) -> bool:
    """Whether some m rows are those of somebody, but of fewer than k people."""
    labels = sorted({label for have in people for label in have})
    for known in itertools.combinations_with_replacement(labels, m):
        fit = sum(all(have.get(label, 0) >= known.count(label) for label in known) for have in people)
        if 0 < fit < k:
            return True
    return m > 1 and _few(people, k, m - 1)


@pytest.mark.parametrize("pairs", [4_000_000, 7])
def test_no_known_rows_are_left_to_few(monkeypatch: pytest.MonkeyPatch, pairs: int) -> None:
    monkeypatch.setattr(rules, "MOST_PAIRS", pairs)
    monkeypatch.setattr(rules, "MOST_OF_A_CLASS", 3 * pairs)
    needed = 0
    for facts, classes, k, m in _worlds(120, pairs):
        kept = repaired(facts, classes, k, m)
        assert (kept <= facts.counts).all()
        assert not kept[classes[facts.people] < 0].any()
        assert not any(_few(people, k, m) for people in _left(facts, kept, classes).values())
        needed += any(_few(people, k, m) for people in _left(facts, facts.counts, classes).values())
    assert needed > 40


def test_at_one_known_row_nothing_goes_that_could_stay() -> None:
    for facts, classes, k, _ in _worlds(100, 3):
        kept = repaired(facts, classes, k, 1)
        for people, left in zip(
            _left(facts, facts.counts, classes).values(), _left(facts, kept, classes).values(), strict=True
        ):
            for label in {label for have in people for label in have}:
                enough = sum(label in have for have in people) >= k
                assert [have.get(label, 0) for have in left] == [have.get(label, 0) * enough for have in people]


def test_few_keys_without_an_anchor_are_left_to_nobody() -> None:
    for facts, classes, k, m in _worlds(120, 5):
        number = int(facts.labels.max(initial=0)) + 1
        timed, hit = np.arange(number) != 1, np.arange(number) == 0
        kept = repaired_with_anchor(facts, classes, k, m, (timed, hit))
        for people in _left(facts, kept, classes).values():
            assert not _few(people, k, m)
            without = [have for have in people if any(timed[label] for label in have) and 0 not in have]
            assert not 0 < len(without) < k
            assert m == 1 or not any(0 < sum(label in have for have in without) < k for label in range(number))


def test_rows_of_a_fact_are_kept_by_chance() -> None:
    chance = np.random.default_rng(1)
    fact_of = np.array([0, 1, 0, 1, 0, 2])
    counts, kept = np.array([3, 2, 1], np.int32), np.array([1, 2, 0], np.int32)
    chosen = [kept_rows(fact_of, counts, kept, chance) for _ in range(50)]
    assert {tuple(one[fact_of == 0].tolist()) for one in chosen} == {
        (True, False, False),
        (False, True, False),
        (False, False, True),
    }
    assert all(one[fact_of == 1].all() and not one[fact_of == 2].any() for one in chosen)


def test_a_cap_keeps_so_many_rows_of_each_person() -> None:
    people = np.array([3, 0, 3, 3, 1, 3, 0], np.int32)
    left = capped(people, 2, np.random.default_rng(2))
    assert np.bincount(people[left]).tolist() == [2, 1, 0, 2]
