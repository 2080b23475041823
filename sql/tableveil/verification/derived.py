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
from tableveil.verification.coded import Codes, HeldRows, Records

Numbers = NDArray[np.float64]

TRIED, CHECKED = 400, 10_000
"""The records that a formula is tried on first, and those that decide; pairs are looked for among the latter."""

LEAST = 100
"""The least number of records, and of pairs of records, that show anything."""

SIGNS = "-+/\\"

SURE = 0.9 * TELLING
"""The share of other records with an equal value must be clearly less than half."""


def least_of_two(records: Records, held: HeldRows, hiding: Sequence[int]) -> int | None:
    """The least number of rows that two quasi-identifiers leave by a column, or one by two columns; None if all do.

    At least one of both is `hiding` something.
    """
    order = np.flatnonzero(records.classes >= 0)
    if len(order) < LEAST:
        return None
    # Only those that are looked at first have to be in order.
    order = order[np.argpartition(records.place[order], min(CHECKED, len(order)) - 1)]
    order[:CHECKED] = order[:CHECKED][np.argsort(records.place[order[:CHECKED]])]
    identifiers = range(len(records.own))
    pairs = [(a, b) for a, b in combinations(identifiers, 2) if a in hiding or b in hiding]
    left = [_left(records, held, i, at) for i, at in _determined(records, order, pairs, hiding) if len(at)]
    if records.numbers:
        left += [
            _left(records, held, i, at, unknown=unknown)
            for i, at, unknown in _by_formulas(records, order, pairs)
            if len(at)
        ]
        left += _left_by_columns(records, held, order, hiding)
    return min(left, default=None)


