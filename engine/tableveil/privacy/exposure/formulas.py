"""Formulas that people use: numbers of quasi-identifiers that give a column's numbers, up to a factor and a constant.

One by itself; differences, sums, products and ratios of two; sums and differences of three. An age at a date is a
difference by a factor, as years are days by one; differences of years stand beside those of days. Two released columns
together may give a quasi-identifier so as well, as an age and the year of an event do: neither need tell it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations, compress, product

import numpy as np
from numpy.typing import NDArray

from tableveil.privacy.exposure.cells import Codes, Flags, sampled, totals
from tableveil.privacy.exposure.rows import ClassRows
from tableveil.risk.unchanged import ACCIDENT, LEAST_RECORDS, MOST_ADDED, RIGHT, TELLING, WIDEST, WRONG

Numbers = NDArray[np.float64]
"""A number per row, NaN where there is none."""

FIRST_TRIED, TRIED = 160, 20_000
"""The records that a formula is tried on: first a few, then enough to be sure."""

CLOSEST = 6
"""So many formulas for a column are used: those that tell most."""

SPARED = 0.05
"""A formula passes the first trial with this much more tolerance."""

TRIALS = ((64, 0.15), (FIRST_TRIED, SPARED))
"""The many formulas of two columns are tried on so few records first, with so much more tolerance."""

LOOKED_AT = 1 << 16
"""Records with values in both columns are looked for among so many."""

MORE = 0.75
"""Both must tell clearly more than each alone: at most this share as many of others' values would be right."""

_PRECISION = 1e-9


@dataclass(frozen=True, eq=False)
class Reading:
    """A reading of a quasi-identifier, by its position `of`, as `numbers` of the rows; one of them is `natural`."""

    of: int
    numbers: Numbers
    natural: bool = True


@dataclass(frozen=True, eq=False)
class ByFormula:
    """A judgement by a formula of who `knows` quasi-identifiers: what it predicts for the rows, beside their `value`.

    A value is right from `low` to `high` off; by `chance` so many of others are. Somebody for whom it is wrong is not
    found by it.
    """

    rows: ClassRows
    value: Numbers = field(repr=False)
    knows: tuple[int, ...]
    predicted: Numbers = field(repr=False)
    low: float
    high: float
    chance: float

    @cached_property
    def _predicted(self) -> Numbers:
        off = self.value - self.predicted
        return np.where((off >= self.low) & (off <= self.high), self.predicted, np.nan)

    @cached_property
    def _unknown_fits(self) -> bool:
        """Whether a value may be missing although the formula gives one."""
        given = np.isfinite(self.predicted)
        return bool(np.isnan(self.value[given]).sum() >= ACCIDENT * given.sum())

    @cached_property
    def own(self) -> Codes:
        """See `Judgement`."""
        return np.unique(self._predicted, return_inverse=True)[1].astype(np.int64)

    def fits(self, mine: Codes, others: Codes) -> Flags:
        """See `Judgement`."""
        predicted, value = self._predicted[mine], self.value[others]
        off = value - predicted
        fits: Flags = (off >= self.low) & (off <= self.high) | np.isnan(predicted)
        if self._unknown_fits:
            fits |= np.isnan(value)
        return fits

    def outside(self) -> Codes:
        """See `Judgement`."""
        rows, given, at = self.rows, np.isfinite(self.value), np.flatnonzero(np.isfinite(self._predicted))
        different, classes, predicted = np.unique(self.value[given]), rows.classes[at], self._predicted[at]
        order, width = np.lexsort((self.value, rows.classes)), len(different) + 1
        order = order[given[order]]
        keys = rows.classes[order] * width + np.searchsorted(different, self.value[order])
        records = rows.records_of(order)
        upto = np.concatenate([[0], np.arange(1, len(order) + 1) if records is None else np.cumsum(records)])
        low = classes * width + np.searchsorted(different, predicted + self.low)
        high = classes * width + np.searchsorted(different, predicted + self.high, side="right")
        inside = upto[np.searchsorted(keys, high)] - upto[np.searchsorted(keys, low)]
        if self._unknown_fits:
            inside = inside + totals(rows.classes[~given], rows.records_of(~given), len(rows.sizes))[classes]
        outside = np.zeros(len(rows), np.int64)
        outside[at] = rows.sizes[classes] - inside
        return outside


