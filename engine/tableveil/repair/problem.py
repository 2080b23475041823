"""The search for levels of people's and events' columns: what is counted, and what a transformation would lose."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Lattice, Transformation
from tableveil.repair.facts import Ints, RowFacts, supports

Floats = NDArray[np.float64]

LARGEST = 2**62
"""The largest key of a combination."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedCombinations:
    """The distinct combinations of codes in the quasi-identifiers of a table: per column its levels, codes, weight."""

    levels: tuple[AttributeLevels, ...]
    codes: tuple[Ints, ...]
    weights: tuple[float, ...]
    number: int

    @classmethod
    def of(
        cls, levels: Sequence[AttributeLevels], codes: Sequence[Ints], weights: Sequence[float], rows: int
    ) -> tuple[CodedCombinations, Ints]:
        """The combinations of so many rows, by the codes of each column, and the number of each row's one."""
        keys = np.zeros(rows, np.int64)
        for of, own in zip(levels, codes, strict=True):
            number = len(of.groups[0])
            if len(keys) and int(keys.max()) > LARGEST // max(number, 1):
                _, keys = np.unique(keys, return_inverse=True)
            keys = keys * number + own
        numbers, most = supports(keys)
        first = np.full(most, -1, np.int64)
        first[numbers[::-1]] = np.arange(rows)[::-1]
        present = first >= 0
        place = (np.cumsum(present) - 1).astype(np.int32)
        chosen = first[present]
        found = cls(tuple(levels), tuple(own[chosen] for own in codes), tuple(weights), len(chosen))
        return found, place[numbers]

    def labels(self, at: Sequence[int]) -> tuple[Ints, int]:
        """The number of each combination's label at the columns' levels, and how many labels there are."""
        keys = np.zeros(self.number, np.int64)
        most = 1
        for levels, codes, level in zip(self.levels, self.codes, at, strict=True):
            groups = levels.groups[level]
            number = int(groups.max(initial=-1)) + 1
            keys, most = keys * number + groups[codes], most * number
            if most > 1 << 31:
                _, keys = np.unique(keys, return_inverse=True)
                most = int(keys.max(initial=-1)) + 1
        _, labels = np.unique(keys, return_inverse=True)
        return labels.reshape(-1).astype(np.int32), int(labels.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, eq=False)
