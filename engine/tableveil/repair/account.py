"""An account of a repair for the owner: who lost rows, and how far what goes together, or follows, has moved."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.repair.facts import Ints, RowFacts

GROUPS = ((1, 1), (2, 3), (4, 9), (10, None))
"""People by their numbers of rows, from the least to the most, whose losses are told apart."""

PAIRS = 5
"""The pairs of labels that are told: those whose odds ratios moved most."""

COMMON = 40
"""The most labels whose pairs are looked at."""

LEAST = 30
"""The least people of each cell of a pair's table, or with a first value: with fewer, chance moves the shares."""

FIRSTS = 3
"""The commonest first values that are told."""

MOST_PEOPLE = 100_000
"""The most people who are looked at for odds ratios and shares: of more, each second one, or third, …."""


@dataclass(frozen=True, slots=True)
class Losers:
    """So many people had from `least` to `most` rows, None without end, and `losers` of them lost some."""

    least: int
    most: int | None
    people: int
    losers: int


@dataclass(frozen=True, slots=True)
class MovedOdds:
    """The odds ratio of having one label and another, by their numbers, before and after."""

    one: int
    other: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Followed:
    """The share of people with a certain first value who have its commonest later one; None if nobody has it."""

    before: float
    after: float | None


@dataclass(frozen=True, slots=True)
class RepairAccount:
    """Losers by numbers of rows, and the pairs of labels that moved most."""

    losers: tuple[Losers, ...]
    moved: tuple[MovedOdds, ...]


def losers(before: NDArray[Any], after: NDArray[Any]) -> Iterator[Losers]:
    """The people who lost rows, by each person's numbers of rows before and after."""
    for least, most in GROUPS:
        of = (before >= least) & (before <= (most or np.inf))
        if of.any():
            yield Losers(least, most, int(of.sum()), int((after[of] < before[of]).sum()))


def moved(facts: RowFacts, kept: Ints, class_of: Ints, number: int) -> tuple[MovedOdds, ...]:
    """The pairs of common labels whose odds ratios moved most; after the repair among released people alone."""
    step = max(1, -(-len(class_of) // MOST_PEOPLE))
    seen = facts.people % step == 0
    facts = RowFacts(facts.people[seen] // step, facts.labels[seen], facts.counts[seen])
    kept, class_of = kept[seen], class_of[::step]
    common = np.argsort(-np.bincount(facts.labels, minlength=number), kind="stable")[:COMMON]
    place = np.full(number, -1)
    place[common] = np.arange(len(common))
    before = _tables(facts, place, len(common), np.ones(len(class_of), np.bool_))
    left = facts.selected(kept > 0)
    after = _tables(left, place, len(common), class_of >= 0)
    found = []
    for i in range(len(common)):
        for j in range(i):
            cells, others = before[:, i, j], after[:, i, j]
            if cells.min() >= LEAST and others.min() > 0:
                found.append(MovedOdds(int(common[j]), int(common[i]), _odds(cells), _odds(others)))
    return tuple(sorted(found, key=lambda pair: -abs(np.log(pair.after / pair.before)))[:PAIRS])


def followed(people: Ints, values: Ints, first: NDArray[np.bool_], kept: NDArray[np.bool_]) -> Iterator[Followed]:
    """Shares by the commonest first values, from each row's person and value, -1 if it has none, before and after."""
    seen = values >= 0
    people, values, first, kept = people[seen], values[seen], first[seen], kept[seen]
    counts = _by_value(people[first], values[first])
    for value in np.argsort(-counts, kind="stable")[:FIRSTS].tolist():
        if counts[value] < LEAST:
            return
        started = _people(people, first & (values == value))
        later = started[people] & ~first
        commonest = int(np.argmax(_by_value(people[later], values[later])))
        follows = _people(people, later & (values == commonest))
        left = _people(people, first & (values == value) & kept)
        both = left & _people(people, later & (values == commonest) & kept)
        yield Followed(float(follows.sum() / started.sum()), float(both.sum() / left.sum()) if left.any() else None)


def _by_value(people: Ints, values: Ints) -> NDArray[np.intp]:
    """How many people have each value."""
    most = int(values.max(initial=0)) + 1
    return np.bincount(np.unique(people.astype(np.int64) * most + values) % most, minlength=most)


def _people(people: Ints, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Per person, whether they have one of the rows."""
    has = np.zeros(int(people.max(initial=-1)) + 1, np.bool_)
    has[people[rows]] = True
    return has


def _tables(facts: RowFacts, place: NDArray[np.int64], number: int, among: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Per two labels the people with both, with the first, with the second, and with neither."""
    labels = place[facts.labels]
    inside = labels >= 0
    has = np.zeros((len(among), number), np.float32)
    has[facts.people[inside], labels[inside]] = 1
    both = (has.T @ has).astype(np.float64)
    each = np.diag(both)
    only = each[:, None] - both
    return np.stack([both, only, only.T, among.sum() - both - only - only.T])


def _odds(cells: NDArray[np.float64]) -> float:
    both, one, other, neither = cells.tolist()
    return float(both * neither / (one * other))
