"""Pairs of quasi-identifiers that tell more of a column together than each by itself and the other's label."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tableveil.privacy.exposure.cells import Codes, Flags, counted, ranked, sampled
from tableveil.privacy.exposure.determined import Hidden
from tableveil.privacy.exposure.fits import Fits, fits_of
from tableveil.privacy.exposure.formulas import Numbers, Reading
from tableveil.privacy.exposure.rows import HeldValues
from tableveil.risk.unchanged import BINS, COINCIDENCES, FAR, SHARED

SAMPLED = 1 << 13
"""The rows that show which pairs have to be looked at closely."""

Telling = tuple[frozenset[int], int, Codes, Fits]
"""The quasi-identifiers that tell of a column, and the column; their own values in the rows, and the fits of these."""


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


class PairEvidence:
    """The columns in the rows `of_people`: one record of each person, as several are no evidence each."""

    def __init__(self, columns: Sequence[HeldValues], of_people: Codes) -> None:
        self._columns, self._of_people = columns, of_people
        self.sample = of_people[np.sort(sampled(1, np.arange(len(of_people)), SAMPLED))]
        self._values = np.stack([held.value[self.sample] for held in columns]).astype(np.int32)

    def close(self, own: Codes, strata: Sequence[Codes]) -> list[int]:
        """The columns in which records of the sample with one own value are equal oftener than others of a stratum."""
        close: list[int] = np.flatnonzero(_close(own, strata, self._values) & self._recurring).tolist()
        return close

    @cached_property
    def _recurring(self) -> Flags:
        """The columns of which enough people have a value that others have: nothing gives the others."""
        recurring = []
        for held in self._columns:
            of_value = np.bincount(held.value[self._of_people])
            recurring.append(of_value[of_value >= 2].sum() >= SHARED * of_value.sum())
        return np.array(recurring, np.bool_)

    def fits(self, i: int, own: Codes, strata: Sequence[Codes]) -> Fits | None:
        """The fits of own values of all rows in a column, if they give it within each of the strata."""
        held, people, owns = self._columns[i], self._of_people, int(own.max()) + 1
        of_own = np.zeros((len(strata), owns), np.int64)
        for at, stratum in zip(of_own, strata, strict=True):
            at[own] = stratum
        cells = counted(own, held.value, held.rows.records, owns, held.values)
        of_people = counted(own[people], held.value[people], None, owns, held.values)
        return fits_of(cells, of_people, list(of_own), minorities=False)


def telling_pairs(identifiers: Sequence[OwnValues], evidence: PairEvidence) -> Iterator[Telling]:
    """The pairs of own values that tell of a column."""
    sample = evidence.sample
    for one, other in combinations(range(len(identifiers)), 2):
        a, b = identifiers[one], identifiers[other]
        if not (a.hidden or b.hidden):
            continue
        close = evidence.close(*_own_and_strata(a, b, sample))
        if close:
            own, strata = _own_and_strata(a, b, slice(None))
            for i in close:
                fits = evidence.fits(i, own, strata)
                if fits is not None:
                    yield frozenset([one, other]), i, own, fits


def _own_and_strata(a: OwnValues, b: OwnValues, rows: Codes | slice) -> tuple[Codes, list[Codes]]:
    """Numbers of the rows' pairs of own values, and of each with the other's label, unless that is all of it."""
    own = [each.codes[rows] for each in (a, b)]
    label = [each.label[of] if each.hidden else np.zeros_like(of) for each, of in zip((a, b), own, strict=True)]
    return ranked(*own)[0], [ranked(own[0], label[1])[0], ranked(label[0], own[1])[0]]


def telling_differences(
    identifiers: Sequence[OwnValues], readings: Sequence[Reading], evidence: PairEvidence
) -> Iterator[Telling]:
    """The differences that tell of a column, such as of an age group; of many differences, near ones are one."""
    sample = evidence.sample
    for one, other in combinations(readings, 2):
        a, b = identifiers[one.of], identifiers[other.of]
        if one.of == other.of or not (a.hidden or b.hidden):
            continue
        stratum = ranked(*(each.label[each.codes[sample]] for each in (a, b)))[0]
        difference = _difference(one, other, sample)
        ends = _ends(difference)
        close = evidence.close(ranked(stratum, np.searchsorted(ends, difference, side="right"))[0], [stratum])
        if close:
            near = np.searchsorted(ends, _difference(one, other, slice(None)), side="right")
            strata = ranked(*(each.label[each.codes] for each in (a, b)))[0]
            own = ranked(strata, near)[0]
            for i in close:
                fits = evidence.fits(i, own, [strata])
                if fits is not None:
                    yield frozenset([one.of, other.of]), i, own, fits


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


def _close(own: Codes, strata: Sequence[Codes], values: NDArray[np.int32]) -> Flags:
    """Per column, whether records with one own value have equal values oftener than others of each stratum."""
    order = np.argsort(own, kind="stable")
    same = own[order][1:] == own[order][:-1]
    one, other = order[1:][same], order[:-1][same]
    close = np.ones(len(values), np.bool_)
    if len(one) < COINCIDENCES:
        return ~close
    random, equal = np.random.default_rng(2), values[:, one] == values[:, other]
    for stratum in strata:
        by_stratum = np.argsort(stratum, kind="stable")
        sizes = np.bincount(stratum)
        drawn = (random.random(len(one)) * sizes[stratum[one]]).astype(np.int64)
        another = by_stratum[(np.cumsum(sizes) - sizes)[stratum[one]] + drawn]
        apart = own[another] != own[one]
        observed = (equal & apart).sum(axis=1)
        by_chance = ((values[:, one] == values[:, another]) & apart).sum(axis=1)
        number = int(apart.sum())
        close &= (observed >= by_chance + COINCIDENCES) & (
            (observed >= FAR * by_chance) | (FAR * (number - observed) <= number - by_chance)
        )
        if not close.any():
            break
    return close
