"""Pairs of quasi-identifiers that tell more of a column together than each by itself and the other's label."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tableveil.privacy.exposure.cells import Codes, Flags, counted, ranked, sampled
from tableveil.privacy.exposure.determined import Hidden
from tableveil.privacy.exposure.fits import given_by
from tableveil.privacy.exposure.formulas import Numbers, Reading
from tableveil.privacy.exposure.rows import ByValues, HeldValues
from tableveil.risk.unchanged import BINS, COINCIDENCES, FAR, SHARED

SAMPLED = 1 << 13
"""The rows that show which pairs have to be looked at closely."""

Telling = tuple[frozenset[int], int, ByValues]
"""The quasi-identifiers that tell of a column, the column, and the judgement."""


@dataclass(frozen=True, eq=False)
class OwnValues:
    """A quasi-identifier in the rows: a code per row, and per code its label; `hidden` if labels hide anything.

    Ordered ones that are aggregated have ascending `positions`, one per code, and no labels. `finer` is the detail that
    columns must not determine.
    """

    codes: Codes
    label: Codes
    hidden: bool
    positions: NDArray[np.float64] | None = None
    finer: Hidden | None = None


OwnAndStrata = Callable[[Codes | slice], tuple[Codes, list[Codes]]]
"""The numbers of own values of rows, and those of strata: own values must tell more than each of these."""


class PairEvidence:
    """The columns in the rows `of_people`: one record of each person, as several are no evidence each."""

    def __init__(self, columns: Sequence[HeldValues], of_people: Codes) -> None:
        self._columns, self._of_people = columns, of_people
        self.sample = of_people[np.sort(sampled(1, np.arange(len(of_people)), SAMPLED))]
        self._values = np.stack([held.value[self.sample] for held in columns]).astype(np.int32)

    def telling(self, knows: frozenset[int], own_and_strata: OwnAndStrata) -> Iterator[Telling]:
        """The columns that own values give within each of the strata."""
        close = np.flatnonzero(self._close(*own_and_strata(self.sample))).tolist()
        if not close:
            return
        own, strata = own_and_strata(slice(None))
        people, owns = self._of_people, int(own.max()) + 1
        of_own = np.zeros((len(strata), owns), np.int64)
        for at, stratum in zip(of_own, strata, strict=True):
            at[own] = stratum
        for i in close:
            held = self._columns[i]
            of_people = counted(own[people], held.value[people], None, owns, held.values)
            given = given_by(of_people, list(of_own), minorities=False)
            if given.any():
                cells = counted(own, held.value, held.rows.records, owns, held.values)
                yield knows, i, ByValues(own, held, cells, given)

    @cached_property
    def _recurring(self) -> Flags:
        """The columns of which enough people have a value that others have: nothing gives the others."""
        of_values = [np.bincount(held.value[self._of_people]) for held in self._columns]
        return np.array([each[each >= 2].sum() >= SHARED * each.sum() for each in of_values])

    def _close(self, own: Codes, strata: Sequence[Codes]) -> Flags:
        """The columns in which records of the sample with one own value are equal oftener than others of a stratum."""
        # Numbers of two bytes, of a sample, are sorted in a fraction of the time.
        values, order = self._values, np.argsort(own.astype(np.uint16), kind="stable")
        same = own[order][1:] == own[order][:-1]
        one, other = order[1:][same], order[:-1][same]
        close = self._recurring & (len(one) >= COINCIDENCES)
        random, equal = np.random.default_rng(2), values[:, one] == values[:, other]
        for stratum in strata:
            if not close.any():
                break
            by_stratum, sizes = np.argsort(stratum.astype(np.uint16), kind="stable"), np.bincount(stratum)
            drawn = (random.random(len(one)) * sizes[stratum[one]]).astype(np.int64)
            another = by_stratum[(np.cumsum(sizes) - sizes)[stratum[one]] + drawn]
            apart = own[another] != own[one]
            observed = (equal & apart).sum(axis=1)
            by_chance = ((values[:, one] == values[:, another]) & apart).sum(axis=1)
            number = int(apart.sum())
            close &= (observed >= by_chance + COINCIDENCES) & (
                (observed >= FAR * by_chance) | (FAR * (number - observed) <= number - by_chance)
            )
        return close


def telling_pairs(
    identifiers: Sequence[OwnValues], readings: Sequence[Reading], evidence: PairEvidence
) -> Iterator[Telling]:
    """The pairs of own values that tell of a column, and the differences that do, such as of an age group."""
    # Aggregates have no labels.
    labelled = [j for j, one in enumerate(identifiers) if one.positions is None]
    for j, m in combinations(labelled, 2):
        if identifiers[j].hidden or identifiers[m].hidden:
            yield from evidence.telling(frozenset([j, m]), partial(_of_pair, identifiers[j], identifiers[m]))
    for one, other in combinations((one for one in readings if one.natural and one.of in labelled), 2):
        a, b = identifiers[one.of], identifiers[other.of]
        if one.of != other.of and (a.hidden or b.hidden):
            ends = _ends(_difference(one, other, evidence.sample))
            yield from evidence.telling(frozenset([one.of, other.of]), partial(_of_difference, a, b, one, other, ends))


def _of_pair(a: OwnValues, b: OwnValues, rows: Codes | slice) -> tuple[Codes, list[Codes]]:
    """Numbers of the rows' pairs of own values, and of each with the other's label, unless that is all of it."""
    own = [each.codes[rows] for each in (a, b)]
    label = [each.label[of] if each.hidden else np.zeros_like(of) for each, of in zip((a, b), own, strict=True)]
    return ranked(*own)[0], [ranked(own[0], label[1])[0], ranked(label[0], own[1])[0]]


def _of_difference(
    a: OwnValues, b: OwnValues, one: Reading, other: Reading, ends: Numbers, rows: Codes | slice
) -> tuple[Codes, list[Codes]]:
    """Numbers of the rows' labels with their differences, of which near ones are one; and of the labels."""
    stratum = ranked(*(each.label[each.codes[rows]] for each in (a, b)))[0]
    near = np.searchsorted(ends, _difference(one, other, rows), side="right")
    return ranked(stratum, near)[0], [stratum]


def _difference(one: Reading, other: Reading, rows: Codes | slice) -> Numbers:
    with np.errstate(invalid="ignore", over="ignore"):
        difference: Numbers = one.numbers[rows] - other.numbers[rows]  # Infinite numbers have none.
    return difference


def _ends(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the second of near numbers begin, the third, and so on: there are as many of each."""
    ordered = np.sort(numbers[np.isfinite(numbers)])
    different = np.unique(ordered)
    ends: NDArray[np.float64] = different[1:]
    if len(different) > BINS:
        ends = np.unique(ordered[np.arange(1, BINS) * len(ordered) // BINS])
    return ends
