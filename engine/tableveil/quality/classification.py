"""Classification: records whose class cannot be predicted from the released values of their features.

Why the bounds hold: of n records with equal features, those without the most frequent class are outvoted; o(G) is
their number in a group G. With m the lesser penalty of a minority and of no majority, a kept group costs at least m
o. Going up, groups are joined, and o of a union is at least the sum of its parts' o. So x costs at least s * (records
suppressed at hi) + the sum of m o(K) + s |G - K| over the groups G at lo, of which x keeps K. The greater of two
bounds of the sum is taken:

- A record less is at most one outvoted less. So it is at least m * (sum of o(G)) - max(m - s, 0) * min(the records
  that may be suppressed beside, sum of o(G)).
- A class C at lo is kept or suppressed as a whole. So it is at least the sum of min(m o(C and G), s |C and G|).

The second knows classes, the first groups that span several of them. All of it is in whole numbers, divided once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, ClassCounter, ClassValues, EquivalenceClasses, LevelMaps, nest
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import weighted_sum
from tableveil.policy import ClassificationModel
from tableveil.quality.model import AssessedTransformation, Score, Table, log_ratio


@dataclass(frozen=True, slots=True, eq=False)
class ClassColumn:
    """A class column: the counter counts its values together with those of features that are released unchanged.

    `position` is its position in the counter's `sensitive`. Per code there, `features` numbers the combination of the
    features' values, ascending, and `classes` the value of the class.
    """

    position: int
    features: NDArray[np.int64]
    classes: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The features that predict classes: `attributes` are positions of quasi-identifiers; `told` has every class."""

    attributes: tuple[int, ...]
    told: tuple[ClassColumn, ...]


class ClassificationQuality:
    """Penalties of all records, as a share of the penalties if each record had the highest; the mean over the classes.

    Kept records with the same features vote for the value of their class. Records without the most frequent value have
    the penalty of a minority; if several values are the most frequent, all records have the penalty of no majority.
    Suppressed and withheld records have a penalty of their own and do not vote. NULL is a class value like others.
    Source: Iyengar 2002, section 3.2; with penalties as in ARX.
    """

    bounds_by_classes = True

    def __init__(
        self, model: ClassificationModel, counter: ClassCounter, features: Features, suppressible: int
    ) -> None:
        self._records = counter.records
        self._suppressible = suppressible
        self._maps = LevelMaps(counter.levels)
        self._told = features.told
        self._tops = {j: attribute.top for j, attribute in enumerate(counter.levels) if j not in features.attributes}
        # Whole numbers: scores that are equal by definition are equal, and rounding lifts no bound above a score.
        penalties = [
            Fraction(repr(float(p)))
            for p in (model.suppressed_penalty, model.minority_penalty, model.no_majority_penalty)
        ]
        unit = math.lcm(*(penalty.denominator for penalty in penalties))
        self._suppressed, self._minority, self._no_majority = (int(penalty * unit) for penalty in penalties)
        highest = max(self._suppressed, self._minority, self._no_majority)
        self._worst = highest * self._records * len(self._told)
        # Python's own integers where 64 bits do not suffice.
        self._number: Any = np.int64 if highest * self._records < 2**62 else object
        self._counter = counter

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The share if exactly the classes of the mask are kept."""
        released = classes.selected(kept)
        return AssessedTransformation((self.share(released, self._groups(released)),))

    def share(self, released: EquivalenceClasses, groups: NDArray[np.intp] | None) -> float:
        """The share if exactly these classes are released, each with the combination of features that `groups` number.

        None: every class has its own combination.
        """
        cost = self._of_suppressed(self._records - int(released.counts.sum()))
        for class_column in self._told:
            votes = _votes(released.values(class_column.position), class_column, groups)
            cost += self._minority * int(votes.outvoted[~votes.tied].sum())
            cost += self._no_majority * int(votes.sizes[votes.tied].sum())
        return self._share(cost)

    def evidence(self, check: Check) -> _Evidence:
        """Bounds by the records that are lost."""
        return _Evidence(self._guide, self._share(self._of_suppressed(check.below)))

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """Records that vote together at lo do so at every transformation above, where no fewer are outvoted."""
        nested = nest(lo.classes, lo.at, hi, self._maps)
        rest = lo.classes.selected((nested.classes.counts >= lo.minimum_size)[nested.parent])
        suppressed = self._records - int(rest.counts.sum())
        groups = self._groups(rest)
        cost = self._of_suppressed(suppressed)
        for class_column in self._told:
            cost += self._least(
                rest.values(class_column.position), class_column, groups, self._suppressible - suppressed
            )
        return (self._share(cost),)

    def reported(self, score: Score) -> float:
        """The share."""
        return score[0]

    def _least(
        self, values: ClassValues, class_column: ClassColumn, groups: NDArray[np.intp] | None, suppressible: int
    ) -> int:
        """The least penalties of the records if at most so many of them, as whole classes, are suppressed."""
        penalty = min(self._minority, self._no_majority)
        votes = _votes(values, class_column, groups)
        outvoted = int(votes.outvoted.sum())
        # Suppressed records are not outvoted.
        least = penalty * outvoted - max(penalty - self._suppressed, 0) * min(suppressible, outvoted)
        alone = votes if groups is None else _votes(values, class_column)
        of_classes = np.minimum(
            penalty * alone.outvoted.astype(self._number), self._suppressed * alone.sizes.astype(self._number)
        )
        return max(least, int(of_classes.sum()))

    def _groups(self, classes: EquivalenceClasses, above: Transformation | None = None) -> NDArray[np.intp] | None:
        """Per class, the number of its combination of features, at its transformation or at one above.

        None: every class has its own combination.
        """
        if above is None and not self._tops:
            return None
        at = tuple(self._tops.get(j, level) for j, level in enumerate(above or classes.at))
        return nest(classes, classes.at, at, self._maps).parent

    def _of_suppressed(self, records: int) -> int:
        return self._suppressed * records * len(self._told)

    def _share(self, cost: int) -> float:
        return cost / self._worst if self._worst else 0.0

    @cached_property
    def _guide(self) -> Table:
        """Per level, the bits about the classes that the attribute loses while all others are half-way up.

        Half-way up most classes are as large as they must be. The bits that the attribute gives by itself, or beside
        all that the others give at level 0, are a worse guide: docs/explanations/search.md has the counts.
        """
        counter = self._counter
        middle = tuple(attribute.top // 2 for attribute in counter.levels)
        guide = [np.zeros(attribute.top + 1) for attribute in counter.levels]
        for j, column in enumerate(guide):
            if j in self._tops:
                continue
            classes = counter.classes((*middle[:j], 0, *middle[j + 1 :]))
            for level in range(len(column)):
                groups = self._groups(classes, (*middle[:j], level, *middle[j + 1 :]))
                column[level] = sum(
                    _bits(classes.values(class_column.position), class_column, groups) for class_column in self._told
                )
        return tuple(guide)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The penalties of the records that are lost."""

    guide: Table
    lost: float

    def bound(self, lo: Transformation) -> Score:
        return (self.lost,)


