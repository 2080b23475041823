"""The request of local recoding, and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses, SensitiveColumn, SensitiveRows
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation
from tableveil.privacy import ReleaseRule

SUPPRESSED = -1
"""The class of combinations that are not released."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelCosts:
    """The cost of labels: a score is `constant` plus, per record, the costs of its labels or that of suppression.

    Attributes:
        labels: Per quasi-identifier, per level, per group: the score's increase by a record with this label. A more
            general label costs no less than the labels in it.
        suppressed: The score's increase by a suppressed record.
        constant: The cost of every recoding.
        surrogate: The model that is minimized in place of the policy's own, if that is no sum over records.
    """

    labels: tuple[tuple[NDArray[np.float64], ...], ...]
    suppressed: float
    constant: float = 0.0
    surrogate: str | None = None

    def unit(self, records: int) -> float:
        """The most that so many records could cost: in this unit, weights are neither too large nor too small."""
        most = sum(max(float(costs.max(initial=0.0)) for costs in levels) for levels in self.labels)
        return max(most, self.suppressed) * records or 1.0

    def times(self, factor: float) -> LabelCosts:
        """These costs in another unit."""
        labels = tuple(tuple(costs * factor for costs in levels) for levels in self.labels)
        return LabelCosts(labels, self.suppressed * factor, self.constant * factor, self.surrogate)


@dataclass(frozen=True, slots=True, eq=False)
class LocalProblem:
    """Partition the combinations into classes that `privacy` releases, with the least cost.

    Attributes:
        levels: The hierarchies, one per quasi-identifier.
        codes: Shape (combinations, quasi-identifiers): distinct combinations of codes.
        counts: Records per combination; 0 if only the population has it.
        costs: The costs to minimize.
        lowest: The least level that labels may have, per quasi-identifier.
        highest: The highest one.
        privacy: A rule that judges class by class.
        suppressible: How many of these records may be suppressed.
        sensitive: The columns that the rule looks at, in the order of the counter it was made for.
        population: The population's records per combination.
        most_levels: At how many different levels a quasi-identifier may be released, by position; 1 holds it at one
            level for all records.
        held_at: These levels of such quasi-identifiers, by position, if they are given.
        may_show_others: If suppressed records are shown without labels: whether all but the records of these classes
            may be.
    """

    levels: tuple[AttributeLevels, ...]
    codes: NDArray[np.integer[Any]]
    counts: NDArray[np.int64]
    costs: LabelCosts
    lowest: Transformation
    highest: Transformation
    privacy: ReleaseRule
    suppressible: int = 0
    sensitive: tuple[tuple[SensitiveColumn, SensitiveRows], ...] = ()
    population: NDArray[np.int64] | None = None
    most_levels: Mapping[int, int] = field(default_factory=dict)
    held_at: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    may_show_others: Callable[[EquivalenceClasses], bool] | None = None


@dataclass(frozen=True, slots=True)
class LocalProgress:
    """How far the work is: what is done now, and the best score so far, if there is one."""

    phase: str
    best_score: float | None
    lower_bound: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LocalPartition:
    """A valid partition.

    Attributes:
        classes: Per combination the number of its class, or `SUPPRESSED`.
        levels: Shape (classes, quasi-identifiers): the level of each. No two classes have the same labels.
        score: The cost of the partition.
        lower_bound: No local recoding costs less; None if no bound is known.
        complete: Whether the work ended by itself, not by the deadline.
        account: The steps of the work, in one sentence without a full stop.
        gaining: Whether the deadline ended the work while the last tenth of its time still improved it.
    """

    classes: NDArray[np.int64]
    levels: NDArray[np.int64]
    score: float
    lower_bound: float | None
    complete: bool
    account: str
    gaining: bool = False

    @property
    def gap(self) -> float | None:
        """How much less an unknown recoding could cost."""
        return None if self.lower_bound is None else max(0.0, self.score - self.lower_bound)
