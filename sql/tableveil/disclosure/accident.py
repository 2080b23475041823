"""How improbable it is that two tables share values, with equal frequencies, by accident."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.state.sketches import Likeness, RowPairs, Sizes

# "Rule of three": with 95 % confidence there are fewer than three where none was seen.
_UNSEEN = 3

SPARSE = 0.25
"""Values that lie more densely among all that there could be are in tables of other people anyway."""

_ONE_EACH = 0.8
"""The share of a column's values that one record has, from which its values stand for about one person each."""

_NEARLY = 0.8

MOST_NAMED = 3
"""So many columns in which rows agree are named at most."""

LEAST_AGREEING = 5
"""So many rows must agree."""

_EXPONENTS = 2.0 ** np.arange(-3, 6)


def significance_bits(likeness: Likeness, records: int) -> float:
    """-log2 of a bound on the probability that a table of other people shares so many of these values equally often.

    A value that c records of one table have is in c of another's with a probability of at most c^c e^-c / c!, that of a
    Poisson number with the likeliest mean. Values that one record has are shared by chance more rarely where hardly any
    value is in two records: Good (1953) gives their expected number. Whole numbers without gaps, which number rows, are
    in each other's range anyway: their probability is the share of the range that the other column fills.

    The shared values are weighed by these probabilities, and the bound on the tail of the weights' sum is Chernoff's.
    Both directions are tried: one table may hold the other. If all values were counted, one of the counts follows from
    the others.
    """
    their_records = _records(likeness.theirs, likeness.their_records, likeness.scale)
    records = _records(likeness.mine, records, likeness.scale)
    smaller, larger = sorted((their_records, records))
    in_larger = likeness.mine if records == larger else likeness.theirs
    once = 2 * (in_larger[2] + _UNSEEN) * smaller / larger
    bits = 0.0
    their_side = likeness.theirs, their_records, likeness.my_density
    mine = likeness.mine, records, likeness.their_density
    for tried, counted, filled in (their_side, mine):
        given = 0.0 if likeness.scale else float(_bits(np.array([counted]))[0])
        bits = max(bits, _of_shared(likeness.shared, tried, once, filled) - given)
    return bits


def key_bits(likeness: Likeness) -> float:
    """-log2 of a bound on the probability that sparse values, of about one person each, are shared by chance.

    By chance a value of one table is in the other as often as the other's values fill the place where it lies. Values
    that are drawn, as names are, recur within a table as well: by Cauchy's inequality the records of two tables make at
    most twice the geometric mean of the pairs that those of either make. Texts may be few, though none is twice.
    """
    assert likeness.filled is not None
    filled, smaller = max(likeness.filled), min(likeness.mine.total(), likeness.theirs.total())
    one_each = all(_ONE_EACH * sizes.total() <= sizes[1] for sizes in (likeness.mine, likeness.theirs))
    if filled >= SPARSE or not one_each:
        return 0.0
    unseen = 0 if filled else _UNSEEN
    by_chance = 2 * math.sqrt(math.prod(unseen + _within(sizes) for sizes in (likeness.mine, likeness.theirs)))
    return tail_bits(likeness.values, smaller, max(filled, by_chance / smaller))


def row_bits(likeness: Likeness, records: int, by_chance: float) -> float:
    """-log2 of a bound on the probability that rows recur, which independent columns share `by_chance` each."""
    smaller = min(likeness.mine.total(), likeness.theirs.total())
    return min(significance_bits(likeness, records), tail_bits(likeness.values, smaller, by_chance))


@dataclass(frozen=True, slots=True)
class AgreeingRows:
    """So many of the `rows` of shared values have the same in `columns`, which are at positions of theirs and mine."""

    rows: int
    agreeing: int
    columns: tuple[tuple[int, int], ...]
    bits: float