class EventCombinations:
    """The combinations of an event table's rows, which `lost` rows of so many are not among: they were capped."""

    combinations: CodedCombinations
    rows: int
    lost: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RelatedProblem:
    """The people by the numbers of their combinations, and facts, whose labels are combinations of events.

    Combinations of event tables are numbered one table after the other. `suppressible` people may be suppressed, and
    `removable` rows removed, those of suppressed people and capped ones among them. The lattice has people's columns
    first.
    """

    people: CodedCombinations
    combination_of: Ints
    events: tuple[EventCombinations, ...]
    facts: RowFacts
    lattice: Lattice
    k: int
    m: int
    suppressible: int
    removable: int

    @property
    def rows(self) -> int:
        """The rows of all event tables, capped ones among them."""
        return sum(events.rows for events in self.events)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """The losses that a transformation forces: `suppressed` people, and rows of each event table, with capped ones.

    Per column and level, `bounds` has the loss there if just these were lost: nothing finer loses less.
    """

    at: Transformation
    suppressed: int
    removed: tuple[int, ...]
    bounds: tuple[Floats, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Labelled:
    """The labels of events at their levels, and how many people of each combination have each: `cells` by number."""

    of: Ints
    number: int
    cells: NDArray[np.int64]
    people: NDArray[np.int64]


class Evaluation:
    """Evaluates transformations of a problem, by rows whose label fewer than k people of their class have.

    These rows go at each finer transformation as well, since a finer label of a finer class has fewer people.
    """

    def __init__(self, problem: RelatedProblem) -> None:
        self.problem = problem
        self._labelled: dict[Transformation, _Labelled] = {}
        self._columns = len(problem.people.levels)
        self._firsts = np.cumsum([0, *(events.combinations.number for events in problem.events)])
        self._all = int(self._firsts[-1])
        facts, of = problem.facts, problem.combination_of
        cells, numbers = np.unique(of[facts.people].astype(np.int64) * self._all + facts.labels, return_inverse=True)
        self._cell_people = (cells // max(self._all, 1)).astype(np.int32)
        self._cell_events = (cells % max(self._all, 1)).astype(np.int32)
        self._cell_rows = np.bincount(numbers.reshape(-1), weights=facts.counts, minlength=len(cells))
        self._sizes: Floats = np.bincount(of, minlength=problem.people.number).astype(np.float64)

    def of(self, problem: RelatedProblem) -> Evaluation:
        """These counts for a problem that differs in its limits, k or m only."""
        other = copy(self)
        other.problem = problem
        return other

    @cached_property
    def weights(self) -> Floats:
        """The weight of each column, as a share of all."""
        problem = self.problem
        weights = [*problem.people.weights, *(w for events in problem.events for w in events.combinations.weights)]
        total = sum(weights)
        return np.array([weight / total if total else 0.0 for weight in weights])

    def parts(self, at: Transformation) -> list[tuple[int, ...]]:
        """The levels of the columns of each event table."""
        found, begin = [], self._columns
        for events in self.problem.events:
            end = begin + len(events.combinations.levels)
            found.append(at[begin:end])
            begin = end
        return found

    def labels(self, at: Transformation) -> tuple[Ints, int]:
        """The label of each combination of events, and how many labels there are."""
        labelled, number = [np.zeros(0, np.int32)], 0
        for events, levels in zip(self.problem.events, self.parts(at), strict=True):
            labels, own = events.combinations.labels(levels)
            labelled.append(labels + np.int32(number))
            number += own
        return np.concatenate(labelled), number

    def classes(self, at: Transformation) -> tuple[Ints, int]:
        """The class of each combination of people, -1 if it is suppressed, and how many classes there are."""
        classes, number = self.problem.people.labels(at[: self._columns])
        large = np.bincount(classes, weights=self._sizes, minlength=number) >= self.problem.k
        return np.where(large[classes], classes, -1).astype(np.int32), number

    def evaluate(self, at: Transformation) -> Evaluated:
        """The forced losses of a transformation, and the bounds that follow for finer ones."""
        problem, (classes, _) = self.problem, self.classes(at)
        labelled = self._at(at[self._columns :])
        of_class = classes[labelled.cells // max(labelled.number, 1)]
        label = labelled.cells % max(labelled.number, 1)
        inside = of_class >= 0
        keys = of_class[inside].astype(np.int64) * labelled.number + label[inside]
        numbers, most = supports(keys)
        people = np.bincount(numbers, weights=labelled.people[inside], minlength=most)
        enough = np.zeros(len(labelled.cells), np.bool_)
        enough[inside] = people[numbers] >= problem.k
        wanted = self._cell_people.astype(np.int64) * labelled.number + labelled.of[self._cell_events]
        kept_cells = enough[np.searchsorted(labelled.cells, wanted)] if len(wanted) else np.zeros(0, np.bool_)
        kept_rows = np.where(kept_cells, self._cell_rows, 0.0)
        kept_people: Floats = np.where(classes >= 0, self._sizes, 0.0)
        suppressed = int(self._sizes.sum() - kept_people.sum())
        of_events = np.bincount(self._cell_events, kept_rows, self._all).astype(np.float64)
        removed, bounds = self._lost(kept_people, of_events)
        return Evaluated(at, suppressed, removed, bounds)

    def losses(
        self, at: Transformation, classes: Ints, events: Ints, rows: Floats
    ) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """The loss of each column, and the removed rows of each table, if these rows of events are kept."""
        kept_people: Floats = np.where(classes >= 0, self._sizes, 0.0)
        removed, bounds = self._lost(kept_people, np.bincount(events, rows, self._all).astype(np.float64))
        return tuple(float(of[level]) for of, level in zip(bounds, at, strict=True)), removed

    def _lost(self, people: Floats, rows: Floats) -> tuple[tuple[int, ...], tuple[Floats, ...]]:
        """The rows of each table that are not kept, and per column and level the loss; by kept combinations."""
        problem, removed = self.problem, []
        tables = [(problem.people, people, int(self._sizes.sum()))]
        for events, begin, end in zip(problem.events, self._firsts[:-1], self._firsts[1:], strict=True):
            tables.append((events.combinations, rows[begin:end], events.rows))
            removed.append(events.rows - round(rows[begin:end].sum()))
        bounds = tuple(
            _losses(levels, codes, kept, records)
            for of, kept, records in tables
            for levels, codes in zip(of.levels, of.codes, strict=True)
        )
        return tuple(removed), bounds

    def bound(self, evaluated: Evaluated, lo: Transformation) -> float:
        """No transformation from `lo` to the one that was evaluated has a lower score."""
        losses = [of[level] for of, level in zip(evaluated.bounds, lo, strict=True)]
        return float(np.dot(self.weights, losses)) if losses else 0.0

    def _at(self, levels: Transformation) -> _Labelled:
        if levels not in self._labelled:
            problem = self.problem
            labels, number = self.labels((*problem.lattice.bottom[: self._columns], *levels))
            facts = problem.facts
            keys = np.sort(facts.people.astype(np.int64) * max(number, 1) + labels[facts.labels])
            keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
            combination = problem.combination_of[keys // max(number, 1)].astype(np.int64)
            cells, people = np.unique(combination * number + keys % max(number, 1), return_counts=True)
            self._labelled[levels] = _Labelled(labels, number, cells, people)
        return self._labelled[levels]


def _losses(levels: AttributeLevels, codes: Ints, kept: Floats, records: int) -> Floats:
    """Per level, the loss of a column if the kept records have these codes; all others are lost."""
    if not records:
        return np.zeros(levels.top + 1)
    by_code = np.bincount(codes, weights=kept, minlength=len(levels.groups[0]))
    lost = records - by_code.sum()
    return np.array(
        [
            (np.dot(by_code, levels.shares(level)[levels.groups[level]]) + lost) / records
            for level in range(levels.top + 1)
        ]
    )
