"""The search is exact where classes are joint classes and nobody, k people or all are left behind."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.classes import EarlierClasses, JointCounter, NumpyCounter
from tableveil.hierarchy import AttributeLevels
from tableveil.policy import KAnonymity
from tableveil.privacy import Conjunction, LeftBehindRule, left_behind, privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem
from tableveil.search.anytime import anytime
from tableveil.search.best_first import best_first
from tableveil.search.proving import exact
from tests.engine.quality.models import SEPARABLE
from tests.engine.search.problems import Strategy, check_complete, optimum, problems, run


@st.composite
def joint_problems(draw: st.DrawFn) -> tuple[Problem, EarlierClasses, int]:
    """The records of a random problem, with combinations of earlier classes, of which some people left."""
    alone = draw(problems(most_attributes=3))
    lattice, counter = alone.lattice, alone.counter
    classes = counter.classes((0,) * len(counter.levels))
    quasi_identifiers = np.stack([classes.groups(j) for j in range(len(counter.levels))], axis=1)
    records = np.repeat(quasi_identifiers, classes.counts, axis=0).tolist()
    number = draw(st.integers(1, 3))
    counted = Counter((*record, draw(st.integers(0, number))) for record in records)
    groups = [np.array([row[j] for row in counted], np.int32) for j in range(len(counter.levels) + 1)]
    levels = AttributeLevels(
        (np.arange(number + 1, dtype=np.int32),), (), (np.ones(number + 1),), number + 1.0, False, None
    )
    joint = JointCounter(
        NumpyCounter([*counter.levels, levels], groups, np.array([*counted.values()], np.int64), counter.withheld)
    )
    present = np.bincount(groups[-1], [*counted.values()], number + 1).astype(np.int64)[:-1]
    left = np.array([draw(st.sampled_from([0, 0, 1, 2, 5])) for _ in range(number)])
    k = draw(st.integers(1, 4))
    earlier = EarlierClasses((1,), np.arange(number).reshape(-1, 1), present + left, int(present.sum()))
    rules = privacy_of([KAnonymity(k)], joint).rules
    problem = Problem(
        lattice=lattice,
        counter=joint,
        privacy=Conjunction((*rules, LeftBehindRule(k, earlier))),
        quality=quality_of(draw(st.one_of(SEPARABLE)), joint, [1.0] * len(joint.levels), alone.suppressible),
        suppressible=alone.suppressible,
    )
    return problem, earlier, k


@pytest.mark.parametrize("strategy", [exact, best_first, anytime])
@given(drawn=joint_problems())
def test_the_optimum_is_found(strategy: Strategy, drawn: tuple[Problem, EarlierClasses, int]) -> None:
    problem, earlier, k = drawn
    outcome = run(strategy, problem)
    check_complete(problem, outcome)
    if outcome.best is not None:
        classes = problem.counter.classes(outcome.best.transformation)
        left = left_behind(earlier, classes.selected(problem.privacy.releasable(classes)))
        assert ((left == 0) | (left >= k) | (left == earlier.records)).all()


@given(drawn=joint_problems())
def test_it_costs_no_less_than_without_the_rule(drawn: tuple[Problem, EarlierClasses, int]) -> None:
    problem, _, _ = drawn
    assert isinstance(problem.privacy, Conjunction)
    reported = optimum(replace(problem, privacy=Conjunction(problem.privacy.rules[:-1])))
    required = optimum(problem)
    assert required is None or (reported is not None and reported[0] <= required[0])
