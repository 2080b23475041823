"""Distances between the distributions of two sets of records over a column's values, as defined, in fractions."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from tests.campaign.attacker.cases import SensitiveColumn
from tests.campaign.attacker.columns import TOP, Text

Spread = Mapping[Text, int]
"""Records per value."""


def distance_of(name: str, column: SensitiveColumn, source: Spread) -> Callable[[Spread, Spread], Fraction]:
    """The earth mover's distance for a ground distance; the source has all values."""
    match name:
        case "ORDERED":
            ranks = sorted(source, key=lambda value: len(column.order) if value is None else column.order.index(value))
            return lambda part, whole: _ordered(part, whole, ranks)
        case "HIERARCHICAL":
            return lambda part, whole: _hierarchical(part, whole, column)
    return _equal


def shares(spread: Spread) -> dict[Text, Fraction]:
    """The share of each value."""
    total = sum(spread.values())
    return {value: Fraction(number, total) for value, number in spread.items()}


def _equal(part: Spread, whole: Spread) -> Fraction:
    p, q = shares(part), shares(whole)
    return sum((abs(p.get(value, Fraction(0)) - share) for value, share in q.items()), Fraction(0)) / 2


def _ordered(part: Spread, whole: Spread, ranks: Sequence[Text]) -> Fraction:
    """The sum of the mass moved over each step between neighbours; NULL is the last value."""
    p, q = shares(part), shares(whole)
    carried, moved = Fraction(0), Fraction(0)
    for value in ranks[:-1]:
        carried += p.get(value, Fraction(0)) - q.get(value, Fraction(0))
        moved += abs(carried)
    return moved / max(len(ranks) - 1, 1)


def _hierarchical(part: Spread, whole: Spread, column: SensitiveColumn) -> Fraction:
    """The mean over the levels below the top of the equal distance between groups."""
    top = len(next(iter(column.ladders.values()))) - 1
    total = Fraction(0)
    for level in range(top):
        total += _equal(_grouped(part, column, level), _grouped(whole, column, level))
    # With a single value, nothing is far from anything.
    return total / top


def _grouped(spread: Spread, column: SensitiveColumn, level: int) -> Spread:
    groups: Counter[Text] = Counter()
    for value, number in spread.items():
        groups[None if value is None else column.ladders[value][level]] += number
    assert TOP not in groups
    return groups
