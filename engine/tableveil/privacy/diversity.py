"""l-diversity by counting: distinct, probabilistic and recursive (c,l)-diversity.

Spellings of a value are one value: guessing that somebody has `Flu` or `flu ` is one guess.
NULL is no value: shares are of those records of a class that have a value, and a class without any value is not
l-diverse for any l. Where cells are lists, probabilistic l-diversity holds of each element, and an empty list is none.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, SensitiveColumn
from tableveil.policy import DistinctLDiversity, EntropyLDiversity, ProbabilisticLDiversity, RecursiveCLDiversity
from tableveil.privacy.column_rule import ColumnRule, highest_for, lowest_for, spelled
from tableveil.privacy.exact import below, floored

Diversity = TypeVar(
    "Diversity", bound=DistinctLDiversity | ProbabilisticLDiversity | EntropyLDiversity | RecursiveCLDiversity
)

# --- what classes reach ---------------------------------------------------------------------------------------------


class WithoutNull:
    """The records of classes that have a value.

    Where cells are lists, an entry is an element, and a record counts for each of its own.

    Attributes:
        classes: The class of each entry.
        starts: Per class its first entry.
        codes: The value of each entry, by one code for all of its spellings.
        counts: Per entry its records, those of all spellings of its value at the first; 0 for the others and for NULL,
            so that every class keeps an entry.
        varied: Per class, the number of different values.
    """

    def __init__(self, values: ClassValues, column: SensitiveColumn) -> None:
        self._records: NDArray[np.int64] | None = None
        if column.elements is not None:
            nothing, sizes = column.elements.nothing, np.add.reduceat(values.counts, values.starts)
            values = column.elements.spread(values)
            without = np.where(values.values == nothing, values.counts, 0)
            self._records = sizes - np.add.reduceat(without, values.starts)
            column = replace(column, null_code=nothing)
        self.classes = values.classes
        self.starts = values.starts
        self.codes = values.values if column.spellings is None else column.spellings[values.values]
        if column.null_code is None and column.spellings is None:
            self.counts = values.counts
            self.varied = np.diff(self.starts, append=len(self.counts)).astype(np.int64)
        else:
            self.counts = np.where(values.values == column.null_code, 0, values.counts)
            if column.spellings is not None:
                self.counts = _at_first_spelling(values.classes, self.codes, self.counts)
            self.varied = np.add.reduceat((self.counts > 0).astype(np.int64), self.starts)

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """Per class the number of its records with a value."""
        return self._records if self._records is not None else np.add.reduceat(self.counts, self.starts)

    @cached_property
    def most_frequent(self) -> NDArray[np.int64]:
        """Per class, the number of records with its most frequent value; 0 if no record has a value."""
        most_frequent: NDArray[np.int64] = np.maximum.reduceat(self.counts, self.starts)
        return most_frequent

    def without_most_frequent(self, number: int) -> NDArray[np.int64]:
        """Per class, the number of records with none of the `number` most frequent values."""
        if number == 0:
            return self.totals
        if number == 1:
            return self.totals - self.most_frequent
        # One key sorts by class, then by count from the largest; the count is read back from the key.
        span = int(self.counts.max(initial=0)) + 1
        keys = np.sort(self.classes * span + (span - 1 - self.counts))
        descending = span - 1 - keys % span
        rank = np.arange(len(keys)) - self.starts[self.classes]
        return np.add.reduceat(np.where(rank >= number, descending, 0), self.starts)

    def beyond(self, most: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per class, the number of records beyond `most` per value.

        Records may have several elements: those beyond by one may be those beyond by another.
        """
        united = np.add if self._records is None else np.maximum
        beyond: NDArray[np.int64] = united.reduceat(
            np.clip(self.counts - most[self.classes], 0, self.counts), self.starts
        )
        return beyond