Operation = Callable[..., Numbers]

OPERATIONS: tuple[Operation, ...] = (
    lambda a, b: a - b,
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: b / a,
)

ADDITIONS: tuple[Operation, ...] = (
    lambda a, b, c: a + b + c,
    lambda a, b, c: a + b - c,
    lambda a, b, c: a - b + c,
    lambda a, b, c: a - b - c,
)


class Formulas:
    """The formulas of readings of quasi-identifiers; each knows a `hidden` one."""

    def __init__(self, rows: ClassRows, readings: Sequence[Reading], hidden: Sequence[bool]) -> None:
        self._rows, self._readings, self._written = rows, readings, list[tuple[tuple[int, ...], Operation]]()
        every, added = range(len(readings)), [a for a, one in enumerate(readings) if one.natural][:MOST_ADDED]
        operations: tuple[tuple[Sequence[int], tuple[Operation, ...]], ...]
        operations = ((every, (lambda a: a,)), (every, OPERATIONS), (added, ADDITIONS))
        for number, (some, written) in enumerate(operations, 1):
            for of in combinations(some, number):
                knows = self._knows(of)
                if len(set(knows)) == number and any(hidden[j] for j in knows):
                    self._written += product([of], written)

    def of(self, value: Numbers) -> list[ByFormula]:
        """The formulas that give the values, first the ones that tell most."""
        there = np.flatnonzero(np.isfinite(value))
        if len(there) < LEAST_RECORDS or len(np.unique(value[there])) < 2 or not self._written:
            return []
        order, formulas = sampled(3, there, TRIED), []
        first = order[:FIRST_TRIED]
        with np.errstate(all="ignore"):
            numbers = [reading.numbers[first] for reading in self._readings]
            tried = np.stack([operation(*(numbers[a] for a in of)) for of, operation in self._written])
            for of, operation in compress(self._written, passing(tried, value[first])):
                calculated = operation(*(self._readings[a].numbers for a in of))
                formula = fitted(self._rows, value, calculated, order, self._knows(of))
                formulas += [formula] if formula is not None else []
        return sorted(formulas, key=lambda formula: formula.chance)[:CLOSEST]

    def _knows(self, of: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self._readings[a].of for a in of)


def formulas_of_columns(
    rows: ClassRows, columns: Sequence[Sequence[Numbers]], readings: Sequence[Reading], hidden: Sequence[bool]
) -> Iterator[tuple[tuple[int, int], ByFormula]]:
    """The formulas that hold of two columns, by position, those first that tell most; `columns` has their readings."""
    readings = [reading for reading in readings if hidden[reading.of]]
    if not readings:
        return
    looked_at = sampled(5, np.arange(len(readings[0].numbers)), LOOKED_AT)
    with np.errstate(all="ignore"):
        for i, j in combinations(range(len(columns)), 2):
            pairs = (_of_two(rows, *pair, readings, looked_at) for pair in product(columns[i], columns[j]))
            found = sorted(chain.from_iterable(pairs), key=lambda formula: formula.chance)
            yield from (((i, j), formula) for formula in found[:CLOSEST])


def _of_two(
    rows: ClassRows, one: Numbers, other: Numbers, readings: Sequence[Reading], looked_at: Codes
) -> Iterator[ByFormula]:
    tried = looked_at[np.isfinite(one[looked_at]) & np.isfinite(other[looked_at])][:TRIED]
    every = list(product(OPERATIONS, readings)) if len(tried) >= LEAST_RECORDS else []
    for number, spared in TRIALS:
        if not every:
            return
        first = tried[:number]
        given = {operation: operation(one[first], other[first]) for operation in OPERATIONS}
        numbers = np.stack([reading.numbers[first] for _, reading in every])
        every = list(compress(every, passing(numbers, np.stack([given[operation] for operation, _ in every]), spared)))
    for operation, reading in every:
        together = _finite(operation(one, other))
        formula, *alone = (fitted(rows, each, reading.numbers, tried, (reading.of,)) for each in (together, one, other))
        chance = min((each.chance for each in alone if each is not None), default=1.0)
        if formula is not None and formula.chance <= MORE * chance:
            yield formula


