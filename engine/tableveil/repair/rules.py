"""Removes rows of people until nobody who knows one or two rows finds fewer than k people of a class.

A set of at most m labels, equal ones counted, has the people of a class with these rows: none, or at least k. Rules:
all rows of a label that fewer than k people have go. If fewer than k people have two labels together, each
of them loses one: the rarer one goes first, since common ones then go together as often as before. Among labels that
are about as rare, the one with the most such pairs per row goes. Rows that turn out to be safe at the end are given
back. Classes have nothing to do with each other.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tableveil.repair.facts import Ints, RowFacts, supports

MOST_PAIRS = 4_000_000
"""Classes are repaired together up to so many pairs of labels of a person."""

RARER_FIRST = 4
"""The weight of rarity against numbers of pairs: with less, odds ratios of diagnoses are off by twice as much.

Rows whose labels are drawn nearly at random lose 9 % instead of 8 %, or 47 % instead of 51 %.
"""

MOST_OF_A_CLASS = 40_000_000
"""The most pairs at once, of one class: about 2 GB."""

MOST_LABELS = 5_000
"""The most different rows of a person whose pairs are looked at."""

GIVEN_BACK = 20
"""The most rounds in which removed labels are given back."""


def repaired(facts: RowFacts, class_of: Ints, k: int, m: int, *, giving: bool = True) -> Ints:
    """How many rows of each fact are left; `class_of` has the class of each person, and -1 for none, who lose all.

    Without `giving`, nothing that was removed is given back. If nothing may be known, `m` is 0, people's rows stay.
    """
    kept = np.zeros(len(facts), np.int32)
    classes = class_of[facts.people]
    inside = np.flatnonzero(classes >= 0)
    if not len(inside):
        return kept
    if m:
        number = int(facts.labels.max()) + 1
        numbers, most = supports(classes[inside].astype(np.int64) * number + facts.labels[inside])
        inside = inside[np.bincount(numbers, minlength=most)[numbers] >= k]
    kept[inside] = facts.counts[inside]
    if m < 2:
        return kept
    for batch in batches(inside, facts.people, classes):
        for part in _parts(batch, facts.people):
            kept[part] = Pairs(facts, part, classes[part], k).repaired(giving=giving)
    return kept


def pairs_of(people: Ints) -> NDArray[np.int64]:
    """The number of pairs that the facts of each entry's person make with those before it; sorted by person."""
    starts = np.flatnonzero(np.concatenate([[True], people[1:] != people[:-1]]))
    return np.arange(len(people)) - np.repeat(starts, np.diff(np.append(starts, len(people))))


def batches(inside: NDArray[np.intp], people: Ints, classes: Ints) -> Iterator[NDArray[np.intp]]:
    """The positions of the facts of some whole classes, people together."""
    if not len(inside):
        return
    order = inside[np.argsort(classes[inside], kind="stable")]
    of = classes[order]
    ends = np.append(np.flatnonzero(of[1:] != of[:-1]) + 1, len(of))
    pairs = np.cumsum(pairs_of(people[order]))[ends - 1]
    begin, before = 0, 0
    for end, after in zip(ends.tolist(), np.append(pairs[1:], pairs[-1]).tolist(), strict=True):
        # The next class would be too many.
        if after - before > MOST_PAIRS or end == len(order):
            yield order[begin:end]
            begin, before = end, int(pairs[np.searchsorted(ends, end)])


def _parts(batch: NDArray[np.intp], people: Ints) -> Iterator[NDArray[np.intp]]:
    """The batch, in parts of whole people if it has too many pairs: what holds of each part of a class holds of it."""
    pairs = np.cumsum(pairs_of(people[batch]))
    firsts = np.flatnonzero(people[batch][1:] != people[batch][:-1]) + 1
    wanted = np.arange(MOST_OF_A_CLASS, int(pairs[-1]), MOST_OF_A_CLASS)
    places = np.unique(np.searchsorted(firsts, np.searchsorted(pairs, wanted)))
    yield from np.split(batch, firsts[places[places < len(firsts)]])


