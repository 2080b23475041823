"""Kullback-Leibler divergence of the records from the distribution expected from the release.

Why the bounds hold: the cross entropy is compared. A record of a kept class costs log2(N V / size) bits with V the
product of leaves, one of S suppressed records log2(N product of |H| / S). By the log-sum inequality, sum of n_i
log2(N V_i / n_i) <= n log2(N V / n) where the n_i sum up to n and the V_i to at most V. So merging disjoint boxes
costs no less than they cost apart, and suppression is merging into the whole domain. The greater of two bounds is
taken:

- everyone: all records cost at least what their classes at lo would, suppressed ones too;
- others: the records that are suppressed at hi cost their pool, the others their classes at lo. If some of these are
  suppressed as well, their volumes leave the rest of the domain to the pool: that takes off at most -S log2(1 - their
  share).

From hi alone, sizes at hi stand in for those at lo: they are larger, so that they cost less. At most as many classes
join the pool as more records may be suppressed, each with at most the largest volume at lo. Where more values occur
under a label than it has leaves, the V_i may sum up to more than V: `crowding` is taken off. Neither the suppressed
records nor their pool alone is inherited: a record that joins a large pool makes all others in it cheaper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, ClassCounter, EquivalenceClasses, LevelMaps, Marginals
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import SLACK, rounded, weighted_sum
from tableveil.policy import KLDivergenceModel
from tableveil.quality.class_size import Subclasses
from tableveil.quality.kl_per_record import Expectation
from tableveil.quality.model import AssessedTransformation, Score, Table, log_ratio


def crowding(levels: Sequence[AttributeLevels], marginals: Marginals) -> float:
    """log2 of the largest ratio between the leaves of classes inside a class, together, and its own; at least 0.

    It is 0 where the leaves of a group are at least those of the groups in it. It is not 0 where more values occur than
    a rule declares: timestamps count as one leaf a day, and a text may have characters beyond its alphabet. `marginals`
    holds all records that are not withheld, per code: the others are in no class.
    """
    maps = LevelMaps(levels)
    return math.fsum(
        math.log2(max([1.0, *_times(attribute, j, counts, maps)]))
        for j, (attribute, counts) in enumerate(zip(levels, marginals.counts, strict=True))
    )


def _times(attribute: AttributeLevels, j: int, counts: NDArray[np.int64], maps: LevelMaps) -> Iterator[float]:
    """Per pair of levels, the ratio between the leaves of the groups in a group and its own."""
    for high in range(1, attribute.top + 1):
        for low in range(high):
            occurs = np.bincount(attribute.groups[low], counts, maps.size(j, low)) > 0
            inside = np.bincount(maps.between(j, low, high)[occurs], attribute.leaves[low][occurs], maps.size(j, high))
            yield float((inside / np.maximum(attribute.leaves[high], 1.0)).max(initial=0.0))


ROOM = 1e-9
"""A share of the domain that is left out, so that rounding errors of the rest do not matter."""


class KLDivergence:
    """Sum over combinations t of p(t) * log2(p(t)/q(t)): p is the share of the records with t, q the expected share.

    The expectation from a release is that a class's records are spread evenly over all combinations its labels stand
    for, and the suppressed ones over the whole domain: q(t) = (size/N) / product_j leaves_j, or (S/N) / product_j
    |H_j|. Each withheld record counts as suppressed, and as a combination of its own.
    Source: Kifer and Gehrke 2006, section 3; with suppression as in ARX, whose weights differ (`KLPerRecord`).

    Scores compare the cross entropy in bits per record, -(sum of p * log2(q)); the divergence differs from it by the
    entropy of the input.
    """

    bounds_by_classes = True

    def __init__(self, model: KLDivergenceModel, counter: ClassCounter, suppressible: int) -> None:
        """At most `suppressible` records may be suppressed, withheld ones included.

        Counts all combinations once, which takes memory in proportion to them.

        Raises:
            UncountableError: a domain is continuous.
        """
        self._monotone = model.monotone
        self._withheld = counter.withheld
        self._suppressible = suppressible
        marginals = counter.marginals()
        self._nobody = Marginals(marginals.at, tuple(np.zeros_like(counts) for counts in marginals.counts))
        self._expectation = Expectation(counter.levels, counter.records, marginals)
        self._records = self._expectation.records
        self._maps = LevelMaps(counter.levels)
        self._crowding = crowding(counter.levels, marginals)
        combinations = counter.classes((0,) * len(counter.levels)).counts
        input_bits = weighted_sum(combinations, log_ratio(combinations, self._records))
        self._entropy = rounded((input_bits + self._withheld * math.log2(self._records)) / self._records)

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The cross entropy if exactly the classes of the mask are kept."""
        kept = np.ones_like(kept) if self._monotone else kept
        counts = classes.counts
        suppressed = int(counts[~kept].sum()) + self._withheld
        bits = weighted_sum(counts[kept], self._expectation.if_kept(at, classes)[kept]) + self._pool(suppressed)
        return AssessedTransformation((rounded(bits / self._records),))

    def evidence(self, check: Check) -> _Evidence:
        """Bounds by the leaves at lo, and the class sizes at hi in place of those at lo."""
        small = self._unless_monotone(check.small)
        counts = check.classes.counts
        bits = counts * log_ratio(counts, self._records)
        suppressed = int(counts[small].sum()) + self._withheld
        volumes = self._expectation.volumes
        return _Evidence(
            self._expectation,
            everyone=float(bits.sum()) + self._with_withheld(int(counts.sum())),
            volumes_of_everyone=volumes.of_all,
            others=float(bits[~small].sum()) + self._pool(suppressed),
            volumes_of_others=volumes.of_others_at_least(self._nobody if self._monotone else check.marginals),
            suppressed=suppressed,
            more=0 if self._monotone else max(self._suppressible - suppressed, 0),
        )

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """Merging classes, or suppressing them together, makes their records cost no less than they cost at lo."""
        counts = lo.classes.counts
        bits = counts * self._expectation.if_kept(lo.at, lo.classes)
        gone = self._unless_monotone(Subclasses.of(lo, hi, self._maps).suppressed)
        suppressed = int(counts[gone].sum()) + self._withheld
        others = float(bits[~gone].sum()) - self._crowding * int(counts[~gone].sum()) + self._pool(suppressed)
        if not self._monotone:
            shares = np.exp2(self._expectation.volumes_of(lo.at, lo.classes)[~gone] - self._expectation.domain)
            others -= _displaced(suppressed, float(shares.sum()))
        everyone = float(bits.sum()) + self._with_withheld(int(counts.sum()))
        return _least(max(everyone, others), self._expectation)

    def reported(self, score: Score) -> float:
        """The divergence in bits per record; below 0 only if more combinations occur than the hierarchies declare."""
        return rounded(score[0] - self._entropy)

    def _unless_monotone(self, suppressed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.zeros_like(suppressed) if self._monotone else suppressed

    def _pool(self, suppressed: int) -> float:
        """The cost of all suppressed records together."""
        return suppressed * self._expectation.if_suppressed(suppressed) if suppressed else 0.0

    def _with_withheld(self, counted: int) -> float:
        """The least extra cost of a pool with the withheld records over one without; less for crowded domains.

        The pool's derivative by the number of records is at least log2(product_j |H_j|) - log2(e).
        """
        return self._withheld * (self._expectation.domain - math.log2(math.e)) - self._crowding * counted


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Two bounds: with no record known to be suppressed, or with those suppressed at hi, and `more` others at most."""

    expectation: Expectation
    everyone: float
    volumes_of_everyone: Table
    others: float
    volumes_of_others: Table
    suppressed: int
    more: int

    @property
    def guide(self) -> Table:
        return self.volumes_of_others

    def bound(self, lo: Transformation) -> Score:
        everyone = self.everyone + math.fsum(map(_at, self.volumes_of_everyone, lo))
        others = self.others + math.fsum(map(_at, self.volumes_of_others, lo))
        # At most so many classes of lo contain more records.
        share = self.more * 2.0 ** (self.expectation.largest_volume(lo) - self.expectation.domain)
        return _least(max(everyone, others - _displaced(self.suppressed, share)), self.expectation)


def _displaced(suppressed: int, share: float) -> float:
    """The most that suppressed records save if classes with this share of the domain are suppressed, too.

    By the log-sum inequality, the pool of both costs no less than these classes by themselves and the others in the
    rest of the domain.
    """
    left = 1.0 - share - ROOM
    if suppressed == 0:
        return 0.0
    return -suppressed * math.log2(left) if left > 0 else math.inf


def _least(bits: float, expectation: Expectation) -> Score:
    """The score of at least so many bits for all records together, rounded down to cover the errors of sums."""
    slack = SLACK * (expectation.domain + math.log2(expectation.records))
    return (max(0.0, bits / expectation.records - slack),)


def _at(column: NDArray[np.float64], level: int) -> float:
    return float(column[level])
