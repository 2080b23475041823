"""SafePub (Bild, Kuhn and Prasser, PoPETs 2018(1):67-87): a sample of the records, without classes of fewer than k."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from tableveil.differential_privacy import Drops, Gains
from tableveil.differential_privacy.gains import EXPECTED_BITS, VALUE_BITS
from tableveil.lattice import Lattice, Transformation

MOST_K = 10_000


@dataclass(frozen=True)
class AtLeast(Drops):
    """Keeps classes of k records as they are, and nothing of others."""

    k: int = 1

    def kept(self, records: int, bits: int) -> int:
        """All or none."""
        return records << bits if records >= self.k else 0


def at_least(k: int) -> AtLeast:
    """The rule of k-anonymity."""
    return AtLeast((1,), k)


def sampling(epsilon: float, delta: float) -> tuple[float, int]:
    """The share of the records that are sampled, and the least k (theorem 2 there, after Li, Qardaji and Su 2012)."""
    share = 1 - math.exp(-epsilon)
    part = (math.exp(epsilon) - 1 + share) / math.exp(epsilon)
    for k in range(2, MOST_K):
        sizes = np.arange(math.ceil(k / part - 1), math.ceil(k / part - 1) + 2_000)
        if float(binom.sf(np.floor(part * sizes), sizes, share).max()) <= delta:
            return share, k
    raise ValueError(f"no k up to {MOST_K:,} keeps delta {delta}")


def walk(
    gains: Gains, lattice: Lattice, k: int, epsilon: float, steps: int, uniform: Callable[[], float]
) -> tuple[Transformation, Transformation]:
    """The last pivot of a walk down from the top, and the best one that it visited.

    Each step draws the next pivot among the unvisited neighbours of all earlier ones by the exponential mechanism with
    its part of epsilon. A record changes the gain of a sample by at most k.
    """
    pivot = best = lattice.top
    visited, waiting = {pivot}, set[Transformation]()
    for _ in range(steps):
        falling = (axis for axis in lattice.axes if pivot[axis[0]] > lattice.bottom[axis[0]])
        waiting |= {lattice.moved(pivot, axis, pivot[axis[0]] - 1) for axis in falling} - visited
        if not waiting:
            break
        candidates = sorted(waiting)
        scores = np.array([gains.check(x).gain / (1 << (VALUE_BITS + EXPECTED_BITS)) for x in candidates])
        weights = np.exp(epsilon / steps * (scores - scores.max()) / (2 * k))
        pivot = candidates[int(np.searchsorted(np.cumsum(weights), uniform() * weights.sum()))]
        waiting.remove(pivot)
        visited.add(pivot)
        best = max(best, pivot, key=lambda x: gains.check(x).gain)
    return pivot, best