def _finite(numbers: Numbers) -> Numbers:
    return np.where(np.isfinite(numbers), numbers, np.nan)


def passing(numbers: Numbers, value: Numbers, spared: float = SPARED) -> Flags:
    """Whether formulas, one a row, may give the values, which are the same for all, or one row for each.

    So much more tolerance is spared for few records.
    """
    numbers, value = _finite(numbers), _finite(value)
    half = numbers.shape[1] // 2
    one, other = (..., slice(0, half)), (..., slice(half, 2 * half))
    slopes = _slopes(value[other] - value[one], numbers[other] - numbers[one])
    off, of_others = value - slopes * numbers, np.roll(value, 1, axis=-1) - slopes * numbers
    counts, margin = np.isfinite(off).sum(axis=1), _PRECISION * np.fmax.reduce(np.abs(value), axis=-1, keepdims=True)
    low, high = _shortest(off, RIGHT - spared)
    right, others = (_within(each, low - margin, high + margin) for each in (off, of_others))
    tells = (others <= (TELLING + spared) * counts) | (counts - others >= WRONG / 2 * (counts - right))
    may_hold: Flags = (counts >= LEAST_RECORDS) & np.isfinite(slopes[:, 0]) & tells
    return may_hold


def fitted(
    rows: ClassRows, value: Numbers, calculated: Numbers, tried: Codes, knows: tuple[int, ...]
) -> ByFormula | None:
    """The formula with its factor and its tolerance by the tried records, if it holds and tells something."""
    tried = tried[np.isfinite(calculated[tried]) & np.isfinite(value[tried])]
    if len(tried) < LEAST_RECORDS:
        return None
    mine, numbers = value[tried], calculated[tried][None, :]
    # Records are in random order.
    slope = _slopes(np.roll(mine, 1) - mine, np.roll(numbers, 1) - numbers)
    off, margin = mine - slope * numbers, _PRECISION * np.abs(mine).max()
    low, high = _shortest(off, RIGHT)
    least, most = _shortest(off, 1 - ACCIDENT)
    if most - least <= WIDEST * (high - low):
        low, high = least, most
    low, high = low - margin, high + margin
    right, chance = (_within(each, low, high).item() / len(tried) for each in (off, np.roll(mine, 1) - slope * numbers))
    if not np.isfinite(slope) or (chance > TELLING and 1 - chance < WRONG * (1 - right)) or chance == 1:
        return None
    return ByFormula(rows, value, knows, slope.item() * _finite(calculated), low.item(), high.item(), chance)


def _slopes(values: Numbers, numbers: Numbers) -> Numbers:
    """Per row of numbers the middle slope of different values, of what is finite."""
    ordered = np.sort(_finite(np.where(values != 0, values / numbers, np.nan)), axis=1)
    return np.take_along_axis(ordered, np.isfinite(ordered).sum(axis=1, keepdims=True) // 2, 1)


def _shortest(numbers: Numbers, share: float) -> tuple[Numbers, Numbers]:
    """Per row, the shortest range with this share of what is finite in it."""
    ordered = np.sort(numbers, axis=1)
    count = np.isfinite(ordered).sum(axis=1, keepdims=True)
    last = np.arange(numbers.shape[1]) + np.maximum(np.ceil(share * count).astype(np.int64), 1) - 1
    ends = np.take_along_axis(ordered, np.minimum(last, numbers.shape[1] - 1), 1)
    best = np.argmin(np.where(last < count, ends - ordered, np.inf), axis=1, keepdims=True)
    return np.take_along_axis(ordered, best, 1), np.take_along_axis(ends, best, 1)


def _within(numbers: Numbers, low: Numbers, high: Numbers) -> Codes:
    """How many numbers of each row are from its low end to its high one."""
    number: Codes = ((numbers >= low) & (numbers <= high)).sum(axis=1)
    return number
