"""Comparators return valid transformations no better than the optimum; exhaustive search returns the optimum."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.comparators import COMPARATORS, Comparator, Found, datafly, exhaustive, igreedy
from tableveil.control import Control
from tableveil.errors import CancelledError
from tableveil.search import Problem
from tests.engine.search.problems import key_at, optimum, problems, watched

each = pytest.mark.parametrize("comparator", COMPARATORS.values(), ids=COMPARATORS.keys())


def check_found(problem: Problem, found: Found) -> None:
    best = optimum(problem)
    assert 0 <= found.checked <= problem.lattice.size
    if found.best is None:
        assert found.best_seconds is None
        return
    assert best is not None
    assert best <= found.best.key == key_at(problem, found.best.transformation)
    assert found.best.transformation in set(problem.lattice)
    assert found.best.score == problem.quality.reported(found.best.key[0])
    assert found.best_seconds is not None
    assert found.best_seconds <= found.seconds


@each
@given(problem=problems())
def test_finds_something_valid_if_there_is_any(comparator: Comparator, problem: Problem) -> None:
    found = comparator(problem, Control())
    assert found.complete
    check_found(problem, found)
    assert (found.best is None) == (optimum(problem) is None)


@given(problems(even=True))
def test_exhaustive_search_finds_the_optimum(problem: Problem) -> None:
    found = exhaustive(problem, Control())
    assert (found.best.key if found.best else None) == optimum(problem)
    assert found.checked == problem.lattice.size


@given(problems())
def test_datafly_generalizes_what_has_most_values(problem: Problem) -> None:
    watched_problem, counter = watched(problem)
    found = datafly(watched_problem, Control())
    way = counter.counted
    assert way[0] == problem.lattice.bottom
    assert [key_at(problem, x) is not None for x in way[:-1]] == [False] * (len(way) - 1)
    assert found.best is None or found.best.transformation == way[-1]
    for x, y in itertools.pairwise(way):
        values = {
            axis: max(len(problem.counter.levels[j].leaves[x[j]]) for j in axis)
            for axis in problem.lattice.axes
            if x[axis[0]] < problem.lattice.top[axis[0]]
        }
        (raised,) = [axis for axis in problem.lattice.axes if x[axis[0]] != y[axis[0]]]
        assert values[raised] == max(values.values())


@given(problems())
def test_igreedy_stops_at_the_first_step_with_something_valid(problem: Problem) -> None:
    watched_problem, counter = watched(problem)
    found = igreedy(watched_problem, Control())
    seen = {x: key_at(problem, x) for x in counter.counted}
    valid = [key for key in seen.values() if key is not None]
    assert (found.best.key if found.best else None) == min(valid, default=None)
    steps = [sum(x[axis[0]] - problem.lattice.bottom[axis[0]] for axis in problem.lattice.axes) for x in seen]
    assert steps == sorted(steps)
    assert all(seen[x] is None for x, step in zip(seen, steps, strict=True) if step < steps[-1])


@each
@given(problem=problems(), time_limit=st.integers(0, 10))
def test_time_limit_returns_the_best_so_far(comparator: Comparator, problem: Problem, time_limit: int) -> None:
    watched_problem, counter = watched(problem)
    control = Control(counter.clock)
    found = comparator(watched_problem, control, time_limit)
    check_found(problem, found)
    assert found.complete or found.checked == time_limit
    assert not control.must_stop


@each
@settings(max_examples=5)
@given(problem=problems())
def test_cancelled_search_raises(comparator: Comparator, problem: Problem) -> None:
    control = Control()
    control.cancel()
    with pytest.raises(CancelledError):
        comparator(problem, control)
