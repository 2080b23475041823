"""Whether the values that own values go with are chance: how many there are, against how many chance would make.

Source: hypergeometric probabilities of a value among the records with an own value, under each label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.risk.unchanged import ALIKE, ERRORS, EVIDENCE, FAR, POWER

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Alike:
    """Alike own values, or alike values of a column, under a label: their `records` each, and how many `times`.

    Under a label these own values have so many different values, all of which were `seen` with one; `single` of them
    have one value only.
    """

    label: Codes
    records: Codes
    times: Codes
    seen: NDArray[Any]
    single: NDArray[Any]


def alike(label: Codes, records: Codes, seen: Codes) -> Alike:
    """Puts together those with as many records under a label."""
    most = int(records.max(initial=0)) + 1
    different, group, times = np.unique(label * most + records, return_inverse=True, return_counts=True)
    of_group = (np.bincount(group, weights=numbers, minlength=len(times)) for numbers in (seen, seen == 1))
    return Alike(different // most, different % most, times, *of_group)


def independent(own: Alike, values: Alike, sizes: Codes) -> tuple[bool, list[int], list[int]]:
    """Whether own values go with as many values as chance would make, and half of these would be too few to be chance.

    And the binary orders of numbers of records whose own values all the same are far from chance; and the orders in
    which far more own values have a single value than by chance. `sizes` are the records of each label.
    """
    order = np.argsort(values.label, kind="stable")
    first = np.searchsorted(values.label[order], own.label)
    number = np.searchsorted(values.label[order], own.label, side="right") - first
    group = np.repeat(np.arange(len(number)), number)
    at = order[np.arange(len(group)) - (np.cumsum(number) - number)[group] + first[group]]
    drawn, total, size = own.records[group], values.records[at], sizes[own.label][group]
    chance, often = _present(drawn, total, size), values.times[at].astype(np.float64)
    weight = own.times[group] * often
    variance = float((weight * chance * (1 - chance)).sum())
    power = float((weight * (chance - _present(drawn, 2 * total, size) / 2) * (drawn <= size - drawn)).sum())
    mean = np.bincount(group, weights=often * chance, minlength=len(number))
    possible = np.bincount(group, weights=often, minlength=len(number))
    expected, error = float((own.times * mean).sum()), float(np.sqrt(variance))
    seen = own.seen.astype(np.float64)
    shown = float(seen.sum()) >= expected - ERRORS * error and power > 0 and power >= POWER * error
    # Values that own values have more than once, and by chance; values that they lack, and by chance.
    binary = np.frexp(np.maximum(own.records, 1).astype(np.float64))[1] - 1
    records = own.times * own.records
    events = (records - seen, records - own.times * mean, own.times * possible - seen, own.times * (possible - mean))
    orders = zip(*(np.bincount(binary, weights=numbers, minlength=64).tolist() for numbers in events), strict=True)
    far = [at for at, row in enumerate(orders) if _far(row[0], row[1], FAR) or _far(row[2], row[3], FAR)]
    # One record has a single value anyway.
    repeated = own.records > 1
    of_one = np.bincount(group, weights=often * _only(drawn, total, size), minlength=len(number))
    single, by_chance = (
        np.bincount(binary, weights=repeated * each, minlength=64).tolist() for each in (own.single, own.times * of_one)
    )
    return shown, far, [at for at in range(len(single)) if _far(single[at], by_chance[at], ALIKE)]


def _far(number: float, expected: float, times: float) -> bool:
    """Whether so many rare events are no chance, clearly: the bound is Chernoff's for Poisson's distribution."""
    mean = max(expected, 1e-3)
    return number > 1.1 * times * mean and number * np.log(number / mean) - number + mean > EVIDENCE + 5


def _present(own: Codes, total: Codes, size: Codes) -> NDArray[np.float64]:
    """The probability that some of the `own` records have the value of `total` ones."""
    others = np.maximum(size - total, 0)
    left = np.maximum(others - own, 0)
    absent = np.exp(_factorial(others) - _factorial(left) + _factorial(size - own) - _factorial(size))
    present: NDArray[np.float64] = np.where(others < own, 1.0, np.clip(1 - absent, 0, 1))
    return present


def _only(own: Codes, total: Codes, size: Codes) -> NDArray[np.float64]:
    """The probability that all of the `own` records have the value of `total` ones."""
    left = np.maximum(total - own, 0)
    only = np.exp(_factorial(total) - _factorial(left) + _factorial(size - own) - _factorial(size))
    return np.where(own > total, 0.0, np.clip(only, 0.0, 1.0))


def _factorial(n: Codes) -> NDArray[np.float64]:
    """The logarithms of factorials: of small numbers as sums, else by Stirling's series."""
    m = np.maximum(n, 1).astype(np.float64)
    series = m * np.log(m) - m + np.log(2 * np.pi * m) / 2 + 1 / (12 * m) - 1 / (360 * m**3) + 1 / (1260 * m**5)
    return np.where(n < len(_SMALL), _SMALL[np.minimum(n, len(_SMALL) - 1)], series)


_SMALL = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 100)))])
