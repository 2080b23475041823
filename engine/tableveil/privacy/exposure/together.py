"""Formulas by which two released columns together give a quasi-identifier, as an age and the year of an event do.

Neither need tell anything of it alone. Tried are differences, sums, products and ratios of the two, by any factor and
constant.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np

from tableveil.privacy.exposure.cells import Codes, sampled
from tableveil.privacy.exposure.formulas import (
    CLOSEST,
    FIRST_TRIED,
    OPERATIONS,
    TRIED,
    Formula,
    Numbers,
    Reading,
    fitted,
    passing,
)
from tableveil.risk.unchanged import LEAST_RECORDS

LOOKED_AT = 1 << 16
"""Records with values in both columns are looked for among so many."""

FEW_TRIED, SPARED = 64, 0.15
"""Most formulas are left out by so few records, with so much more tolerance."""

MORE = 0.75
"""Both must tell clearly more than each alone: at most this share as many of others' values would be right."""

Given = tuple[tuple[int, int], Numbers, Formula]
"""Two columns, by position, the number that they give together, and the formula that predicts it."""


def formulas_of_columns(
    columns: Sequence[Sequence[Numbers]], readings: Sequence[Reading], hidden: Sequence[bool]
) -> Iterator[Given]:
    """The formulas that hold, of each two columns those first that tell most; `columns` has the readings of each."""
    readings = [reading for reading in readings if hidden[reading.of]]
    if not readings:
        return
    own = [reading.numbers for reading in readings]
    looked_at = sampled(5, np.arange(len(own[0])), LOOKED_AT)
    with np.errstate(all="ignore"):
        for i, j in combinations(range(len(columns)), 2):
            pairs = [
                ((i, j), together, formula)
                for one, other in product(columns[i], columns[j])
                for together, formula in _of_two(one, other, readings, own, looked_at)
            ]
            yield from sorted(pairs, key=lambda given: given[2].chance)[:CLOSEST]


def _of_two(
    one: Numbers, other: Numbers, readings: Sequence[Reading], own: Sequence[Numbers], looked_at: Codes
) -> Iterator[tuple[Numbers, Formula]]:
    tried = looked_at[np.isfinite(one[looked_at]) & np.isfinite(other[looked_at])][:TRIED]
    if len(tried) < LEAST_RECORDS:
        return
    for operation, a in _may_hold(one, other, own, tried):
        knows, together = (readings[a].of,), OPERATIONS[operation](one, other)
        together[~np.isfinite(together)] = np.nan
        formula = fitted(together, own[a], tried[np.isfinite(together[tried])], knows)
        if formula is None:
            continue
        alone = (fitted(column, own[a], tried, knows) for column in (one, other))
        if formula.chance <= MORE * min((each.chance for each in alone if each is not None), default=1.0):
            yield together, formula


def _may_hold(one: Numbers, other: Numbers, own: Sequence[Numbers], tried: Codes) -> Iterator[tuple[int, int]]:
    """The operations and the readings, by position, that pass on the first records, and on more."""
    every = list(product(range(len(OPERATIONS)), range(len(own))))
    for number, spared in ((FEW_TRIED, SPARED), (FIRST_TRIED, None)):
        first = tried[:number]
        given = np.stack([operation(one[first], other[first]) for operation in OPERATIONS])
        given[~np.isfinite(given)] = np.nan
        of_own, operations = np.stack([numbers[first] for numbers in own]), [operation for operation, _ in every]
        by = {} if spared is None else {"spared": spared}
        hold = passing(of_own[[a for _, a in every]], given[operations], **by)
        every = [pair for pair, holds in zip(every, hold.tolist(), strict=True) if holds]
        if not every:
            return
    yield from every
