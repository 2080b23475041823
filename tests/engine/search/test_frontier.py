"""The frontier's result for every pair equals a search of its own; it counts less, and names what it has not proven."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.classes import NumpyCounter
from tableveil.control import Control, Progress, Stopped
from tableveil.errors import CancelledError
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice
from tableveil.policy import LossModel, PrecisionModel
from tableveil.policy import QualityModel as Named
from tableveil.privacy import Conjunction
from tableveil.quality import quality_of
from tableveil.search import Problem, exact
from tableveil.search.frontier import FrontierOutcome, FrontierPoint, FrontierProblem, frontier
from tests.engine.quality.models import EVERY_MODEL
from tests.engine.rules import k_anonymity
from tests.engine.search.problems import EvenSizes, Watched, key_at, optimum, problems
from tests.once import once


@dataclass(frozen=True)
class Grid:
    """A problem whose k and suppressible number of records take all of these values."""

    problem: Problem
    ks: tuple[int, ...]
    suppressible: tuple[int, ...]
    even: bool = False

    def privacy(self, k: int) -> Conjunction:
        return Conjunction((*k_anonymity(k).rules, *((EvenSizes(),) if self.even else ())))

    def cells(self, outcome: FrontierOutcome) -> Iterator[tuple[Problem, FrontierPoint]]:
        """Each pair as a problem of its own, with what the frontier says of it."""
        for k, row in zip(self.ks, outcome.points, strict=True):
            for suppressible, point in zip(self.suppressible, row, strict=True):
                yield replace(self.problem, privacy=self.privacy(k), suppressible=suppressible), point

    def search(
        self,
        control: Control | None = None,
        time_limit: float | None = None,
        report: Callable[[Progress], None] = lambda progress: None,
    ) -> FrontierOutcome:
        problem = self.problem
        rules = tuple(map(self.privacy, self.ks))
        asked = FrontierProblem(problem.lattice, problem.counter, problem.quality, rules, self.suppressible)
        return frontier(asked, control or Control(), time_limit, report)

    def watched(self, before: Callable[[int], None] = lambda asked: None) -> tuple[Grid, Watched]:
        counter = Watched(self.problem.counter, before)
        return replace(self, problem=replace(self.problem, counter=counter)), counter


@st.composite
def grids(draw: st.DrawFn, models: st.SearchStrategy[Named] = EVERY_MODEL, even: bool = False) -> Grid:
    """The problem's own number of suppressible records, which its quality model is made for, is the largest."""
    problem = draw(problems(models))
    ks = draw(st.lists(st.integers(2, 7), min_size=1, max_size=4, unique=True))
    less = draw(st.lists(st.integers(0, problem.suppressible), max_size=3))
    return Grid(problem, tuple(ks), (*sorted(less), problem.suppressible), even)


def check(grid: Grid, outcome: FrontierOutcome) -> None:
    """Complete points equal the result of looking at every transformation; all other points make true statements."""
    for cell, point in grid.cells(outcome):
        truth = optimum(cell)
        if point.best is not None:
            assert truth is not None
            assert point.best.key == key_at(cell, point.best.transformation)
            assert point.best.score == cell.quality.reported(point.best.key[0])
            assert point.lower_bound <= cell.quality.reported(truth[0]) + 1e-12
        if point.complete:
            assert (point.best.key if point.best else None) == truth
            assert point.lower_bound == (point.best.score if point.best else math.inf)
    assert outcome.lattice_size == grid.problem.lattice.size
    assert outcome.checked <= outcome.lattice_size


@settings(max_examples=40)
@given(grids())
def test_equals_exhaustive_search_of_every_pair(grid: Grid) -> None:
    outcome = grid.search()
    assert outcome.complete
    check(grid, outcome)


@given(grids(even=True))
def test_equals_exhaustive_search_for_failures_that_are_not_inherited(grid: Grid) -> None:
    outcome = grid.search()
    assert outcome.complete
    check(grid, outcome)


@given(grids())
def test_scores_fall_with_the_limit(grid: Grid) -> None:
    for row in grid.search().points:
        scores = [point.best.score if point.best else math.inf for point in row]
        assert scores == sorted(scores, reverse=True)


@given(grids(models=st.just(LossModel())))
def test_loss_rises_with_k(grid: Grid) -> None:
    for column in zip(*replace(grid, ks=tuple(sorted(grid.ks))).search().points, strict=True):
        scores = [point.best.score if point.best else math.inf for point in column]
        assert scores == sorted(scores)


@given(grids())
def test_is_deterministic(grid: Grid) -> None:
    first, second = grid.search(), grid.search()
    assert (first.points, first.checked) == (second.points, second.checked)


# --- tables of some size --------------------------------------------------------------------------------------------