class Pairs:
    """The pairs of labels of people in some classes, and what is left of them."""

    def __init__(self, facts: RowFacts, batch: NDArray[np.intp], classes: Ints, k: int) -> None:
        self._k = k
        self._people = people = facts.people[batch]
        self._counts = facts.counts[batch]
        self._kept = self._counts.copy()
        labels = facts.labels[batch]
        first = np.concatenate([[True], people[1:] != people[:-1]])
        self._starts = np.flatnonzero(first)
        self._sizes = np.diff(np.append(self._starts, len(people)))
        # Labels of a class are numbered anew, so that pairs of them have small numbers.
        single = classes.astype(np.int64) * (int(labels.max()) + 1) + labels
        found, self.single = np.unique(single, return_inverse=True)
        of_class = np.empty(len(found), np.int64)
        of_class[self.single] = classes
        begins = np.flatnonzero(np.concatenate([[True], of_class[1:] != of_class[:-1]]))
        lengths = np.diff(np.append(begins, len(found)))
        place = np.repeat(begins, lengths)
        square = np.repeat(np.concatenate([[0], np.cumsum(lengths**2)[:-1]]), lengths)
        width = np.repeat(lengths, lengths)
        self._labels = len(found)
        one, two = _combinations(self._starts, self._sizes)
        twice = np.flatnonzero(self._counts >= 2).astype(np.int32)
        self.one, self.two = np.concatenate([one, twice]), np.concatenate([two, twice])
        a, b = self.single[self.one], self.single[self.two]
        self.pair, self._numbers = supports(square[a] + (a - place[a]) * width[a] + (b - place[b]))
        self._alive = np.ones(len(people), np.bool_)

    def repaired(self, *, giving: bool) -> Ints:
        """How many rows of each fact are left."""
        live = np.arange(len(self.pair))
        while True:
            self._remove_rare()
            live = live[self._alive[self.one[live]] & self._alive[self.two[live]]]
            # A fact of which one row is left is no pair with itself any more.
            live = live[(self.one[live] != self.two[live]) | (self._kept[self.one[live]] > 1)]
            counts = np.bincount(self.pair[live], minlength=self._numbers)
            bad = live[counts[self.pair[live]] < self._k]
            if not len(bad):
                break
            same = self.one[bad] == self.two[bad]
            self._kept[self.one[bad[same]]] = 1
            self._cover(bad[~same])
        if giving:
            self._give_back()
        return np.where(self._alive, self._kept, 0).astype(np.int32)

    def _remove_rare(self) -> None:
        """Removes the labels that fewer than k people of a class have left."""
        counts = np.bincount(self.single[self._alive], minlength=self._labels)
        self._alive &= counts[self.single] >= self._k

    def _cover(self, bad: NDArray[np.intp]) -> None:
        """Removes one fact of each bad pair: they stay bad, whatever else is removed."""
        one, two = self.one[bad], self.two[bad]
        common = np.bincount(self.single[self._alive], minlength=self._labels).astype(np.float64)
        while len(one):
            facts, places = np.unique(np.concatenate([one, two]), return_inverse=True)
            rarity = common[self.single[facts]] ** RARER_FIRST
            score = np.bincount(places) / (self._kept[facts] * rarity)
            people = self._people[facts]
            begins = np.flatnonzero(np.concatenate([[True], people[1:] != people[:-1]]))
            best = np.maximum.reduceat(score, begins)
            lengths = np.diff(np.append(begins, len(facts)))
            chosen = np.flatnonzero(score == np.repeat(best, lengths))
            owner = np.repeat(np.arange(len(begins)), lengths)[chosen]
            first = np.concatenate([[True], owner[1:] != owner[:-1]])
            self._alive[facts[chosen[first]]] = False
            left = self._alive[one] & self._alive[two]
            one, two = one[left], two[left]

    def _give_back(self) -> None:
        """Gives labels back that enough others have, alone and with each label that the person has left."""
        different = self.one != self.two
        for _ in range(GIVEN_BACK):
            alive_one, alive_two = self._alive[self.one], self._alive[self.two]
            both = alive_one & alive_two & (different | (self._kept[self.one] > 1))
            counts = np.bincount(self.pair[both], minlength=self._numbers)
            singles = np.bincount(self.single[self._alive], minlength=self._labels)
            may = ~self._alive & (singles[self.single] >= self._k - 1)
            half = np.flatnonzero((alive_one != alive_two) & different)
            half = half[counts[self.pair[half]] < self._k - 1]
            may[np.where(self._alive[self.one[half]], self.two[half], self.one[half])] = False
            found = np.flatnonzero(may)
            if not len(found):
                break
            # One of a person at a time: two that come back are a pair, too.
            order = found[np.lexsort((-self._counts[found], self._people[found]))]
            people = self._people[order]
            first = np.concatenate([[True], people[1:] != people[:-1]])
            self._kept[order[first]] = 1
            self._alive[order[first]] = True
        own = np.flatnonzero(~different)
        two_rows = self._alive[self.one[own]] & (self._kept[self.one[own]] > 1)
        counts = np.bincount(self.pair[own[two_rows]], minlength=self._numbers)
        back = own[self._alive[self.one[own]] & (counts[self.pair[own]] >= self._k - 1)]
        self._kept[self.one[back]] = self._counts[self.one[back]]


def _combinations(starts: NDArray[np.intp], sizes: NDArray[np.intp]) -> tuple[Ints, Ints]:
    """All pairs of positions within runs."""
    one, two = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for size in np.unique(sizes).tolist():
        begins = starts[sizes == size].astype(np.int32)
        a, b = np.triu_indices(size, 1)
        one.append((begins[:, None] + a.astype(np.int32)).ravel())
        two.append((begins[:, None] + b.astype(np.int32)).ravel())
    return np.concatenate(one), np.concatenate(two)
