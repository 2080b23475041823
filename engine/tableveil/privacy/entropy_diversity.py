"""Entropy l-diversity: the values of a class are as hard to guess as one of l equally frequent values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, SensitiveColumn
from tableveil.policy import EntropyEstimator, EntropyLDiversity
from tableveil.privacy.column_rule import highest_for, spelled
from tableveil.privacy.diversity import DiversityRule, WithoutNull
from tableveil.privacy.model import Facts

EULER_GAMMA = 0.5772156649015329

Logarithm = Callable[[NDArray[np.int64]], NDArray[np.float64]]

# --- what classes reach ---------------------------------------------------------------------------------------------


def entropy_l(
    values: ClassValues, column: SensitiveColumn, estimator: EntropyEstimator = EntropyEstimator.SHANNON
) -> NDArray[np.float64]:
    """Per class exp(H), the largest l of entropy l-diversity; 0 without any value.

    Grassberger's estimate of H can be above the logarithm of the number of values; the returned l is not.
    """
    counted = WithoutNull(values, column)
    logarithm = natural if estimator is EntropyEstimator.SHANNON else grassberger
    totals = np.maximum(counted.totals, 1)
    entropy = logarithm(totals) - _sums(counted, logarithm) / totals
    reached = np.minimum(np.exp(entropy), counted.varied)
    return np.where(_uniform(counted), counted.varied, reached) if estimator is EntropyEstimator.SHANNON else reached


def natural(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The natural logarithm; 0 for n = 0, where it is only multiplied by 0."""
    result: NDArray[np.float64] = np.log(np.maximum(counts, 1))
    return result


def grassberger(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """G_n, which replaces ln n in the estimate of entropy from counts; G_0 is 0, as it is only multiplied by 0.

    G_n = psi(n) + (-1)^n/2 (psi((n+1)/2) - psi(n/2)) (Grassberger 2003, arXiv physics/0307138). So G_1 = -gamma - ln 2,
    G_2 = G_1 + 2, G_(2k+1) = G_2k and G_(2k+2) = G_2k + 2/(2k+1), which gives G_2k = psi(k + 1/2) + ln 2: for large k
    psi's asymptotic series is used.
    """
    result: NDArray[np.float64] = _TABLE[np.minimum(counts, len(_TABLE) - 1)]
    large = np.flatnonzero(counts >= len(_TABLE))
    half = (counts[large] // 2).astype(np.float64)
    result[large] = np.log(2 * half) + 1 / (24 * half**2) - 7 / (960 * half**4)
    return result


def _table(pairs: int) -> NDArray[np.float64]:
    """G_0 to G_(2 pairs + 1)."""
    sums = np.append(0.0, np.cumsum(2 / np.arange(1, 2 * pairs, 2)))
    table = np.repeat(-EULER_GAMMA - math.log(2) + sums, 2)
    table[0] = 0
    return table


_TABLE = _table(256)


def _sums(counted: WithoutNull, logarithm: Logarithm) -> NDArray[np.float64]:
    return np.add.reduceat(counted.counts * logarithm(counted.counts), counted.starts)


def _uniform(counted: WithoutNull) -> NDArray[np.bool_]:
    """Whether all values of a class are equally frequent: its entropy is the logarithm of their number."""
    uniform: NDArray[np.bool_] = counted.most_frequent * counted.varied == counted.totals
    return uniform


# --- rules ----------------------------------------------------------------------------------------------------------


def entropy_l_diversity_rule(model: EntropyLDiversity, facts: Facts) -> EntropyLDiversityRule:
    """The rule for the model's estimator."""
    if model.estimator is EntropyEstimator.GRASSBERGER:
        return GrassbergerLDiversityRule(model, facts)
    return EntropyLDiversityRule(model, facts)


@dataclass(frozen=True)
class EntropyLDiversityRule(DiversityRule[EntropyLDiversity]):
    """Classes whose entropy is at least ln l may be released (Machanavajjhala et al. 2007).

    Monotone: entropy is concave, so that a class has at least the entropy of one of its parts.
    """

    @property
    def fewest_values(self) -> int:
        """The entropy of m values is at most ln m."""
        return math.ceil(self.model.l)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Exact: more digits decide on classes that floats cannot separate from the threshold."""
        counted = self.counted(classes)
        largest = counted.totals * natural(counted.totals)
        asked = counted.totals * float(self.model.l.ln())
        surplus = largest - asked - _sums(counted, natural)
        uniform = _uniform(counted)
        reached = uniform | (surplus >= 0)
        # Sums of 100,000 terms have a smaller error.
        close = np.abs(surplus) <= 1e-10 * (largest + asked)
        entries = np.diff(counted.starts, append=len(counted.counts))
        for number in np.flatnonzero(close & ~uniform):
            start = counted.starts[number]
            reached[number] = _reaches(counted.counts[start : start + entries[number]], self.model.l)
        return reached & (counted.varied >= self.fewest_values)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest l; 1 promises nothing."""
        reached = entropy_l(self.values(classes), self.column, self.model.estimator)
        highest = highest_for(reached, classes.counts, suppressible)
        number = self.offered("l", highest, -1, classes, suppressible)
        return spelled("l", number) if number is not None and number > 1 else None


@dataclass(frozen=True)
class GrassbergerLDiversityRule(EntropyLDiversityRule):
    """Classes with at least l values whose entropy, as Grassberger 2003 estimates it, is at least ln l may be released.

    H = G_n - sum of f G_f / n, as in ARX; the paper has ln n in front. Floats decide: apart from l = 1 no class is
    exactly at the threshold, as the class's side is a rational number and ln l is not.

    Not monotone: the estimate adds most where counts are 1. Three values once each have an estimate of ln 7.4, twice
    each of ln 2.9. So two classes of the former are 3-diverse, and their union is not.
    """

    monotone = False

    @property
    def fewest_values(self) -> int:
        """The model's l, rounded up."""
        return math.ceil(self.model.l)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes with enough values and enough entropy: all values are summed up, in any order."""
        counted = self.counted(classes)
        most = counted.totals * (grassberger(counted.totals) - float(self.model.l.ln()))
        enough: NDArray[np.bool_] = most >= _sums(counted, grassberger)
        return enough & (counted.varied >= self.fewest_values)


def _reaches(counts: NDArray[np.int64], l: Decimal) -> bool:  # noqa: E741
    """Whether H >= ln l, decided with fifty digits: numbers equal in thirty of them are equal.

    H can be ln l although the counts differ: 4, 1, 1, 1, 1 has the entropy of four equal ones.
    """
    with localcontext(prec=50):
        total = Decimal(int(counts.sum()))
        surplus = total * (total.ln() - l.ln())
        for count in counts[counts > 0].tolist():
            surplus -= count * Decimal(count).ln()
        return surplus >= -total.scaleb(-30)
