"""The people left behind: they have rows in earlier releases, and none in the new one."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EarlierClasses, EquivalenceClasses, Owners, combinations_of, distinct_rows
from tableveil.policy import Dominance, KAnonymity, PrivacyModel
from tableveil.privacy.exact import floored
from tableveil.privacy.model import Facts, ReleaseRule


@dataclass(frozen=True, eq=False)
class LeftBehindRule(ReleaseRule):
    """None, all, or the records of at least k people of each combination of earlier classes are left without a row.

    An adversary who links the rows of all releases sees which rows of a combination have none in the new one. These
    belong to people of the combination who left or are suppressed: if they are fewer than k, fewer than k people could
    be the owner of each. Nor may anybody have more than a `share` of them. All of a combination are not told apart by
    being left. Where too few are left behind, the smallest class of the combination is suppressed as well, until they
    are enough: its own people are, so that what meets the rule goes on to meet it.

    Sets of earlier releases are judged alone as well, for their readers: people who are all of a combination of all
    releases may be a few of a larger one there.

    If the earlier records have owners, `people` is the position of people among the counted columns.
    """

    k: int
    earlier: EarlierClasses
    share: Fraction = Fraction(1)
    people: int | None = None

    by_sample = True
    # A finer transformation may leave all classes that a coarser one has to suppress.
    monotone = False

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """All classes but the smallest of each combination, while it leaves too few behind; of equal ones the first.

        Enough people in one set of releases stay enough while another is judged: one pass over the sets suffices.
        """
        kept = np.ones(len(classes.counts), np.bool_)
        for codes, records in self._sets:
            combination = codes[combinations_of(classes)]
            while (few := self._few(codes, records, classes, kept)).any():
                places = np.flatnonzero(kept & few[combination])
                order = places[np.lexsort((places, classes.counts[places], combination[places]))]
                _, first = np.unique(combination[order], return_index=True)
                kept[order[first]] = False
        return kept

    def too_few(self, released: EquivalenceClasses) -> tuple[int, int]:
        """How many combinations of all releases leave some, but too few people behind, and how many people these do."""
        codes, records = self._sets[0]
        kept = np.ones(len(released.counts), np.bool_)
        few = self._few(codes, records, released, kept)
        if self.earlier.owners is None:
            return int(few.sum()), int(left_behind(self.earlier, released)[few[:-1]].sum())
        left = self._owners_left(self.earlier.owners, codes, few, released, kept)
        return int(few.sum()), len(np.unique(left.people))

    @cached_property
    def _sets(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Per set of releases the code that each combination becomes, and the records of each of these."""
        every = (np.arange(self.earlier.combinations), self.earlier.records)
        return [every, *(self.earlier.among(some)[1:] for some in self.earlier.together)]

    def _few(
        self, codes: NDArray[np.int64], records: NDArray[np.int64], classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Per combination, whether it leaves some, but not enough people behind, and not all; last: none."""
        number = len(records)
        there = np.bincount(codes[combinations_of(classes)[kept]], classes.counts[kept], number + 1)
        left = records - there.astype(np.int64)[:-1]
        some = np.append((left > 0) & (left < records), False)
        if self.earlier.owners is None:
            few: NDArray[np.bool_] = some & np.append(left < _least(self.k, self.share), False)
            return few
        if some.any():
            owned = self._owners_left(self.earlier.owners, codes, some, classes, kept)
            people = np.bincount(owned.combinations, minlength=number + 1)
            most = np.zeros(number + 1, np.int64)
            np.maximum.at(most, owned.combinations, owned.records)
            beyond = most > np.append(floored(self.share, (left,)), 0)
            some = some & ((people < self.k) | beyond)
        return some

    def _owners_left(
        self,
        owners: Owners,
        codes: NDArray[np.int64],
        some: NDArray[np.bool_],
        classes: EquivalenceClasses,
        kept: NDArray[np.bool_],
    ) -> Owners:
        """The owners of the records that some combinations leave behind; the codes are those of the set of releases."""
        assert self.people is not None, "people who have several records are counted in classes"
        combination = codes[combinations_of(classes)]
        there = kept & some[combination]
        before = codes[owners.combinations]
        of = some[before]
        keys = [(before[of], owners.people[of], owners.records[of])]
        if there.any():
            values = classes.selected(there).values(self.people)
            keys.append((combination[there][values.classes], values.values.astype(np.int64), -values.counts))
        combinations, people, records = (np.concatenate(parts) for parts in zip(*keys, strict=True))
        most = int(people.max(initial=0)) + 1
        key, place = np.unique(combinations * most + people, return_inverse=True)
        left = np.bincount(place.reshape(-1), records, len(key)).astype(np.int64)
        key, left = key[left > 0], left[left > 0]
        return Owners(key // most, key % most, left)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers nothing: k is another model's."""
        return None


def left_behind_rule(models: Iterable[PrivacyModel], facts: Facts, earlier: EarlierClasses) -> LeftBehindRule:
    """The rule of the largest k and the least share of dominance among the models."""
    k, share = _asked(tuple(models))
    return LeftBehindRule(k, earlier, share, None if facts.people is None else facts.people[0])


def sets_of_readers(earlier: EarlierClasses, models: Iterable[PrivacyModel]) -> Iterator[tuple[int, ...]]:
    """The positions of releases that somebody may hold without the others, and for whom the rule must be judged.

    All of them come first. A set follows from a larger one unless a combination of few people, which may be left behind
    whole, is a part of a larger combination there. So where a set has such combinations, `_core` has releases that
    tell these apart from all others: what follows from the set are those with all of the core, and one is left out of
    each further set. There may be 2^n.
    """
    k, share = _asked(tuple(models))
    sets, without_few = [tuple(range(len(earlier.releases)))], list[set[int]]()
    for some in sets:
        if any(whole.issuperset(some) for whole in without_few):
            continue
        yield some
        labels, few = _of_few_people(earlier, some, k, share)
        if not few.any():
            without_few.append(set(some))
        for left_out in _core(labels, few):
            smaller = (*some[:left_out], *some[left_out + 1 :])
            if smaller and smaller not in sets:
                sets.append(smaller)


def _of_few_people(
    earlier: EarlierClasses, some: Sequence[int], k: int, share: Fraction
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The combinations of some releases, and whether all people of one are too few to be left behind."""
    labels, codes, records = earlier.among(some)
    owners = earlier.owners
    if owners is None:
        return labels, records < _least(k, share)
    combination = codes[owners.combinations]
    there = combination < len(records)
    key, place = np.unique(combination[there] * owners.codes + owners.people[there], return_inverse=True)
    owned = np.bincount(place.reshape(-1), owners.records[there], len(key)).astype(np.int64)
    most = np.zeros(len(records), np.int64)
    np.maximum.at(most, key // owners.codes, owned)
    people = np.bincount(key // owners.codes, minlength=len(records))
    return labels, (people < k) | (most > floored(share, (records,)))


def _core(labels: NDArray[np.int64], few: NDArray[np.bool_]) -> list[int]:
    """The columns, no more than needed, in which each of the few differs from every other combination."""
    core = list(range(labels.shape[1])) if few.any() else []
    for left_out in tuple(core):
        others = [column for column in core if column != left_out]
        if others:
            _, code = distinct_rows(labels[:, others])
            core = others if (np.bincount(code)[code[few]] == 1).all() else core
    return core


def _asked(models: Sequence[PrivacyModel]) -> tuple[int, Fraction]:
    k = max((model.k for model in models if isinstance(model, KAnonymity)), default=1)
    return k, min((Fraction(model.share) for model in models if isinstance(model, Dominance)), default=Fraction(1))


def _least(k: int, share: Fraction) -> int:
    """The fewest people who may be left behind where everybody has one record: the share is 1 by their number."""
    return max(k, math.ceil(1 / share))


def left_behind(earlier: EarlierClasses, released: EquivalenceClasses) -> NDArray[np.int64]:
    """Per combination of earlier classes, its records without a row among the released classes."""
    rows = np.bincount(combinations_of(released), released.counts, earlier.combinations).astype(np.int64)
    return earlier.records - rows[:-1]
