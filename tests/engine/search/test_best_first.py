"""Best-first search equals looking at every transformation, even with few counts, little time or memory."""

import importlib
import tracemalloc
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses, NumpyCounter
from tableveil.control import Control, Progress, Stopped
from tableveil.errors import CancelledError
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import Aggregate, LossModel
from tableveil.quality import BoundEvidence, QualityModel, Score, quality_of
from tableveil.quality.model import AssessedTransformation, Table
from tableveil.search import Problem
from tableveil.search.antichain import Antichain, Inheritance
from tableveil.search.best_first import best_first
from tests.engine.rules import k_anonymity
from tests.engine.search.problems import (
    OnlyClasses,
    check_candidates,
    check_complete,
    check_progress,
    check_stopped,
    problems,
    run,
    watched,
)
from tests.once import once

# By its name: the package has the function under it.
MODULE = importlib.import_module("tableveil.search.best_first")

LOSS = st.builds(LossModel, st.sampled_from(Aggregate))
"""For what is told of models that need no classes for their bounds."""


@settings(max_examples=40)
@given(problems())
def test_equals_exhaustive_search(problem: Problem) -> None:
    check_complete(problem, run(best_first, problem))


@given(problems(counter=OnlyClasses))
def test_equals_exhaustive_search_when_only_classes_are_known(problem: Problem) -> None:
    check_complete(problem, run(best_first, problem))


@given(problems(even=True))
def test_equals_exhaustive_search_for_failures_that_are_not_inherited(problem: Problem) -> None:
    check_complete(problem, run(best_first, problem))


@given(problems())
def test_finds_nothing_where_nothing_is_valid(problem: Problem) -> None:
    problem = replace(problem, suppressible=max(problem.counter.withheld - 1, 0))
    check_complete(problem, run(best_first, problem))


@dataclass(frozen=True)
class Nothing:
    """Evidence that bounds nothing."""

    guide: Table
    least: Score

    def bound(self, lo: Transformation) -> Score:
        return self.least


@dataclass(frozen=True)
class ByClasses:
    """A quality model that cannot bound anything before the classes at lo are known."""

    model: QualityModel
    problem: Problem
    bounds_by_classes: bool = True

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        return self.model.assess(at, classes, kept)

    def evidence(self, check: Check) -> BoundEvidence:
        evidence = self.model.evidence(check)
        return Nothing(evidence.guide, tuple(0.0 for _ in evidence.bound(check.at)))

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        check = Check(self.problem.counter, hi, self.problem.privacy.minimum_class_size)
        return self.model.evidence(check).bound(lo.at)

    def reported(self, score: Score) -> float:
        return self.model.reported(score)


@given(problems())
def test_equals_exhaustive_search_when_only_classes_bound_the_quality(problem: Problem) -> None:
    check_complete(problem, run(best_first, replace(problem, quality=ByClasses(problem.quality, problem))))


@given(problems())
def test_is_deterministic(problem: Problem) -> None:
    first, second = (run(best_first, problem) for _ in range(2))
    assert (first.best, first.runners_up, first.checked, first.pruned) == (
        second.best,
        second.runners_up,
        second.checked,
        second.pruned,
    )


def below(x: Transformation, y: Transformation) -> bool:
    return all(a <= b for a, b in zip(x, y, strict=True))


@given(problems(models=LOSS))
def test_counts_nothing_whose_answer_is_known(problem: Problem) -> None:
    watched_problem, counter = watched(problem)
    run(best_first, watched_problem)
    assert len(set(counter.counted)) == len(counter.counted)
    excluded: list[Transformation] = []
    for x in counter.counted:
        assert not any(below(x, y) for y in excluded)
        if Check(problem.counter, x, problem.privacy.minimum_class_size).below > problem.suppressible:
            excluded.append(x)


@given(problems(models=LOSS))
def test_says_what_was_excluded_by_suppression(problem: Problem) -> None:
    watched_problem, counter = watched(problem)
    outcome = run(best_first, watched_problem)
    checks = {x: Check(problem.counter, x, problem.privacy.minimum_class_size) for x in problem.lattice}
    too_many = {x for x, check in checks.items() if check.below > problem.suppressible}
    pruned = outcome.pruned.get("suppression", 0)
    if outcome.best is None:
        assert pruned == problem.lattice.size - 1
        return
    # The others are excluded by their bounds, with all above them.
    free = problem.quality.evidence(checks[problem.lattice.top])
    too_many = {x for x in too_many if (free.bound(x), sum(x), x) < outcome.best.key} - set(counter.counted)
    told = {x for x in too_many if any(below(x, y) for y in counter.counted if checks[y].below > problem.suppressible)}
    # Some may have been excluded by their quality before it was told.
    assert pruned <= len(told)


class Forgetful(Antichain):
    """Knows nothing of what is inherited upwards."""

    def __init__(self, inherited: Inheritance) -> None:
        super().__init__(inherited)
        self.forgets = inherited is Inheritance.UPWARDS

    def covers(self, x: Transformation) -> bool:
        return not self.forgets and super().covers(x)


class ForgetfulDownwards(Forgetful):
    """Knows nothing of what is inherited downwards."""

    def __init__(self, inherited: Inheritance) -> None:
        super().__init__(inherited)
        self.forgets = inherited is Inheritance.DOWNWARDS