def _left(records: Records, held: HeldRows, i: int, at: Codes, *, unknown: bool = False) -> int:
    """The least number of rows of a class that have a record's value, or, where these may be `unknown`, no number."""
    classes, value, rows = held.of(i)
    values = records.values[i].number + 1
    keys, wanted = classes * values + value, np.unique(records.classes[at] * values + records.values[i].code[at])
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    equal = np.where(keys[place] == wanted, rows[place], 1)
    if unknown:
        without = _numbers_of_codes(records, i)
        of_class = np.bincount(classes, weights=rows * np.isnan(without[value]), minlength=len(held.numbers))
        equal = equal + of_class[wanted // values].astype(np.int64)
    return int(equal.min())


def _numbers_of_codes(records: Records, i: int) -> Numbers:
    """The number of each value of a column; none for values that no record has."""
    of_codes = np.full(records.values[i].number + 1, np.nan)
    of_codes[records.values[i].code] = records.numbers[f"y{i}"]
    return of_codes


def _unknown(value: Numbers, calculated: Numbers) -> bool:
    """Whether a value may be missing although a formula gives one, other than by accident."""
    given = np.isfinite(calculated)
    return int((given & ~np.isfinite(value)).sum()) >= ACCIDENT * int(given.sum())


# --- what pairs of own values determine -------------------------------------------------------------------------------


def _determined(
    records: Records, order: Codes, pairs: Sequence[tuple[int, int]], hiding: Sequence[int]
) -> Iterator[tuple[int, Codes]]:
    """Per column that a pair determines: the records whose pair has a single value."""
    first = order[:CHECKED]
    own = [(each.code[first], each.number) for each in records.own]
    labels = [(of_own[code], number) for of_own, (code, number) in zip(records.labels, own, strict=True)]
    values = [each.code[first] for each in records.values]
    for a, b in pairs:
        both = _paired(own[a], own[b])
        one, other = _neighbours(both)
        if 2 * len(one) < len(both):
            continue
        determined = [i for i, value in enumerate(values) if (value[one] == value[other]).mean() >= 1 - ACCIDENT]
        strata = [(own[a], labels[b])] * (b in hiding) + [(labels[a], own[b])] * (a in hiding)
        near = [_neighbours(_paired(x, y)) for x, y in strata] if determined else []
        for i in determined:
            if all(_differ(values[i], both, *neighbours) for neighbours in near):
                x, y = records.own[a], records.own[b]
                everybody = _paired((x.code[order], x.number), (y.code[order], y.number))
                yield i, order[_single(everybody, records.values[i].code[order])]


def _single(own: Codes, value: Codes) -> NDArray[np.bool_]:
    """The records whose pair of own values has a single value."""
    _, group = np.unique(own, return_inverse=True)
    least = np.full(int(group.max()) + 1, np.iinfo(np.int64).max)
    most = np.full(len(least), -1)
    np.minimum.at(least, group, value)
    np.maximum.at(most, group, value)
    single: NDArray[np.bool_] = (least == most)[group]
    return single


def _paired(one: tuple[Codes, int], other: tuple[Codes, int]) -> Codes:
    """A number per pair of codes; there are so many of each."""
    return one[0] * other[1] + other[0]


def _neighbours(group: Codes) -> tuple[Codes, Codes]:
    """Pairs of records of one group."""
    order = np.argsort(group, kind="stable")
    near = group[order[1:]] == group[order[:-1]]
    return order[1:][near], order[:-1][near]


def _differ(value: NDArray[Any], own: Codes, one: Codes, other: Codes) -> bool:
    """Whether most neighbours with other own values have other values."""
    apart = own[one] != own[other]
    return int(apart.sum()) >= LEAST and bool((value[one] == value[other])[apart].mean() <= SURE)


# --- formulas of two columns ----------------------------------------------------------------------------------------


def _left_by_columns(records: Records, held: HeldRows, order: Codes, hiding: Sequence[int]) -> Iterator[int]:
    """The least numbers of rows that a quasi-identifier leaves by what two columns give together."""
    first = order[:CHECKED]
    repeating = [i for i, _ in enumerate(records.values) if _is_varied(records.numbers[f"y{i}"][order])]
    together = [(i, j, sign) for i, j in combinations(repeating, 2) for sign in SIGNS]
    if not together:
        return
    numbers = {i: records.numbers[f"y{i}"][first] for i in repeating}
    tried = np.stack([_calculated(numbers[i][:TRIED], numbers[j][:TRIED], sign) for i, j, sign in together])
    for a in hiding:
        own = records.numbers[f"x{a}"][first]
        for (i, j, sign), on_a_line in zip(together, _on_lines(tried, own[:TRIED]), strict=True):
            right = _exact(_calculated(numbers[i], numbers[j], sign), own) if on_a_line else None
            if right is not None and right.any():
                unknown = _unknown(_calculated(numbers[i], numbers[j], sign), own)
                yield _left_of_both(records, held, (i, j), sign, first[right], unknown=unknown)


def _left_of_both(
    records: Records, held: HeldRows, columns: tuple[int, int], sign: str, at: Codes, *, unknown: bool
) -> int:
    """The least number of rows of a class in which two columns give the same as in a record, or may be `unknown`."""
    of_code = [_numbers_of_codes(records, i) for i in columns]
    one, other = (of_values[held.values[i]] for i, of_values in zip(columns, of_code, strict=True))
    shown = _calculated(one, other, sign)
    one, other = (of_values[records.values[i].code[at]] for i, of_values in zip(columns, of_code, strict=True))
    wanted, classes = _calculated(one, other, sign), records.classes[at]
    different = np.unique(shown[np.isfinite(shown)])
    if not len(different):
        return 1
    # Sums of floating-point numbers are equal but for their last digits.
    near = 1e-9 * float(np.abs(different).max())
    ordered = np.lexsort((shown, held.classes))
    ordered = ordered[np.isfinite(shown[ordered])]
    width, upto = len(different) + 1, np.concatenate([[0], np.cumsum(held.rows[ordered])])
    keys = held.classes[ordered] * width + np.searchsorted(different, shown[ordered])
    first = np.searchsorted(keys, classes * width + np.searchsorted(different, wanted - near, side="left"))
    last = np.searchsorted(keys, classes * width + np.searchsorted(different, wanted + near, side="right"))
    rows = upto[last] - upto[first]
    if unknown:
        none = np.bincount(held.classes, weights=held.rows * ~np.isfinite(shown), minlength=len(held.numbers))
        rows = rows + none[classes].astype(np.int64)
    return int(np.maximum(rows, 1).min())


# --- formulas ---------------------------------------------------------------------------------------------------------


def _by_formulas(records: Records, order: Codes, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Codes, bool]]:
    """Per column and formula that gives it: the records for which it is right, and whether values may be unknown."""
    first = order[:CHECKED]
    numbers = {name: of_records[first] for name, of_records in records.numbers.items()}
    values = {i: numbers[f"y{i}"] for i, _ in enumerate(records.values) if _is_varied(records.numbers[f"y{i}"][order])}
    if not values:
        return
    tried = np.stack([value[:TRIED] for value in values.values()])
    for a, b in pairs:
        one, other = numbers[f"x{a}"], numbers[f"x{b}"]
        if not (np.isfinite(one[:TRIED]).any() and np.isfinite(other[:TRIED]).any()):
            continue
        for sign in SIGNS:
            calculated = _calculated(one, other, sign)
            for i, on_a_line in zip(values, _on_lines(tried, calculated[:TRIED]), strict=True):
                if not on_a_line or _exact(values[i][:TRIED], calculated[:TRIED]) is None:
                    continue
                right = _exact(values[i], calculated)
                if right is not None:
                    yield i, first[right], _unknown(values[i], calculated)


