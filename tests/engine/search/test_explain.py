"""Explanations against the definitions, by counting everything: neighbours, what breaks there, and what binds."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError
from tableveil.lattice import Transformation
from tableveil.policy import Aggregate, LossModel, PrecisionModel, QualityModel
from tableveil.privacy import Conjunction
from tableveil.search import Problem, exact
from tableveil.search.explain import CheckedNeighbour, explain
from tests.engine.search.problems import key_at, problems, watched

MODELS: st.SearchStrategy[QualityModel] = st.builds(LossModel, st.sampled_from(Aggregate)) | st.just(PrecisionModel())


def best_of(problem: Problem) -> Transformation:
    best = exact(problem, Control()).best
    assume(best is not None)
    assert best is not None
    return best.transformation


def rejected_at(problem: Problem, x: Transformation) -> list[list[bool]]:
    """Per class, whether each rule rejects it."""
    assert isinstance(problem.privacy, Conjunction)
    classes = problem.counter.classes(x)
    by_rule = [(~rule.releasable(classes)).tolist() for rule in problem.privacy.rules]
    return [list(rejected) for rejected in zip(*by_rule, strict=True)]


def check(problem: Problem, found: CheckedNeighbour) -> None:
    """Every statement about a transformation is true."""
    x = found.transformation
    key = key_at(problem, x)
    assert found.score == (None if key is None else problem.quality.reported(key[0]))
    counts = problem.counter.classes(x).counts.tolist()
    rejected = rejected_at(problem, x)
    assert found.classes == len(counts)
    assert found.rejected == sum(any(by_rule) for by_rule in rejected)
    lost = sum(count for count, by_rule in zip(counts, rejected, strict=True) if any(by_rule))
    assert found.suppressed == lost + problem.counter.withheld
    assert found.over == max(0, found.suppressed - problem.suppressible)
    assert isinstance(problem.privacy, Conjunction)
    assert len(found.rules) == len(problem.privacy.rules)
    for r, rule in enumerate(found.rules):
        gone = [count for count, by_rule in zip(counts, rejected, strict=True) if by_rule[r]]
        only = [count for count, by_rule in zip(counts, rejected, strict=True) if by_rule[r] and sum(by_rule) == 1]
        assert (rule.classes, rule.records) == (len(gone), sum(gone))
        assert (rule.only_classes, rule.only_records) == (len(only), sum(only))
        # Binding by its definition: without the rule, the transformation would be valid.
        others = Conjunction(tuple(other for i, other in enumerate(problem.privacy.rules) if i != r))
        without = replace(problem, privacy=others)
        assert rule.binds == (key is None and key_at(without, x) is not None)


@given(problems(models=MODELS, even=True) | problems(models=MODELS))
def test_every_neighbour_is_as_the_definitions_say(problem: Problem) -> None:
    at = best_of(problem)
    explanation = explain(problem, at, Control())
    assert explanation.complete
    itself = explanation.itself
    assert (itself.axis, itself.step, itself.transformation, itself.over) == ((), 0, at, 0)
    for found in (itself, *explanation.neighbours):
        check(problem, found)
    expected = [
        (axis, step, moved)
        for step in (-1, 1)
        for axis in problem.lattice.axes
        if (moved := problem.lattice.moved(at, axis, at[axis[0]] + step)) in set(problem.lattice)
    ]
    assert [(found.axis, found.step, found.transformation) for found in explanation.neighbours] == expected


@given(problems(models=MODELS))
def test_no_neighbour_of_the_best_is_better(problem: Problem) -> None:
    explanation = explain(problem, best_of(problem), Control())
    own = explanation.itself.score
    assert own is not None
    assert all(found.score >= own for found in explanation.neighbours if found.score is not None)


@given(problems(models=MODELS), st.integers(0, 9))
def test_when_the_time_is_over_the_last_neighbours_are_missing(problem: Problem, seconds: int) -> None:
    at = best_of(problem)
    whole = explain(problem, at, Control())
    # Each count takes a second, the first one is of the transformation itself.
    limited, counter = watched(problem)
    found = explain(limited, at, control := Control(counter.clock), float(seconds))
    assert found.itself == whole.itself
    assert found.neighbours == whole.neighbours[: max(0, seconds - 1)]
    assert found.complete == (len(found.neighbours) == len(whole.neighbours))
    assert not control.must_stop, "the deadline was its own"


@given(problems(models=MODELS))
def test_a_cancel_ends_it_at_any_count(problem: Problem) -> None:
    at = best_of(problem)
    counts = 1 + len(explain(problem, at, Control()).neighbours)
    for last in range(counts):
        control = Control()

        def cancelled(asked: int, last: int = last, control: Control = control) -> None:
            if asked == last:
                control.cancel()
                # As a counter does when it is interrupted.
                raise Stopped

        stopped, counter = watched(problem, cancelled)
        with pytest.raises(CancelledError):
            explain(stopped, at, control)
        assert len(counter.counted) == last