@pytest.mark.parametrize("forgetful", [Forgetful, ForgetfulDownwards])
@pytest.mark.parametrize("by_classes", once([False, True]))
def test_properties_save_counting(
    forgetful: type[Antichain], by_classes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = wide_problem(attributes=6, records=200, most=6)
    if by_classes:
        problem = replace(problem, quality=ByClasses(problem.quality, problem))
    knowing = run(best_first, problem)
    monkeypatch.setattr(MODULE, "Antichain", forgetful)
    forgetting = run(best_first, problem)
    assert forgetting.best == knowing.best
    assert knowing.counted < forgetting.counted


# --- stopping -------------------------------------------------------------------------------------------------------


@given(problem=problems(), time_limit=st.integers(0, 20))
def test_time_limit_returns_the_best_so_far_with_a_true_bound(problem: Problem, time_limit: int) -> None:
    watched_problem, counter = watched(problem)
    control = Control(counter.clock)
    outcome = run(best_first, watched_problem, control, time_limit)
    assert outcome.complete or counter.clock() >= time_limit
    (check_complete if outcome.complete else check_stopped)(problem, outcome)
    # The deadline was the search's own.
    assert not control.must_stop


def test_no_time_at_all_still_checks_the_most_general_transformation() -> None:
    problem, counter = watched(wide_problem(attributes=3, records=20, most=3))
    outcome = run(best_first, problem, Control(counter.clock), time_limit=0)
    assert not outcome.complete
    assert outcome.checked == 1
    assert outcome.best is not None
    assert outcome.best.transformation == problem.lattice.top
    assert outcome.lower_bound == 0.0
    assert outcome.gap == outcome.best.score > 1.0


@given(problem=problems(), question=st.integers(0, 25))
def test_survives_an_interrupt_in_the_middle_of_counting(problem: Problem, question: int) -> None:
    def interrupt(asked: int) -> None:
        if asked == question:
            raise Stopped

    watched_problem, _ = watched(problem, interrupt)
    outcome = run(best_first, watched_problem)
    (check_complete if outcome.complete else check_stopped)(problem, outcome)


@given(problem=problems(), question=st.integers(0, 10), interrupts=st.booleans())
def test_cancel_ends_the_search(problem: Problem, question: int, interrupts: bool) -> None:
    control = Control()

    def cancel(asked: int) -> None:
        if asked >= question:
            control.cancel()
            if interrupts:
                raise Stopped

    watched_problem, counter = watched(problem, cancel)
    with suppress(CancelledError):
        outcome = run(best_first, watched_problem, control)
        # Nobody looked at the token any more.
        assert not interrupts or counter.clock() <= question
        check_complete(problem, outcome)


def test_cancelled_search_raises() -> None:
    control = Control()
    control.cancel()
    with pytest.raises(CancelledError) as raised:
        run(best_first, wide_problem(attributes=3, records=20, most=3), control)
    assert raised.value.code == "CANCELLED"


@given(problems())
def test_progress_is_true_and_moves_forward(problem: Problem) -> None:
    reports: list[Progress] = []
    watched_problem, counter = watched(problem)
    run(best_first, watched_problem, Control(counter.clock), report=reports.append)
    assert reports
    check_progress(problem, reports)


# --- memory ---------------------------------------------------------------------------------------------------------


def wide_problem(attributes: int, records: int, most: int) -> Problem:
    """Records that have little in common, so that nothing specific is valid; `most` values per attribute."""
    rows = tuple((f"v{i}", f"g{i // 2}", "*") for i in range(most))
    values = [row[0] for row in rows]
    levels = attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, values, values), has_null=False)
    codes = np.random.default_rng(0).integers(0, most, (records, attributes)).astype(np.int32)
    weights = [1.0 + j % 3 for j in range(attributes)]
    counter = NumpyCounter(
        [levels] * attributes, [codes[:, j].copy() for j in range(attributes)], np.ones(records, np.int64)
    )
    return Problem(
        Lattice((0,) * attributes, (2,) * attributes),
        counter,
        k_anonymity(5),
        quality_of(LossModel(), counter, weights, 0),
        suppressible=0,
    )


@pytest.mark.parametrize("mebibytes", once([2, 4]))
def test_stops_at_its_memory_limit(mebibytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = wide_problem(attributes=24, records=60, most=6)
    monkeypatch.setattr(MODULE, "MEMORY", mebibytes << 20)
    tracemalloc.start()
    try:
        outcome = run(best_first, problem)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not outcome.complete
    assert f"{mebibytes} MiB" in outcome.strategy
    assert outcome.best is not None
    assert 0 < outcome.lower_bound <= outcome.best.score
    assert outcome.gap == outcome.best.score - outcome.lower_bound
    # Witnesses and the classes of one transformation are not counted.
    assert peak < 1.25 * (mebibytes << 20) + (8 << 20)


def test_limits_do_not_change_what_a_search_within_them_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = wide_problem(attributes=6, records=200, most=6)
    expected = run(best_first, problem)
    monkeypatch.setattr(MODULE, "WITNESSES", 2)
    found = run(best_first, problem)
    assert found.complete
    assert found.best == expected.best
    check_candidates(problem, found)
