"""The values of a column that fit a known value of a quasi-identifier, as docs/explanations/threats.md defines it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence


def fitting(labels: Sequence[object], own: Sequence[object], values: Sequence[object]) -> set[tuple[object, object]]:
    """The pairs of an own value and a value that fit, by the records' labels, own values and values of the column."""
    pairs, owns, totals = Counter(zip(own, values, strict=True)), Counter(own), Counter(values)
    sizes, under, label_of = (
        Counter(labels),
        Counter(zip(labels, values, strict=True)),
        dict(zip(own, labels, strict=True)),
    )
    independent = _independent(pairs, owns, sizes, under, label_of.__getitem__)

    def fits(mine: object, value: object) -> bool:
        if number := pairs[mine, value]:
            return number >= 0.01 * owns[mine] or 10 * number * len(own) >= owns[mine] * totals[value]
        label = label_of[mine]
        return independent and owns[mine] * under[label, value] < 5 * sizes[label]

    return {(mine, value) for mine in owns for value in totals if fits(mine, value)}


def _independent(
    pairs: Counter[tuple[object, object]],
    owns: Counter[object],
    sizes: Counter[object],
    under: Counter[tuple[object, object]],
    label_of: Callable[[object], object],
) -> bool:
    """Whether there are as many pairs as chance makes, and too many for half of the values to be left of each."""
    expected, power, variance, seen = 0.0, 0.0, 0.0, 0
    for mine, number in owns.items():
        label = label_of(mine)
        seen += sum(other == mine for other, _ in pairs)
        for (where, _), total in under.items():
            if where == label:
                chance = 1 - _absent(number, total, sizes[label])
                expected += chance
                variance += chance * (1 - chance)
                if 2 * number <= sizes[label]:
                    power += chance - (1 - _absent(number, 2 * total, sizes[label])) / 2
    error = math.sqrt(variance)
    return seen >= expected - 2 * error and 0 < power >= 4 * error


def _absent(number: int, total: int, size: int) -> float:
    """The probability that none of `number` records, drawn from `size`, is one of the `total`."""
    return math.comb(max(size - total, 0), number) / math.comb(size, number)