@dataclass(frozen=True, slots=True, eq=False)
class _Votes:
    """Per combination of features: records, those without the most frequent class, and if several classes are."""

    sizes: NDArray[np.int64]
    outvoted: NDArray[np.int64]
    tied: NDArray[np.bool_]


def _votes(values: ClassValues, class_column: ClassColumn, groups: NDArray[np.intp] | None = None) -> _Votes:
    """The votes of each class, or of all classes of a group together."""
    starts, counts = _ballots(values, class_column, groups)
    if not len(counts):
        nothing = np.zeros(0, np.int64)
        return _Votes(nothing, nothing, nothing.astype(np.bool_))
    sizes = np.add.reduceat(counts, starts)
    most = np.maximum.reduceat(counts, starts)
    lengths = np.diff(starts, append=len(counts))
    tied = np.add.reduceat((counts == np.repeat(most, lengths)).astype(np.int64), starts) > 1
    return _Votes(sizes, sizes - most, tied)


def _bits(values: ClassValues, class_column: ClassColumn, groups: NDArray[np.intp] | None) -> float:
    """Sum over records of log2(those with the same features / those of the same class among them)."""
    starts, counts = _ballots(values, class_column, groups)
    if not len(counts):
        return 0.0
    sizes = np.repeat(np.add.reduceat(counts, starts), np.diff(starts, append=len(counts)))
    return weighted_sum(counts, log_ratio(counts, sizes))


def _ballots(
    values: ClassValues, class_column: ClassColumn, groups: NDArray[np.intp] | None
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Records by group, features and class, in this order; and the begin of each combination of group and features."""
    numbers, codes, counts = values.classes, values.values, values.counts
    if groups is not None:
        keys = groups[numbers].astype(np.int64) * len(class_column.classes) + codes
        keys, entries = np.unique(keys, return_inverse=True)
        counts = np.bincount(entries, counts, len(keys)).astype(np.int64)
        numbers, codes = np.divmod(keys, len(class_column.classes))
    features = class_column.features[codes]
    begins = (np.diff(numbers, prepend=-1) != 0) | (np.diff(features, prepend=-1) != 0)
    return np.flatnonzero(begins), counts
