"""Kullback-Leibler divergence as ARX computes it, with a weight for every record; offered for comparisons with ARX.

Why the bound holds: a combination of c records weighs c^2, so the log-sum inequality does not apply, and classes may
gain by merging. But the share of a kept record is at most (size at hi / N) / V at lo, and of a suppressed one (L / N)
/ product of |H|, with L the most that may be suppressed. Other records than those suppressed at hi may be suppressed,
too: they weigh no more than the heaviest that there are, and save no more than the dearest at lo would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, ClassCounter, EquivalenceClasses, LevelMaps, Marginals, NestedClasses, nest
from tableveil.hierarchy import AttributeLevels
from tableveil.hierarchy.labelling import log_combinations, log_leaves, require_discrete
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import SLACK, rounded, weighted_sum
from tableveil.policy import KLDivergenceModel
from tableveil.quality.model import AssessedTransformation, Score, Table, log_ratio
from tableveil.quality.separable import RecordCosts


class Expectation:
    """-log2(q) of records: q = (size/N) / product_j leaves_j in a kept class, (S/N) / product_j |H_j| if suppressed."""

    def __init__(self, levels: Sequence[AttributeLevels], records: int, marginals: Marginals) -> None:
        """`marginals` holds the weights of all records that are not withheld, per code.

        Raises:
            UncountableError: a domain is continuous.
        """
        require_discrete(levels)
        self.records = max(records, 1)
        self.volumes = RecordCosts(levels, marginals, log_leaves)
        self.domain = log_combinations(levels)
        self._largest = tuple(
            [float(self.volumes.at(j, level).max(initial=0.0)) for level in range(attribute.top + 1)]
            for j, attribute in enumerate(levels)
        )

    def volumes_of(self, at: Transformation, classes: EquivalenceClasses) -> NDArray[np.float64]:
        """Per class, log2 of the product of its leaves."""
        volumes = np.zeros(len(classes.counts))
        for j, level in enumerate(at):
            volumes += self.volumes.at(j, level)[classes.groups(j)]
        return volumes

    def if_kept(self, at: Transformation, classes: EquivalenceClasses) -> NDArray[np.float64]:
        """Per class, -log2(q) of its records if it is kept."""
        return log_ratio(classes.counts, self.records) + self.volumes_of(at, classes)

    def if_suppressed(self, records: int) -> float:
        """-log2(q) of each record if so many records are suppressed, at least one."""
        return float(log_ratio(records, self.records)) + self.domain

    def largest_volume(self, at: Transformation) -> float:
        """The largest volume that a class could have at a transformation."""
        return math.fsum(row[level] for row, level in zip(self._largest, at, strict=True))


class KLPerRecord:
    """Sum over records r of p(r) * log2(p(r)/q(r)), with p and q of the record's combination as in `KLDivergence`.

    So a combination of c records weighs c times as much as in `KLDivergence`. When classes merge, records of heavy
    combinations may gain more than the others lose: the score at lo bounds nothing, but q is bounded, see the evidence.
    Source: ARX, MetricSDNMKLDivergence, whose distribution of the input is indexed by record.
    """

    bounds_by_classes = False

    def __init__(self, model: KLDivergenceModel, counter: ClassCounter, suppressible: int) -> None:
        """At most `suppressible` records may be suppressed, withheld ones included.

        Keeps all combinations, which takes memory in proportion to them, and goes through them at each check.

        Raises:
            UncountableError: a domain is continuous.
        """
        self._monotone = model.monotone
        self._withheld = counter.withheld
        self._most = counter.withheld if model.monotone else suppressible
        self._maps = LevelMaps(counter.levels)
        self._bottom = (0,) * len(counter.levels)
        self._combinations = counter.classes(self._bottom)
        self._groups = tuple(self._combinations.groups(j) for j in range(len(counter.levels)))
        counts = self._combinations.counts.astype(np.float64)
        # A withheld record is a combination of its own and weighs 1.
        self._weights = counts * counts
        self._expectation = Expectation(
            counter.levels, counter.records, self._marginals(np.ones(len(counts), np.bool_))
        )
        self._records = self._expectation.records
        input_bits = weighted_sum(self._weights, log_ratio(counts, self._records))
        self._input = rounded((input_bits + self._withheld * math.log2(self._records)) / self._records)
        heaviest = np.sort(counts)[::-1]
        self._heaviest = np.append(0.0, np.cumsum(heaviest)), np.append(0.0, np.cumsum(heaviest * heaviest))

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The part of the divergence that depends on q, if exactly the classes of the mask are kept."""
        kept = np.ones_like(kept) if self._monotone else kept
        weights = self._weights_of(classes, nest(self._combinations, self._bottom, at, self._maps))
        suppressed = int(classes.counts[~kept].sum()) + self._withheld
        bits = weighted_sum(weights[kept], self._expectation.if_kept(at, classes)[kept])
        if suppressed:
            weight = float(weights[~kept].sum()) + self._withheld
            bits += weight * self._expectation.if_suppressed(suppressed)
        return AssessedTransformation((rounded(bits / self._records),))

    def evidence(self, check: Check) -> _Evidence:
        """Bounds by the leaves at lo, the class sizes at hi, and the q of as many suppressed records as allowed."""
        nested = nest(self._combinations, self._bottom, check.at, self._maps)
        weights = self._weights_of(nested.classes, nested)
        sizes = nested.classes.counts
        small = np.zeros(len(sizes), np.bool_) if self._monotone else sizes < check.minimum_size
        gone = float(weights[small].sum()) + self._withheld
        instead = self._expectation.if_suppressed(self._most) if self._most else math.inf
        rarities = log_ratio(sizes[~small], self._records)
        more = self._most - int(sizes[small].sum()) - self._withheld
        return _Evidence(
            self._expectation,
            volumes=self._expectation.volumes.of_others_at_least(self._marginals(small[nested.parent])),
            sizes=weighted_sum(weights[~small], rarities) + (gone * instead if gone else 0.0),
            rarest=float(rarities.max(initial=0.0)),
            more=float(np.interp(max(more, 0), *self._heaviest)),
            instead=instead,
        )

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """Offers no bound."""
        raise NotImplementedError

    def reported(self, score: Score) -> float:
        """The sum in bits, which can be below 0."""
        return rounded(score[0] - self._input)

    def _marginals(self, rows: NDArray[np.bool_]) -> Marginals:
        """The weights of the combinations in the mask, per code."""
        return Marginals(
            self._bottom,
            tuple(
                np.bincount(groups[rows], self._weights[rows], self._maps.size(j, 0))
                for j, groups in enumerate(self._groups)
            ),
        )

    def _weights_of(self, classes: EquivalenceClasses, nested: NestedClasses) -> NDArray[np.float64]:
        """Per class, the weights of its combinations; `nested` has the same classes, perhaps in another order."""
        weights = np.empty(len(classes.counts))
        weights[np.lexsort(classes.words)] = np.bincount(nested.parent, self._weights)[np.lexsort(nested.classes.words)]
        return weights


class _Evidence:
    """A record's class is largest at hi and its leaves are fewest at lo, which bounds q from above.

    `volumes` are the sums of log2(leaves) over the records that are kept at hi; `sizes` is the sum of log2(N/size) over
    them, plus the cost of the others. Records with the weight `more` may be suppressed beyond these, and cost at least
    `instead`; `rarest` is the largest log2(N/size).
    """

    def __init__(
        self, expectation: Expectation, volumes: Table, sizes: float, rarest: float, more: float, instead: float
    ) -> None:
        self.guide = volumes
        self._rows = [column.tolist() for column in volumes]
        self._expectation = expectation
        self._sizes = sizes
        self._rarest = rarest
        self._more = more
        self._instead = instead

    def bound(self, lo: Transformation) -> Score:
        """The sum over records, less the savings if the most expensive records that may be suppressed are."""
        bits = (self._sizes + math.fsum(row[level] for row, level in zip(self._rows, lo, strict=True))) * (1.0 - SLACK)
        if self._more > 0:
            bits -= self._more * max(0.0, self._rarest + self._expectation.largest_volume(lo) - self._instead)
        return (max(0.0, bits) / self._expectation.records,)
