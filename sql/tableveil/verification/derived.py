"""Counts again what two quasi-identifiers tell together of unchanged columns: by formulas, and by what they determine.

And what two unchanged columns tell together of a quasi-identifier, by formulas.

Only what is beyond doubt is counted: formulas that are right for nearly all records, and pairs of values that nearly
always have the same value of a column where others of the same labels do not.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.risk.unchanged import ACCIDENT, TELLING
from tableveil.verification.coded import Codes, Held, HeldRows, Numbers, Records, ranks

TRIED, CHECKED = 160, 10_000
"""The records that a formula is tried on first, less strictly, and those that decide; pairs are looked for in these."""

LEAST = 100
"""The least number of records, and of pairs of records, that show anything."""

SURE = 0.9 * TELLING
"""The share of other records with an equal value must be clearly less than half."""

Flags = NDArray[np.bool_]


def least_of_two(records: Records, held: Held, hiding: Sequence[int], k: int) -> int:
    """The least number of rows, up to k, that two quasi-identifiers leave by a column, or one by two columns.

    At least one of both is `hiding` something.
    """
    order = np.flatnonzero(records.classes >= 0)
    if len(order) < LEAST:
        return k
    # Only those that are looked at first have to be in order.
    first = order[np.argpartition(records.place[order], min(CHECKED, len(order)) - 1)[:CHECKED]]
    first = first[np.argsort(records.place[first])]
    pairs = [(a, b) for a, b in combinations(range(len(records.own)), 2) if a in hiding or b in hiding]
    left = [*_by_pairs(records, held, order, first, pairs, hiding), *_by_formulas(records, held, first, pairs, hiding)]
    return min(left, default=k)


# --- what pairs of own values determine -------------------------------------------------------------------------------


def _by_pairs(
    records: Records, held: Held, order: Codes, first: Codes, pairs: Sequence[tuple[int, int]], hiding: Sequence[int]
) -> Iterator[int]:
    """The least number of rows that have the one value that a pair of own values has, per column that it determines."""
    own, values = [each.code[first] for each in records.own], [each.code[first] for each in records.values]
    labels = [each.label[each.code[first]] for each in records.own]
    for a, b in pairs:
        both = own[a] * records.own[b].number + own[b]
        one, other = _neighbours(both)
        if 2 * len(one) < len(both):
            continue
        determined = [i for i, value in enumerate(values) if (value[one] == value[other]).mean() >= 1 - ACCIDENT]
        strata = [(own[a], labels[b])] * (b in hiding) + [(labels[a], own[b])] * (a in hiding)
        near = [_neighbours(x * (int(y.max()) + 1) + y) for x, y in strata] if determined else []
        for i in determined:
            if all(_differ(values[i], both, *neighbours) for neighbours in near):
                everybody = ranks(records.own[a].code[order] * records.own[b].number + records.own[b].code[order])
                value = records.values[i].code[order]
                least, most = np.full(len(order), np.iinfo(np.int64).max), np.full(len(order), -1)
                np.minimum.at(least, everybody, value)
                np.maximum.at(most, everybody, value)
                single = order[(least == most)[everybody]]
                wanted = records.values[i].code[single].astype(np.float64)
                rows = _within(held(), held().values[i].astype(np.float64), records.classes[single], wanted, 0.0)
                yield int(rows.min(initial=len(order)))


def _neighbours(group: Codes) -> tuple[Codes, Codes]:
    """Pairs of records of one group."""
    order = np.argsort(group, kind="stable")
    near = group[order[1:]] == group[order[:-1]]
    return order[1:][near], order[:-1][near]


def _differ(value: NDArray[Any], own: Codes, one: Codes, other: Codes) -> bool:
    """Whether most neighbours with other own values have other values."""
    apart = own[one] != own[other]
    return int(apart.sum()) >= LEAST and bool((value[one] == value[other])[apart].mean() <= SURE)


# --- formulas ---------------------------------------------------------------------------------------------------------


def _by_formulas(
    records: Records, held: Held, first: Codes, pairs: Sequence[tuple[int, int]], hiding: Sequence[int]
) -> Iterator[int]:
    """The least number of rows in which released numbers are what a formula gives, or may be unknown.

    Two quasi-identifiers give a column, or two columns give a quasi-identifier.
    """
    numbers = [each.numbers[each.code[first]] for each in records.values]
    varied = {i: y for i, y in enumerate(numbers) if len(np.unique(y[np.isfinite(y)])) >= 3}
    own = [each.numbers[each.code[first]] for each in records.own] if varied else []
    alone: dict[tuple[int, ...], Numbers] = {(i,): y for i, y in varied.items()}
    together: dict[tuple[int, ...], Numbers] = {
        (i, j, sign): shown
        for i, j in combinations(varied, 2)
        for sign, shown in enumerate(_calculated(varied[i], varied[j]))
    }
    given = [each for a, b in pairs if own for each in _calculated(own[a], own[b])]
    for columns, told in ((alone, given), (together, [own[a] for a in hiding if own])):
        tried = [shown[:TRIED] for shown in columns.values()]
        for one in told if tried else ():
            passing = _exact(np.stack(tried), one[:TRIED], LEAST // 5, 3 * ACCIDENT).any(axis=1).tolist()
            for key, shown in (each for each, passes in zip(columns.items(), passing, strict=True) if passes):
                (right,) = _exact(shown[None, :], one)
                if right.any():
                    unknown = bool((~np.isfinite(shown[np.isfinite(one)])).mean() >= ACCIDENT)
                    yield _left(records, held(), key, first[right], shown[right], unknown=unknown)


def _calculated(one: Numbers, other: Numbers) -> list[Numbers]:
    with np.errstate(all="ignore"):
        return [one - other, one + other, one / other, other / one]


def _exact(values: Numbers, calculated: Numbers, least: int = LEAST, wrong: float = ACCIDENT) -> Flags:
    """Per row of values, the records whose value is the calculated one, by a factor and a constant.

    None are unless nearly all are, and no others. Both have as many digits as floating-point numbers keep.
    """
    there = np.isfinite(values) & np.isfinite(calculated)
    number = np.maximum(there.sum(axis=1), 1)[:, None]
    with np.errstate(all="ignore"):
        y = np.where(there, values, np.nan)
        factor = _middle((y[:, 1:] - y[:, :-1]) / np.diff(calculated))
        rest = y - factor * calculated
        right = np.abs(rest - _middle(rest)) <= 1e-9 * np.fmax.reduce(np.abs(y), axis=1)[:, None]
    others = np.roll(y, 1, axis=1)
    by_others = (others == y).sum(axis=1)[:, None] / np.maximum(np.isfinite(others - y).sum(axis=1)[:, None], 1)
    sure = (number >= least) & (factor != 0) & (right.sum(axis=1)[:, None] >= (1 - wrong) * number)
    flags: Flags = right & sure & (by_others <= SURE)
    return flags


def _middle(numbers: Numbers) -> Numbers:
    """The middle one of what is finite in each row."""
    ordered = np.sort(np.where(np.isfinite(numbers), numbers, np.nan), axis=1)
    middle: Numbers = np.take_along_axis(ordered, np.isfinite(ordered).sum(axis=1, keepdims=True) // 2, 1)
    return middle


def _left(records: Records, held: HeldRows, key: tuple[int, ...], at: Codes, wanted: Numbers, *, unknown: bool) -> int:
    """The least number of rows of a record's class that show the wanted number beside it, or may be `unknown`."""
    of_rows = [records.values[i].numbers[held.values[i]] for i in key[:2]]
    shown = of_rows[0] if len(key) == 1 else _calculated(*of_rows)[key[2]]
    # Sums of floating-point numbers are equal but for their last digits.
    near = 1e-9 * float(np.abs(shown[np.isfinite(shown)]).max(initial=0))
    rows = _within(held, shown, records.classes[at], wanted, near)
    if unknown:
        rows = rows + np.bincount(held.classes, held.rows * ~np.isfinite(shown), len(held.numbers))[records.classes[at]]
    return int(np.maximum(rows, 1).min())


def _within(held: HeldRows, shown: Numbers, classes: Codes, wanted: Numbers, near: float) -> Codes:
    """How many rows of each class show a number that is as near to the wanted one beside it; one at least."""
    different = np.unique(shown[np.isfinite(shown)])
    ordered = np.lexsort((shown, held.classes))
    ordered = ordered[np.isfinite(shown[ordered])]
    width, upto = len(different) + 1, np.concatenate([[0], np.cumsum(held.rows[ordered])])
    keys = held.classes[ordered] * width + np.searchsorted(different, shown[ordered])
    low, high = np.searchsorted(different, wanted - near), np.searchsorted(different, wanted + near, side="right")
    rows = upto[np.searchsorted(keys, classes * width + high)] - upto[np.searchsorted(keys, classes * width + low)]
    counts: Codes = np.maximum(rows, 1)
    return counts
