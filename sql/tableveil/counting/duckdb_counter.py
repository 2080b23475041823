"""Counting in the database: the source's classes, their values of sensitive columns, and the population's."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Session
from tableveil.classes import ClassValues, EquivalenceClasses, Marginals, SensitiveColumn
from tableveil.counting.base import BaseHistogram, Histogram
from tableveil.counting.cost import memory_limit
from tableveil.counting.duckdb_details import DuckDBDetails, PopulationCounts, class_values, population_counts
from tableveil.counting.histogram_counter import HistogramCounter
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation

SHARE = 0.25
"""The tables of roll-ups may take this share of the database's memory limit, so that they need not spill.

Arrays may take as much beside it, and numpy takes as much again while it counts. If there are other histograms than
that of the source's combinations, half is for these combinations, and the rest is divided between the others.
"""


class DuckDBCounter:
    """Counts in the database while the session lives: a `ClassCounter` made of `HistogramCounter`s.

    The source's combinations are counted by one of them. The values of a sensitive column are one more attribute, the
    last of the key: the classes of that histogram are, in key order, the entries of `ClassValues`. The population is
    counted by itself, and its classes are found by their keys. Each of these others is made on its first use.
    """

    def __init__(
        self,
        session: Session,
        base: BaseHistogram,
        hand_over_rows: int | None = None,
        bottom: Transformation | None = None,
        memory: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`memory` is in bytes, None for the session's memory limit.

        The other parameters are as for `HistogramCounter`.
        """
        self._session = session
        self._base = base
        self._hand_over_rows = hand_over_rows
        self._bottom = bottom
        self._clock = clock
        budget = int(SHARE * (memory_limit(session) if memory is None else memory))
        others = len(base.by_value) + (base.population is not None)
        self._budget_of_others = budget // 2 // others if others else 0
        self.combinations = self._counting(base.histogram, budget // 2 if others else budget)
        self.others: dict[str, HistogramCounter] = {}
        # Details of classes are requested right after the classes were counted.
        self._last: tuple[Transformation, EquivalenceClasses] | None = None
        self._last_values: dict[int, tuple[Transformation, ClassValues]] = {}
        self._last_population: tuple[Transformation, PopulationCounts] | None = None

    @property
    def name(self) -> str:
        """The counter's name, for the evidence."""
        return "duckdb"

    @property
    def account(self) -> str:
        """How the source's combinations were counted so far, in one sentence."""
        return self.combinations.account

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Per quasi-identifier: its codes, groups and leaves."""
        return self._base.histogram.levels

    @property
    def records(self) -> int:
        """N, withheld records included."""
        return self._base.records

    @property
    def withheld(self) -> int:
        """Records suppressed at every transformation."""
        return self._base.withheld

    @property
    def sensitive(self) -> tuple[SensitiveColumn, ...]:
        """The sensitive columns whose values the classes know."""
        return self._base.columns.counted

    @property
    def population(self) -> int | None:
        """Records of the population, including those in no class; None if the population is not counted."""
        return self._base.population_records

    def marginals(self) -> Marginals:
        """All records but the withheld ones, per code."""
        return self.combinations.marginals()

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation, in the order of their keys."""
        classes = self.combinations.classes(transformation)
        if self._base.by_value or self._base.population is not None:
            classes = replace(classes, details=DuckDBDetails(self, classes))
        self._last = (transformation, classes)
        return classes

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        """Whether it is proven cheaply that so many records are in small classes."""
        return self.combinations.too_many_small(transformation, size, most)

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        """The records in some of the classes at the transformation, by their groups there.

        A roll-up knows finer groups, but then the bounds drawn from them would depend on the roll-up that was used.
        """
        if self._last is None or self._last[0] != transformation:
            self.classes(transformation)
        assert self._last is not None
        _, classes = self._last
        counts = classes.counts[mask]
        marginals = [
            np.bincount(classes.groups(j)[mask], weights=counts, minlength=radix)
            for j, radix in enumerate(classes.layout.radices)
        ]
        return Marginals(transformation, tuple(marginal.astype(np.int64) for marginal in marginals))

    def values_at(self, transformation: Transformation, attribute: int) -> ClassValues:
        """The values of a sensitive column in all classes at the transformation."""
        remembered = self._last_values.get(attribute)
        if remembered is None or remembered[0] != transformation:
            by_value = self._other(self._base.by_value[attribute]).classes((*transformation, 0))
            remembered = (transformation, class_values(by_value))
            self._last_values[attribute] = remembered
        return remembered[1]

    def population_of(self, classes: EquivalenceClasses) -> PopulationCounts:
        """The population's records in all classes at a transformation."""
        if self._last_population is None or self._last_population[0] != classes.at:
            assert self._base.population is not None
            population = self._other(self._base.population).classes(classes.at)
            self._last_population = (classes.at, population_counts(classes, population))
        return self._last_population[1]

    def _other(self, histogram: Histogram) -> HistogramCounter:
        if histogram.name not in self.others:
            self.others[histogram.name] = self._counting(histogram, self._budget_of_others)
        return self.others[histogram.name]

    def _counting(self, histogram: Histogram, budget: int) -> HistogramCounter:
        bottom = self._bottom
        if bottom is not None:
            bottom += (0,) * (len(histogram.levels) - len(bottom))
        return HistogramCounter(self._session, histogram, budget, self._hand_over_rows, bottom, self._clock)