def large(seed: int, model: Named | None = None) -> Grid:
    """300 records of four attributes with 16 values, whose groups halve in number from level to level."""
    random = Random(seed)
    rows = tuple((*(f"{level}-{value >> level}" for level in range(4)), "*") for value in range(16))
    values = [row[0] for row in rows]
    levels = [attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, values, values), False)] * 4
    records = [[min(15, int(random.expovariate(0.1 + 0.1 * j))) for j in range(4)] for _ in range(300)]
    combinations, counts = np.unique(np.array(records, np.int32), axis=0, return_counts=True)
    counter = NumpyCounter(levels, [combinations[:, j].copy() for j in range(4)], counts.astype(np.int64))
    quality = quality_of(model or LossModel(), counter, [1.0] * 4, 60)
    lattice = Lattice((0,) * 4, (4,) * 4)
    return Grid(Problem(lattice, counter, Conjunction(()), quality, 60), (2, 3, 5, 8, 13), (0, 6, 30, 60))


@pytest.mark.parametrize("seed", once(range(3)))
def test_finds_what_searches_of_their_own_find_and_counts_less(seed: int) -> None:
    grid, counter = large(seed).watched()
    outcome = grid.search()
    assert outcome.complete
    # Nothing is counted twice.
    assert len(counter.counted) == len(set(counter.counted)) == outcome.checked
    alone = 0
    for cell, point in grid.cells(outcome):
        found = exact(cell, Control())
        assert (point.best and point.best.key) == (found.best and found.best.key)
        alone += found.checked
    assert outcome.checked < alone / 3


def test_one_pair_is_checked_no_more_than_by_its_own_search() -> None:
    grid = replace(large(1), ks=(5,), suppressible=(60,))
    outcome = grid.search()
    ((cell, point),) = grid.cells(outcome)
    alone = exact(cell, Control())
    assert point.best == alone.best
    assert outcome.checked <= alone.checked


@pytest.mark.parametrize("model", once([LossModel(), PrecisionModel(factor=0.2)]))
def test_little_memory_costs_checks_and_no_optimum(monkeypatch: pytest.MonkeyPatch, model: Named) -> None:
    grid = large(2, model)
    ample = grid.search()
    # The package has a function of the same name.
    monkeypatch.setattr(importlib.import_module("tableveil.search.frontier"), "MEMORY", 10_000)
    tight = grid.search()
    assert tight.complete
    assert tight.points == ample.points
    assert tight.checked != ample.checked


# --- stopping -------------------------------------------------------------------------------------------------------


@given(grid=grids(), time_limit=st.integers(0, 30))
def test_time_limit_leaves_true_bounds(grid: Grid, time_limit: int) -> None:
    grid, counter = grid.watched()
    control = Control(counter.clock)
    outcome = grid.search(control, time_limit)
    assert outcome.complete or counter.clock() >= time_limit
    # The deadline was the search's own.
    assert not control.must_stop
    check(grid, outcome)


def test_no_time_at_all_still_checks_the_most_general_transformation() -> None:
    grid, counter = large(3).watched()
    outcome = grid.search(Control(counter.clock), time_limit=0)
    assert outcome.checked == 1
    for cell, point in grid.cells(outcome):
        assert not point.complete
        assert point.best is not None
        assert point.best.transformation == cell.lattice.top
        assert point.lower_bound < point.best.score


def test_more_time_proves_more() -> None:
    def gap(seconds: int) -> float:
        grid, counter = large(4).watched()
        points = [point for row in grid.search(Control(counter.clock), seconds).points for point in row]
        return sum(point.best.score - point.lower_bound for point in points if point.best)

    gaps = [gap(seconds) for seconds in (0, 100, 400, 10_000)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > gaps[2] > gaps[3] == 0


@given(grid=grids(), question=st.integers(0, 25))
def test_survives_an_interrupt_in_the_middle_of_counting(grid: Grid, question: int) -> None:
    first = 1 + len(grid.ks)

    def interrupt(asked: int) -> None:
        # Before the deadline is set there is nothing that could interrupt.
        if asked == first + question:
            raise Stopped

    interrupted, _ = grid.watched(interrupt)
    check(grid, interrupted.search())


@given(grid=grids(), question=st.integers(0, 10), interrupts=st.booleans())
def test_cancel_ends_the_search(grid: Grid, question: int, interrupts: bool) -> None:
    control = Control()

    def cancel(asked: int) -> None:
        if asked >= question:
            control.cancel()
            if interrupts:
                raise Stopped

    grid, counter = grid.watched(cancel)
    with suppress(CancelledError):
        outcome = grid.search(control)
        # Nobody looked at the token any more.
        assert outcome.complete
        assert not interrupts or counter.clock() <= question


def test_cancelled_search_raises() -> None:
    control = Control()
    control.cancel()
    with pytest.raises(CancelledError):
        large(5).search(control)


def test_progress_moves_forward() -> None:
    reports: list[Progress] = []
    grid, counter = large(6).watched()
    outcome = grid.search(Control(counter.clock), report=reports.append)
    checked = [progress.checked for progress in reports]
    assert len(set(checked)) > 10
    assert checked == sorted(checked)
    assert checked[-1] == outcome.checked