def _is_varied(value: Numbers) -> bool:
    return len(np.unique(value[np.isfinite(value)])) >= 3


def _on_lines(values: Numbers, calculated: Numbers) -> NDArray[np.bool_]:
    """Whether `_exact` may hold of each row of values: three records after each other are on one line, nearly always.

    A record that is not is one of three times three.
    """
    with np.errstate(all="ignore"):
        x = np.where(np.isfinite(calculated), calculated, np.nan)
        y = np.where(np.isfinite(values), values, np.nan)
        dx, dy = np.diff(x), np.diff(y)
        width, height = np.abs(dx), np.abs(dy)
        largest = np.fmax.reduce(np.abs(y), axis=1)[:, None]
        apart = np.abs(dy[:, 1:] * dx[:-1] - dy[:, :-1] * dx[1:])
        bound = 4e-9 * largest * (width[1:] + width[:-1])
        bound += 1e-15 * np.fmax.reduce(np.abs(x)) * (height[:, 1:] + height[:, :-1])
        off = (apart > bound) & np.isfinite(apart)
    on_lines: NDArray[np.bool_] = off.sum(axis=1) <= 3 * ACCIDENT * values.shape[1] + 1
    return on_lines


def _calculated(one: Numbers, other: Numbers, sign: str) -> Numbers:
    with np.errstate(all="ignore"):
        calculated: Numbers = {"-": one - other, "+": one + other, "/": one / other, "\\": other / one}[sign]
        return calculated


def _exact(value: Numbers, calculated: Numbers) -> NDArray[np.bool_] | None:
    """The records whose value is the calculated one, by a factor and a constant; None unless nearly all and no others.

    Both have as many digits as floating-point numbers keep.
    """
    there = np.isfinite(value) & np.isfinite(calculated)
    if there.sum() < LEAST:
        return None
    y, x = value[there], calculated[there]
    with np.errstate(all="ignore"):
        factors = (y[1:] - y[:-1]) / (x[1:] - x[:-1])
        factors = factors[np.isfinite(factors)]
        factor = float(np.median(factors)) if len(factors) else 0.0
        if not factor:
            return None
        rest = value - factor * calculated
        off = np.abs(rest - np.median(rest[there])) <= 1e-9 * np.abs(y).max()
    by_others = float((np.roll(y, 1) == y).mean())
    if off[there].mean() < 1 - ACCIDENT or by_others > SURE:
        return None
    right: NDArray[np.bool_] = off & there
    return right
