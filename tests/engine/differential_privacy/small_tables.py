"""Small tables with all outcomes of the mechanism: probabilities are fractions, powers of e to 60 digits."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from tableveil.differential_privacy import Drops, Gains, eta
from tableveil.lattice import Lattice, Transformation

PRECISE = Context(prec=60)

GROUPS = ((np.array([0, 1], np.int32), np.array([0, 0], np.int32)),) * 2
"""Two columns of two values each; level 1 is the top."""

VALUES = (
    (np.array([1 << 27, 1 << 27]), np.array([0, 0])),
    (np.array([1 << 27, 1 << 27]), np.array([1 << 26, 1 << 26])),
)
LATTICE = Lattice((0, 0), (1, 1))
PEOPLE: Table = tuple(itertools.product((0, 1), repeat=2))

Table = tuple[tuple[int, ...], ...]
Outcome = tuple[Transformation, tuple[tuple[tuple[int, ...], int], ...]]
Drawing = Callable[[Counter[tuple[int, ...]], Drops], Iterator[tuple[Mapping[tuple[int, ...], int], Fraction]]]


def gains_of(people: Table, drops: Drops) -> Gains:
    """The gains of the transformations of a table."""
    counted = sorted(Counter(people).items())
    codes = tuple(np.array([person[j] for person, _ in counted], np.int32) for j in range(2))
    return Gains(GROUPS, VALUES, codes, np.array([count for _, count in counted], np.int64), drops)


def power_of_e(exponent: Fraction) -> Fraction:
    """E to a power."""
    return Fraction(PRECISE.exp(PRECISE.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))))


def choices(people: Table, epsilon: Fraction, drops: Drops) -> dict[Transformation, Fraction]:
    """The probability of each transformation."""
    gains = gains_of(people, drops)
    rate = eta(epsilon, gains.range)
    logarithm = Fraction(PRECISE.ln(Decimal(2)))
    weights = {x: power_of_e(rate * gains.check(x).gain * logarithm) for x in LATTICE}
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def classes_of(people: Table, at: Transformation) -> Counter[tuple[int, ...]]:
    """The sizes of the classes at a transformation."""
    return Counter(tuple(int(GROUPS[j][at[j]][person[j]]) for j in range(2)) for person in people)


def each_its_own(
    classes: Counter[tuple[int, ...]], drops: Drops
) -> Iterator[tuple[Mapping[tuple[int, ...], int], Fraction]]:
    """All rows that may be left of classes which lose rows by draws of their own."""
    masses = [Fraction(mass, drops.total) for mass in drops.masses]
    left = []
    for name, size in sorted(classes.items()):
        of_class: dict[int, Fraction] = {}
        for z, mass in enumerate(masses):
            of_class[max(0, size - z)] = of_class.get(max(0, size - z), Fraction(0)) + mass
        left.append([(name, kept, mass) for kept, mass in of_class.items()])
    for found in itertools.product(*left):
        probability = Fraction(1)
        for _, _, mass in found:
            probability *= mass
        yield {name: kept for name, kept, _ in found}, probability


def outcomes(
    people: Table, chosen: Mapping[Transformation, Fraction], drops: Drops, drawing: Drawing = each_its_own
) -> dict[Outcome, Fraction]:
    """The probability of each transformation together with the rows that are left."""
    found: dict[Outcome, Fraction] = {}
    for x, share in chosen.items():
        for left, probability in drawing(classes_of(people, x), drops):
            shown = (x, tuple(sorted((name, kept) for name, kept in left.items() if kept)))
            found[shown] = found.get(shown, Fraction(0)) + share * probability
    return found


def divergence(one: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction], epsilon: Fraction) -> Fraction:
    """The least delta for which one distribution is (epsilon, delta)-close to the other."""
    factor = power_of_e(epsilon)
    return sum((max(Fraction(0), p - factor * other.get(o, Fraction(0))) for o, p in one.items()), Fraction(0))


def worst(mechanism: Callable[[Table], Mapping[Outcome, Fraction]], epsilon: Fraction, most: int) -> Fraction:
    """The least delta over all neighbouring tables of up to so many people."""
    found = Fraction(0)
    for number in range(most):
        for people in itertools.combinations_with_replacement(PEOPLE, number):
            of_table = mechanism(people)
            for person in PEOPLE:
                of_other = mechanism(tuple(sorted((*people, person))))
                found = max(found, divergence(of_table, of_other, epsilon), divergence(of_other, of_table, epsilon))
    return found
