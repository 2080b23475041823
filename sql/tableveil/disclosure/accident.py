"""How improbable it is that two tables share values, with equal frequencies, by accident."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tableveil.state.sketches import Likeness, Sizes

# "Rule of three": with 95 % confidence there are fewer than three where none was seen.
_UNSEEN = 3

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