def agreement(pairs: RowPairs) -> AgreeingRows | None:
    """The columns in which rows of a shared value agree far oftener than rows that are paired at random, if any do."""
    theirs, mine = pairs.theirs, pairs.mine
    rows, tried = len(mine), theirs.shape[1] * mine.shape[1]
    if rows < LEAST_AGREEING:
        return None
    far: list[tuple[float, int, int]] = []
    for j in range(mine.shape[1]):
        alike = (theirs == mine[:, j, None]) & (mine[:, j, None] > 0)
        counts = alike.sum(0)
        # By the least of the conditions below at least half of the rows agree.
        for i in np.flatnonzero(2 * counts >= rows).tolist():
            by_chance = _by_chance(theirs[:, i], mine[:, j])
            agreeing = int(counts[i])
            if agreeing >= LEAST_AGREEING and agreeing / rows >= by_chance + (1 - by_chance) / 2:
                far.append((tail_bits(agreeing, rows, by_chance + 1 / rows), i, j))
    far.sort(key=lambda one: -one[0])
    if not far:
        return None
    bits, i, j = far[0]
    columns, same = [(i, j)], _same(theirs, mine, i, j)
    most = int(same.sum())
    for _, i, j in far[1:]:
        new = all(i != one and j != other for one, other in columns)
        # Columns that are named agree in nearly the same rows.
        if new and len(columns) < MOST_NAMED and _NEARLY * most <= (both := same & _same(theirs, mine, i, j)).sum():
            columns, same = [*columns, (i, j)], both
    return AgreeingRows(rows, int(same.sum()), tuple(columns), bits - math.log2(tried))


def _same(theirs: NDArray[np.uint16], mine: NDArray[np.uint16], i: int, j: int) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (theirs[:, i] == mine[:, j]) & (mine[:, j] > 0)
    return same


def _by_chance(theirs: NDArray[np.uint16], mine: NDArray[np.uint16]) -> float:
    """How often rows that are paired at random agree."""
    values, counts = np.unique(theirs[theirs > 0], return_counts=True)
    others, other_counts = np.unique(mine[mine > 0], return_counts=True)
    _, here, there = np.intersect1d(values, others, assume_unique=True, return_indices=True)
    return float(np.sum(counts[here].astype(float) * other_counts[there]) / (len(theirs) * len(mine)))


def _within(sizes: Sizes) -> int:
    """The pairs of records of one value."""
    return sum(values * size * (size - 1) // 2 for size, values in sizes.items())


def tail_bits(found: int, of: int, by_chance: float) -> float:
    """-log2 of Chernoff's bound on at least so many events, of each of which the probability is `by_chance`."""
    share = min(1.0, found / max(1, of))
    by_chance = max(by_chance, 2.0**-16)
    if share <= by_chance:
        return 0.0
    bits = share * math.log2(share / by_chance)
    if share < 1:
        bits += (1 - share) * math.log2((1 - share) / (1 - by_chance))
    return of * bits


def _records(sizes: Sizes, records: int, scale: int) -> int:
    """The number of records, or of people if each is counted once."""
    return min(records, sizes.total() << scale) if sizes.keys() == {1} else records


def _of_shared(shared: Sizes, tried: Sizes, once: float, filled: float) -> float:
    sizes = np.array(sorted(tried))
    numbers = np.array([tried[int(size)] for size in sizes], float)
    bits = _bits(sizes)
    if sizes[0] == 1:
        bits[0] = -math.log2(max(min(2 ** -bits[0], once / numbers[0]), filled))
    weight = sum(shared[int(size)] * bits[i] for i, size in enumerate(sizes))
    with np.errstate(divide="ignore"):
        missed = np.log2(-np.expm1(-bits * math.log(2)))
    # Per value log2 E[2^(t·bits)], if it is shared with the probability 2^-bits.
    means = np.logaddexp2(missed, np.outer(_EXPONENTS - 1, bits))
    return float(np.max(_EXPONENTS * weight - means @ numbers))


def _bits(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """-log2 of the probability of a number equal to its mean."""
    different, index = np.unique(sizes, return_inverse=True)
    # Without scipy, which takes longer to load than a small release takes.
    factorials = np.array([math.lgamma(size + 1) for size in different.tolist()])[index]
    bits: NDArray[np.float64] = (sizes - sizes * np.log(sizes) + factorials) / math.log(2)
    return bits
