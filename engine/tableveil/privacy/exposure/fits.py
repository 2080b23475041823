"""Which values of a column fit an own value, judged by how often the source has them together.

A value fits if the source has it with the own value, other than by accident. A rare own value occurs with few values of
any column, which says nothing if the column is independent. So a column that is shown to be independent of the values
under a label leaves out only what is missing in spite of chance; of own values that are far from chance by themselves,
it leaves out everything that does not occur. Pairs of own values are judged only where they are far from chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.privacy.exposure.cells import Chance, Codes, ValuePairs, chance, chance_of_any, chance_of_one, spread
from tableveil.risk.unchanged import ACCIDENT, ALIKE, ERRORS, EVIDENCE, EXPECTED, FAR, OF_CHANCE, POWER, RIGHT

Flags = NDArray[np.bool_]

_LEAST_RATE = 1e-6


@dataclass(frozen=True, eq=False)
class Fits:
    """Per own value a list of values: those from `first[own]` to `first[own + 1]` of `listed`, in order.

    They are those that fit, or, where it is `excluding`, those that do not. `shown` says that the column's dependence
    is no chance; `values` is how many values the column has.
    """

    first: Codes
    listed: Codes
    excluding: Flags
    values: int
    shown: bool

    def __call__(self, own: Codes, value: Codes) -> Flags:
        """Whether each value fits the own value beside it."""
        keys = self._keys
        if not len(keys):
            return self.excluding[own]
        wanted = own * self.values + value
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        fits: Flags = (keys[at] == wanted) != self.excluding[own]
        return fits

    @cached_property
    def _keys(self) -> Codes:
        own = np.repeat(np.arange(len(self.excluding)), np.diff(self.first))
        return own * self.values + self.listed

    @property
    def telling(self) -> bool:
        """Whether any value may not fit some own value."""
        return bool(len(self.listed)) or not self.excluding.all()


def fits_of_one(cells: ValuePairs, labels: Codes, repeats: float) -> Fits:
    """The fits of the own values of one quasi-identifier, by their labels.

    `repeats` is how many records come from one person, to whom they are no evidence each.
    """
    under = cells.under(labels)
    of_chance = chance(cells.of_own, labels, under)
    error = np.sqrt(of_chance.variance)
    expected = float(of_chance.expected.sum())
    independent = (
        len(cells.own) >= expected - ERRORS * error and of_chance.power > 0 and of_chance.power >= POWER * error
    )
    far = _far(cells, [of_chance], _pools(cells, labels), repeats) | _alike(cells, labels, under, repeats)
    shown = bool(_far(cells, [of_chance], [np.zeros(cells.owns, np.int64)], repeats).any())
    excluding = np.full(cells.owns, independent) & ~far
    return _listed(cells, excluding, _missing(cells, under, labels, excluding), shown)


def fits_of_two(
    cells: ValuePairs, evidence: ValuePairs, nulls: Sequence[tuple[Codes, ValuePairs]], tests: int
) -> Fits | None:
    """The fits of pairs of own values; None if none of them are far from chance, by the cells of the evidence.

    Each of the `nulls` says how one of both may explain the column: the strata of the pairs, and the values of these.
    The more `tests` there are, the surer one must be.
    """
    chances = [chance(evidence.of_own, strata, of_strata) for strata, of_strata in nulls]
    everything = np.zeros(cells.owns, np.int64)
    far = _far(evidence, chances, [everything, *_pools(evidence)], 1.0, tests)
    if not far.any():
        return None
    return _listed(cells, ~far, np.zeros(0, np.int64), True)


# --- far from chance ------------------------------------------------------------------------------------------------


def _pools(cells: ValuePairs, labels: Codes | None = None) -> list[Codes]:
    """The own values of about as many records, those under one label, and each by itself."""
    return [_orders(cells), *([] if labels is None else [labels]), np.arange(cells.owns)]


def _orders(cells: ValuePairs) -> Codes:
    """The binary order of the number of records of each own value."""
    return np.frexp(np.maximum(cells.of_own, 1).astype(np.float64))[1].astype(np.int64)


def _alike(cells: ValuePairs, labels: Codes, under: ValuePairs, repeats: float) -> Flags:
    """The own values whose records all have one value, where by chance fewer of about as many records would.

    So a few are found among many. Own values of one record have one value anyway: nearly all must have the same.
    """
    size, order = cells.of_own, _orders(cells)
    alike = np.flatnonzero(cells.different == 1)
    value = np.full(cells.owns, -1)
    value[alike] = cells.value[cells.first[alike]]
    of_labels, total = under.of_own[labels], np.zeros(len(under.of_own), np.int64)
    orders = np.unique(order[alike])
    flags, least = np.zeros(cells.owns, np.bool_), EVIDENCE + np.log(3 * max(len(orders), 1))
    for one in orders:
        pool = np.flatnonzero((order == one) & (size > 0))
        for number, of_any in ((1, False), (2, False), (2, True)):
            tried = pool[size[pool] >= number]
            found = tried[value[tried] >= 0]
            if not len(found):
                continue
            if of_any:
                expected = chance_of_any(size[tried], labels[tried], under)
            else:
                chosen = int(np.bincount(value[found]).argmax())
                found = found[value[found] == chosen]
                total[:] = 0
                total[under.own[under.value == chosen]] = under.records[under.value == chosen]
                expected = chance_of_one(size[tried], total[labels[tried]], of_labels[tried])
            rate = max(float(expected.sum()), _LEAST_RATE)
            bits = len(found) * np.log(len(found) / rate) - len(found) + rate
            enough = number > 1 or len(found) >= RIGHT * len(tried)
            flags[found] |= enough and len(found) >= ALIKE * rate and bits / repeats >= least
    return flags


def _far(cells: ValuePairs, chances: Sequence[Chance], pools: Sequence[Codes], repeats: float, tests: int = 1) -> Flags:
    """Whether own values are in a pool that is far from chance, by each of the chances.

    They repeat values more often than chance makes them, or lack more of them. Both numbers are sums of rare events, of
    which more than a multiple of their mean is as improbable as Chernoff's bound for Poisson's distribution says.
    """
    far = np.zeros(cells.owns, np.bool_)
    different = cells.different - np.bincount(cells.own[_accidents(cells)], minlength=cells.owns)
    for pool in pools:
        agreed = np.ones(int(pool.max(initial=0)) + 1, np.bool_)
        least = EVIDENCE + np.log(tests * len(agreed))
        for by in chances:
            repeated = _evidence(pool, cells.of_own - different, cells.of_own - by.expected, repeats)
            lacking = _evidence(pool, by.possible - different, by.possible - by.expected, repeats)
            agreed &= np.maximum(repeated, lacking) >= least
        far |= agreed[pool]
    return far


def _evidence(pool: Codes, seen: Codes, expected: NDArray[np.float64], repeats: float) -> NDArray[np.float64]:
    """The negative logarithm of the probability of so many events in each pool; 0 if they are not `FAR` more."""
    number = np.bincount(pool, weights=seen)
    rate = np.maximum(np.bincount(pool, weights=expected), _LEAST_RATE)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = number * np.log(number / rate) - number + rate
    return np.where(number >= FAR * rate, bits / repeats, 0.0)


# --- lists ----------------------------------------------------------------------------------------------------------


def _accidents(cells: ValuePairs) -> Flags:
    own, total = cells.of_own[cells.own], cells.of_value[cells.value]
    everybody = int(cells.records.sum())
    return (cells.records < ACCIDENT * own) & (cells.records < OF_CHANCE * own * total.astype(np.float64) / everybody)


def _missing(cells: ValuePairs, under: ValuePairs, labels: Codes, excluding: Flags) -> Codes:
    """The packed pairs that chance would make often, and that do not occur."""
    order = np.lexsort((-under.records, under.own))
    size = under.of_own
    # Per label the values descend, so that those which are frequent enough for an own value come first.
    rising = under.own[order] * (int(size.max(initial=0)) + 1) + size[under.own[order]] - under.records[order]
    own = np.flatnonzero(excluding & (cells.of_own > 0))
    least = -(-EXPECTED * size[labels[own]] // cells.of_own[own])
    within = labels[own] * (int(size.max(initial=0)) + 1) + np.maximum(size[labels[own]] - least, -1)
    first = under.first[labels[own]]
    often = np.maximum(np.searchsorted(rising, within, side="right") - first, 0)
    often[least > size[labels[own]]] = 0
    at, group = spread(first, often)
    keys = own[group] * cells.values + under.value[order][at]
    return np.setdiff1d(keys, cells.keys, assume_unique=True)


def _listed(cells: ValuePairs, excluding: Flags, missing: Codes, shown: bool) -> Fits:
    strange = _accidents(cells)
    listed = np.where(excluding[cells.own], strange, ~strange)
    keys = np.sort(np.concatenate([cells.keys[listed], missing]))
    number = np.bincount(keys // cells.values, minlength=cells.owns)
    return Fits(np.concatenate([[0], np.cumsum(number)]), keys % cells.values, excluding, cells.values, shown)
