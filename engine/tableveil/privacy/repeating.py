"""Figures of what a release tells of people who have several records in it: facts that no privacy model bounds."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tableveil.classes import ClassValues, EquivalenceClasses, SensitiveColumn
from tableveil.privacy.diversity import WithoutNull

AT_ONCE = 2_000_000
"""Pairs of a person's class and a value there that are looked at in one step."""

MOST_STEPS = 5


@dataclass(frozen=True, slots=True)
class Repeating:
    """The people of a release of a source in which people have several records.

    Attributes:
        people: All of the source.
        lost_all: The people of whom no record is released.
        lost_some: The people of whom some records are released and others are not.
        largest_share: The largest share of the records of a class that one person has.
        above: The people who have more of a class's records than the share that was asked about.
    """

    people: int
    lost_all: int
    lost_some: int
    largest_share: float
    above: int


def repeating(released: EquivalenceClasses, position: int, column: SensitiveColumn, share: Fraction) -> Repeating:
    """The figures of the released classes; `position` leads to the people in them."""
    owners = released.values(position)
    kept = np.zeros(len(column.counts), np.int64)
    np.add.at(kept, owners.values, owners.counts)
    most = released.counts[owners.classes] * share.numerator
    above = np.unique(owners.values[owners.counts * share.denominator > most])
    return Repeating(
        people=len(column.counts),
        lost_all=int(np.count_nonzero(kept == 0)),
        lost_some=int(np.count_nonzero((kept > 0) & (kept < column.counts))),
        largest_share=float((owners.counts / released.counts[owners.classes]).max(initial=0)),
        above=len(above),
    )


@dataclass(frozen=True, slots=True)
class Exposed:
    """The person and value of a sensitive column that several records of one person expose most.

    Attributes:
        records: The person's records in the class.
        size: All records of the class.
        having: The records of the class that have the value.
        chance: The chance that one of the person's records in the class has it: 1 - C(size - having, records) /
            C(size, records), for an adversary who takes each assignment of records to people for equally likely.
        in_all: The largest such chance for a person and a value over all of the person's classes, or a bound of it.
    """

    records: int
    size: int
    having: int
    chance: float
    in_all: float


def most_exposed(
    released: EquivalenceClasses, position: int, values: ClassValues, column: SensitiveColumn
) -> Exposed | None:
    """The worst person and value of a column in the released classes; None if no record has a value."""
    owners, present = released.values(position), WithoutNull(values, column)
    if not present.counts.any():
        return None
    most = np.maximum.reduceat(owners.counts, owners.starts)
    absent = _absent(released.counts, present.most_frequent, most)
    worst = int(absent.argmin())
    return Exposed(
        records=int(most[worst]),
        size=int(released.counts[worst]),
        having=int(present.most_frequent[worst]),
        chance=float(-np.expm1(absent[worst])),
        in_all=float(-np.expm1(_least_in_all(released.counts, owners, present))),
    )


def _absent(sizes: NDArray[np.int64], having: NDArray[np.int64], records: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithm of the chance that none of so many records is among those having a value."""
    left = sizes - having - records
    certain = left < 0
    some = np.maximum(left, 0)
    logarithm = gammaln(sizes - having + 1) - gammaln(some + 1) + gammaln(sizes - records + 1) - gammaln(sizes + 1)
    absent: NDArray[np.float64] = np.where(certain, -np.inf, np.minimum(logarithm, 0.0))
    return absent


def _least_in_all(sizes: NDArray[np.int64], owners: ClassValues, present: WithoutNull) -> float:
    """The least logarithm over people and values; people are tried in the order of a bound, until it excludes the rest.

    In every class a person's records miss the most frequent value with the least chance: the sum over the person's
    classes bounds what any single value reaches. After `MOST_STEPS` the bound is the answer.
    """
    of = owners.classes
    bound = np.bincount(owners.values, _absent(sizes[of], present.most_frequent[of], owners.counts))
    people = np.argsort(bound, kind="stable")
    rank = np.empty(len(people), np.intp)
    rank[people] = np.arange(len(people))
    entries = np.argsort(rank[owners.values], kind="stable")
    having = np.flatnonzero(present.counts)
    codes = present.codes
    first = np.searchsorted(present.classes[having], np.arange(len(sizes) + 1))
    lengths = np.diff(first)[of[entries]]
    ends = np.append(np.flatnonzero(np.diff(rank[owners.values[entries]])) + 1, len(entries))
    pairs = np.cumsum(lengths)[ends - 1]
    least, start, done = 0.0, 0, 0
    for _ in range(MOST_STEPS):
        # The people whose pairs fit into a step, at least one.
        last = max(int(np.searchsorted(pairs, done + AT_ONCE, "right")), int(np.searchsorted(ends, start, "right")) + 1)
        end = int(ends[min(last, len(ends)) - 1])
        these, many = entries[start:end], lengths[start:end]
        among = np.repeat(first[of[these]] - np.cumsum(many) + many, many) + np.arange(int(many.sum()))
        which = np.repeat(these, many)
        absent = _absent(sizes[of[which]], present.counts[having[among]], owners.counts[which])
        keys = owners.values[which] * (int(codes.max()) + 1) + codes[having[among]]
        _, number = np.unique(keys, return_inverse=True)
        least = min(least, float(np.bincount(number, absent).min(initial=0)))
        if end == len(entries):
            return least
        following = float(bound[owners.values[entries[end]]])
        if least <= following:
            return least
        start, done = end, int(pairs[np.searchsorted(ends, end)])
    return following