def _at_first_spelling(
    classes: NDArray[np.integer[Any]], spellings: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Per entry, the records of all entries of its class and spelling if it is the first of them, else 0."""
    keys = classes.astype(np.int64) * (int(spellings.max(initial=0)) + 1) + spellings
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    united = np.zeros_like(counts)
    np.add.at(united, first[of], counts)
    return united


def distinct(values: ClassValues, column: SensitiveColumn) -> NDArray[np.int64]:
    """Per class, the number of different values (distinct l-diversity, Machanavajjhala et al. 2007)."""
    return WithoutNull(values, column).varied


def probabilistic_l(values: ClassValues, column: SensitiveColumn) -> NDArray[np.float64]:
    """Per class, the largest l of probabilistic l-diversity: 1 / share of the most frequent value; 0 without values.

    Source: Xiao and Tao 2006.
    """
    counted = WithoutNull(values, column)
    reached: NDArray[np.float64] = counted.totals / np.maximum(counted.most_frequent, 1)
    return reached


def recursive_c(values: ClassValues, column: SensitiveColumn, l: int) -> NDArray[np.float64]:  # noqa: E741
    """Per class r_1 / (r_l + ... + r_m); c must be above it; infinite where there are fewer than l values.

    Source: Machanavajjhala et al. 2007.
    """
    counted = WithoutNull(values, column)
    rest = counted.without_most_frequent(l - 1)
    return np.divide(counted.most_frequent, rest, out=np.full(len(rest), np.inf), where=rest > 0)


# --- rules ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DiversityRule(ColumnRule[Diversity]):
    """A rule that implies a number of different values.

    A class with fewer values is lost as a whole: its parts have no more. So many values need at least as many records.
    """

    @property
    @abstractmethod
    def fewest_values(self) -> int:
        """The least number of different values in a releasable class."""

    @property
    def minimum_class_size(self) -> int:
        """One record for each of the values."""
        return self.fewest_values

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """All records of classes with too few values."""
        return np.where(self.counted(classes).varied < self.fewest_values, classes.counts, 0)

    def counted(self, classes: EquivalenceClasses) -> WithoutNull:
        """The records of the classes that have a value."""
        return WithoutNull(self.values(classes), self.column)


@dataclass(frozen=True)
class DistinctLDiversityRule(DiversityRule[DistinctLDiversity]):
    """Classes with at least l different values may be released (Machanavajjhala et al. 2007).

    Monotone: a class has all values of its parts.
    """

    @property
    def fewest_values(self) -> int:
        """The model's l, rounded up."""
        return self.model.l

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes with at least l values."""
        return self.counted(classes).varied >= self.model.l

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest l; 1 promises nothing."""
        reached = distinct(self.values(classes), self.column).astype(np.float64)
        highest = highest_for(reached, classes.counts, suppressible)
        return f"l = {highest:.0f}" if highest is not None and highest >= 2 else None


@dataclass(frozen=True)
class FrequencyRule(DiversityRule[Diversity]):
    """A rule that limits the number of records of a class with one value.

    Two conditions must hold: the released parts of a class together meet the rule, and the limit of a class is no lower
    than the limit of some of its records. Then the records beyond the limit are lost.
    """

    @abstractmethod
    def _most(self, counted: WithoutNull) -> NDArray[np.int64]:
        """Per class, the most records that may have one value; below 1 where none may."""

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes that have values, none of them too frequent."""
        counted = self.counted(classes)
        return (counted.totals > 0) & (counted.most_frequent <= self._most(counted))

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """All records of classes with too few values; in other classes, the records that make a value too frequent."""
        counted = self.counted(classes)
        too_few = counted.varied < self.fewest_values
        return np.where(too_few, classes.counts, counted.beyond(self._most(counted)))


@dataclass(frozen=True)
class ProbabilisticLDiversityRule(FrequencyRule[ProbabilisticLDiversity]):
    """Classes where no value has more than 1/l of the records with a value may be released (Xiao and Tao 2006).

    Where cells are lists, no element has more. Monotone: the most frequent value of a class has at most as many records
    as the parts' most frequent values together. For the same reason the rule holds for the released parts of a class
    together, and they have no more records with a value than the class.
    """

    @property
    def fewest_values(self) -> int:
        """Shares of at most 1/l need at least l values to sum up to 1."""
        return math.ceil(self.model.l)

    def _most(self, counted: WithoutNull) -> NDArray[np.int64]:
        """At most 1/l of the records with a value."""
        return floored(1 / Fraction(self.model.l), (counted.totals,))

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest l; 1 promises nothing."""
        reached = highest_for(probabilistic_l(self.values(classes), self.column), classes.counts, suppressible)
        number = self.offered("l", reached, -1, classes, suppressible)
        return spelled("l", number) if number is not None and number > 1 else None


@dataclass(frozen=True)
class RecursiveCLDiversityRule(FrequencyRule[RecursiveCLDiversity]):
    """Classes with r_1 < c (r_l + ... + r_m), counts in descending order, may be released.

    Source: Machanavajjhala et al. 2007. Monotone: r_1 of a class is at most the sum of the parts' r_1. So is the sum of
    its l - 1 largest counts, so that the rest is at least the sum of the parts' rests. For the same reason the rule
    holds for the released parts of a class together, and their rest is at most that of the class.
    """

    @property
    def fewest_values(self) -> int:
        """At least l + floor(1/c).

        The rest r_l + ... + r_m is more than r_1/c, and none of its values has more than r_1 records. So the rest has
        more than 1/c values, at least floor(1/c) + 1 of them, beside the l - 1 most frequent ones.
        """
        return self.model.l + math.floor(1 / Fraction(self.model.c))

    def _most(self, counted: WithoutNull) -> NDArray[np.int64]:
        """Fewer than c times the rest."""
        # No count is more than N times another: a larger c demands nothing more.
        ratio = min(Fraction(self.model.c), Fraction(self.column.records + 1))
        return below(ratio, (counted.without_most_frequent(self.model.l - 1),))

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the smallest c for this l."""
        reached = lowest_for(recursive_c(self.values(classes), self.column, self.model.l), classes.counts, suppressible)
        return spelled("c", self.offered("c", reached, 1, classes, suppressible))
