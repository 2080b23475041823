"""Shares of sensitive values: of the people whom known rows leave, at most one in l has a value.

They are checked, and the repair never reads them: what is removed tells nothing of sensitive values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.repair.facts import Ints, RowFacts, supports

MOST_PAIRS = 1_000_000
"""About so many pairs of facts are looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class Having:
    """The values that owners have: distinct pairs of an owner and a value, by owner. Values are numbered from 0.

    An owner is a person, or with `of_facts` a fact: then a value counts in the known rows alone.
    """

    owners: NDArray[np.int64]
    values: Ints
    of_facts: bool

    @classmethod
    def of(cls, owners: NDArray[np.int64], values: Ints, *, of_facts: bool) -> Having:
        """The distinct pairs of owners and values; negative values are none."""
        some = values >= 0
        number = int(values.max(initial=-1)) + 1
        keys = np.unique(owners[some] * max(number, 1) + values[some])
        return cls(keys // max(number, 1), (keys % max(number, 1)).astype(np.int32), of_facts)

    def expanded(self, owners: NDArray[np.int64]) -> tuple[NDArray[np.intp], Ints]:
        """Each value of each of these owners: the places of the owners, and the values."""
        begins = np.searchsorted(self.owners, owners)
        lengths = np.searchsorted(self.owners, owners, side="right") - begins
        places = np.repeat(np.arange(len(owners)), lengths)
        offsets = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return places, self.values[begins[places] + offsets]


def within_share(
    one_in: Decimal, having: Having, facts: RowFacts, class_of: Ints, m: int, check: Callable[[], None] = lambda: None
) -> bool:
    """Whether no value is that of more than one in so many people of a class, whatever up to m of the facts are known.

    `facts` are those of released rows; the facts of `having` are the places of these. `check` raises if the job is to
    end.
    """
    if not having.of_facts:
        people = np.flatnonzero(class_of >= 0)
        if _above(one_in, having, class_of[people].astype(np.int64), [people]):
            return False
    for sets, ones, twos in _sets(facts, class_of, m):
        check()
        if _above(one_in, having, sets, [ones, twos] if having.of_facts else [facts.people[ones]]):
            return False
    return True


def told(having: Having, facts: RowFacts, class_of: Ints) -> int:
    """How many people have a row that tells a value: all people of the class who have such a row have that value.

    The owners of `having` are facts.
    """
    people = [np.zeros(0, np.int32)]
    number = max(int(having.values.max(initial=-1)) + 1, 1)
    for sets, ones, _ in _sets(facts, class_of, 1):
        places, values = having.expanded(ones.astype(np.int64))
        found, counts = np.unique(sets[places] * number + values, return_counts=True)
        alike = found[counts == np.bincount(sets)[found // number]] // number
        people.append(facts.people[ones[np.isin(sets, alike)]])
    return len(np.unique(np.concatenate(people)))


def _sets(
    facts: RowFacts, class_of: Ints, m: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.integer[Any]], NDArray[np.integer[Any]]]]:
    """The sets of one and of two facts that each person has: their numbers, and the two facts.

    Sets of two come in parts that have all people of a set: those whose first label is one of some labels of a class.
    """
    classes = class_of[facts.people].astype(np.int64)
    inside = np.flatnonzero(classes >= 0)
    if not len(inside):
        return
    _, numbers = np.unique(classes * (int(facts.labels.max()) + 1) + facts.labels, return_inverse=True)
    yield numbers[inside], inside, inside
    if m == 1:
        return
    last = np.searchsorted(facts.people, facts.people, side="right")
    # A fact of several rows is a pair with itself.
    first = np.arange(len(facts)) + (facts.counts < 2)
    order = inside[np.argsort(numbers[inside], kind="stable")]
    total = np.cumsum((last - first)[order])
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    cuts = np.searchsorted(total, np.arange(MOST_PAIRS, int(total[-1]), MOST_PAIRS))
    for part in np.split(order, np.unique(starts[np.searchsorted(starts, cuts, side="right") - 1])):
        lengths = (last - first)[part]
        ones = np.repeat(part, lengths)
        twos = np.repeat(first[part] - np.cumsum(lengths) + lengths, lengths) + np.arange(len(ones))
        yield supports(numbers[ones] * len(facts) + numbers[twos])[0], ones, twos


def _above(one_in: Decimal, having: Having, sets: NDArray[np.int64], owners: list[NDArray[np.integer[Any]]]) -> bool:
    """Whether a value is that of too many people of a set; each entry is a person's, whom all of the owners are of."""
    if not len(sets):
        return False
    support = np.bincount(sets)
    expanded = [having.expanded(of.astype(np.int64)) for of in owners]
    number = max(int(having.values.max(initial=-1)) + 1, 1)
    # A person has a value once, in whichever of the rows.
    each = np.unique(np.concatenate([places * number + values for places, values in expanded]))
    found, counts = np.unique(sets[each // number] * number + each % number, return_counts=True)
    numerator, denominator = one_in.as_integer_ratio()
    return bool((counts * float(numerator) > support[found // number] * float(denominator)).any())
