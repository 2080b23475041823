"""Anytime search is exact when it ends, true at every moment before, and small on lattices of any size."""

import tracemalloc
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.classes import NumpyCounter
from tableveil.control import Control, Progress, Stopped
from tableveil.errors import CancelledError
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice
from tableveil.policy import LossModel
from tableveil.quality import quality_of
from tableveil.search import Problem, anytime, exact
from tableveil.search.findings import Findings
from tableveil.search.intervals import IntervalSearch
from tableveil.search.local import LocalSearch
from tests.engine.rules import k_anonymity
from tests.engine.search.problems import (
    OnlyClasses,
    Strategy,
    check_complete,
    check_progress,
    check_stopped,
    optimum,
    problems,
    run,
    watched,
)
from tests.once import once

STRATEGIES = pytest.mark.parametrize("strategy", [exact, anytime])


@STRATEGIES
@given(problem=problems() | problems(counter=OnlyClasses) | problems(even=True))
def test_equals_exhaustive_search(strategy: Strategy, problem: Problem) -> None:
    check_complete(problem, run(strategy, problem))


@STRATEGIES
@given(problem=problems(), time_limit=st.integers(0, 60))
def test_is_true_whenever_it_is_stopped(strategy: Strategy, problem: Problem, time_limit: int) -> None:
    problem, counter = watched(problem)
    outcome = run(strategy, problem, Control(counter.clock), time_limit)
    (check_complete if outcome.complete else check_stopped)(problem, outcome)


@given(problem=problems(), question=st.integers(2, 40))
def test_survives_an_interrupt_in_the_middle_of_counting(problem: Problem, question: int) -> None:
    def interrupt(asked: int) -> None:
        if asked == question:
            raise Stopped

    interrupted, _ = watched(problem, interrupt)
    outcome = run(anytime, interrupted)
    (check_complete if outcome.complete else check_stopped)(problem, outcome)


@given(problem=problems(), question=st.integers(0, 10))
def test_cancel_ends_the_search(problem: Problem, question: int) -> None:
    control = Control()

    def cancel(asked: int) -> None:
        if asked >= question:
            control.cancel()

    cancelled, counter = watched(problem, cancel)
    with suppress(CancelledError):
        # Nobody looked at the token any more.
        check_complete(problem, run(anytime, cancelled, control))
    # At most the marginals of the classes that were being counted.
    assert counter.clock() <= question + 2


@given(problem=problems())
def test_every_progress_is_true(problem: Problem) -> None:
    problem, counter = watched(problem)
    reports: list[Progress] = []
    run(anytime, problem, Control(counter.clock), report=reports.append)
    check_progress(problem, reports)


@given(problem=problems(), seed=st.integers(0, 3))
def test_the_seed_decides_what_is_tried(problem: Problem, seed: int) -> None:
    tried = []
    for _ in range(2):
        again, counter = watched(problem)
        anytime(again, Control(), None, seed=seed)
        tried.append(counter.counted)
    assert tried[0] == tried[1]


@given(problem=problems(), room=st.integers(0, 3))
def test_is_exact_with_room_for_few_open_intervals(problem: Problem, room: int) -> None:
    findings = Findings(problem, Control(), lambda progress: None)
    intervals = IntervalSearch(findings, most_open=room)
    while not intervals.exhausted():
        best, bound = optimum(problem), intervals.bound()
        open_bounds = [*([bound] if bound else []), *([findings.best.key[0]] if findings.best else [])]
        assert best is None or min(open_bounds) <= best[0]
        intervals.step()
    check_complete(problem, findings.outcome("exact", None, complete=True))


def wide(attributes: int, records: int = 2000) -> Problem:
    """Random records of many attributes with five values each, in hierarchies of four levels."""
    rows = tuple((f"v{i}", f"x{i // 2}", f"y{i // 3}", "*") for i in range(5))
    values = [row[0] for row in rows]
    levels = attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, values, values), has_null=False)
    random = np.random.default_rng(7)
    codes = [random.choice(5, records, p=[0.5, 0.2, 0.1, 0.1, 0.1]) for _ in range(attributes)]
    counter = NumpyCounter([levels] * attributes, codes, np.ones(records, np.int64))
    quality = quality_of(LossModel(), counter, [1.0] * attributes, records // 20)
    lattice = Lattice((0,) * attributes, (3,) * attributes)
    return Problem(lattice, counter, k_anonymity(5), quality, records // 20)


@pytest.mark.parametrize("attributes", once([24, 40]))
def test_memory_stays_bounded_on_lattices_of_any_size(attributes: int) -> None:
    problem = wide(attributes)
    room = 20
    findings = Findings(problem, Control(), lambda progress: None)
    intervals = IntervalSearch(findings, most_open=room)
    tracemalloc.start()
    try:
        for _ in range(100):
            intervals.step()
        half, _ = tracemalloc.get_traced_memory()
        for _ in range(100):
            intervals.step()
        end, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Twice the work takes hardly more memory once the room is used up.
    assert intervals.open <= room + 2 * attributes
    assert end < 1.3 * half


@pytest.mark.parametrize("attributes", once([24, 60]))
def test_finds_something_better_than_the_top_in_few_counts(attributes: int) -> None:
    problem, counter = watched(wide(attributes))
    outcome = anytime(problem, Control(counter.clock), 200)
    assert not outcome.complete
    assert outcome.best is not None
    assert outcome.best.suppressed <= problem.suppressible
    assert outcome.lower_bound < outcome.best.score < 0.95
    assert outcome.lattice_size == 4**attributes


def test_a_walk_does_not_count_neighbours_that_cannot_be_better() -> None:
    problem, counter = watched(replace(wide(6, 100), privacy=k_anonymity(1)))
    findings = Findings(problem, Control(), lambda progress: None)
    walk = LocalSearch(findings, seed=0)
    while findings.best is None or findings.best.transformation != problem.lattice.bottom:
        walk.step()
    # Every step down was better. At the bottom, nothing is left to count: the next step only kicks.
    counted = len(counter.counted)
    walk.step()
    assert len(counter.counted) == counted
