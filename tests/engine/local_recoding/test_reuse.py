"""Known classes for other records: each goes to the cheapest class that it fits, and what comes out is valid."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.control import Control
from tableveil.errors import CancelledError, InfeasibleError
from tableveil.local_recoding import SUPPRESSED, KnownClasses, LocalPartition, LocalProblem, Reused, recode, reuse
from tableveil.local_recoding.judge import Judge
from tableveil.local_recoding.labels import sets_of
from tests.engine.local_recoding.small_tables import MODELS, SmallTable
from tests.engine.local_recoding.test_recode import FOUR, TWO, problem_of, random_problem
from tests.once import once

PAIRS = 16
"""Pairs of small tables per model."""


def known_of(problem: LocalProblem, found: LocalPartition) -> KnownClasses:
    firsts = np.array([np.flatnonzero(found.classes == number)[0] for number in range(len(found.levels))], int)
    groups = np.empty_like(found.levels)
    for j, attribute in enumerate(problem.levels):
        for number, first in enumerate(firsts):
            groups[number, j] = attribute.groups[found.levels[number, j]][problem.codes[first, j]]
    return KnownClasses(found.levels, groups)


def fitting(problem: LocalProblem, known: KnownClasses) -> NDArray[np.int64]:
    """By the definition: the cheapest class whose labels a combination has, the first of several."""
    chosen = []
    for codes in problem.codes:
        fits = [
            (sum(problem.costs.labels[j][level][group] for j, (level, group) in enumerate(labels)), number)
            for number, labels in enumerate(
                [list(zip(*of, strict=True)) for of in zip(known.levels, known.groups, strict=True)]
            )
            if all(problem.levels[j].groups[level][codes[j]] == group for j, (level, group) in enumerate(labels))
        ]
        chosen.append(min(fits)[1] if fits else SUPPRESSED)
    return np.array(chosen, np.int64)


def valid(problem: LocalProblem, found: LocalPartition) -> None:
    """Every class may be released, has labels that all of its members have, and no other class has them."""
    assert problem.counts[found.classes == SUPPRESSED].sum() <= problem.suppressible
    labels = set()
    score = problem.costs.constant + problem.costs.suppressed * int(problem.counts[found.classes < 0].sum())
    for number, levels in enumerate(found.levels.tolist()):
        members = problem.codes[found.classes == number]
        groups = [attribute.groups[levels[j]][members[:, j]] for j, attribute in enumerate(problem.levels)]
        assert all(len(set(group.tolist())) == 1 for group in groups)
        labels.add((*levels, *(int(group[0]) for group in groups)))
        cost = sum(problem.costs.labels[j][levels[j]][group[0]] for j, group in enumerate(groups))
        score += cost * int(problem.counts[found.classes == number].sum())
    assert len(labels) == len(found.levels)
    assert score == pytest.approx(found.score)
    inside = np.flatnonzero(found.classes != SUPPRESSED)
    order, starts = sets_of(found.classes[inside])
    assert Judge(problem).releasable(inside[order], starts).all()


def allowed(problem: LocalProblem, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The classes that may be released as they are."""
    inside = np.flatnonzero(classes != SUPPRESSED)
    order, starts = sets_of(classes[inside])
    kept = Judge(problem).releasable(inside[order], starts)
    found: NDArray[np.int64] = np.unique(classes[inside])[kept]
    return found


@pytest.mark.parametrize("name", once(MODELS))
def test_records_of_another_month(name: str) -> None:
    used = 0
    for seed in range(PAIRS):
        random = np.random.default_rng(seed)
        models = MODELS[name](random)
        earlier = SmallTable.random(seed)
        drawn = random.integers(0, len(earlier.records), len(earlier.records))
        later = replace(earlier, records=earlier.records[drawn])
        if seed % 2:
            # Values that were there before, in other combinations.
            later = replace(later, records=np.column_stack([random.permutation(of) for of in later.records.T]))
        problem = later.problem(models, int(random.integers(0, 3)))
        try:
            known = known_of(before := earlier.problem(models, 2), recode(before, Control()))
            found = reuse(problem, known, Control())
        except InfeasibleError:
            if name == "k-anonymity":
                smallest = problem.privacy.minimum_class_size
                assert len(later.records) < smallest or len(earlier.records) < smallest
            continue
        valid(problem, found.recoding)
        expected = fitting(problem, known)
        for number in allowed(problem, expected):
            members = np.flatnonzero((expected == number) & (problem.counts > 0))
            # Together, with the labels of the class or with more general ones.
            together = np.unique(found.recoding.classes[members])
            assert len(together) == 1
            assert (found.recoding.levels[together[0]] >= known.levels[number]).all()
        used += found.classes
    assert used


def test_the_same_records_have_the_same_classes() -> None:
    problem = random_problem(300)
    first = recode(problem, Control())
    again = reuse(problem, known_of(problem, first), Control())
    valid(problem, again.recoding)
    assert again.classes >= 0.9 * len(first.levels)
    assert again.recoding.complete


def test_a_class_keeps_its_labels_where_its_members_share_finer_ones() -> None:
    problem = problem_of((FOUR, TWO), [(0, 0), (2, 0)], [3, 3], k=3)
    known = KnownClasses(np.array([[1, 1], [1, 0]]), np.array([[0, 0], [1, 0]]))
    found = reuse(problem, known, Control())
    assert found.recoding.levels[found.recoding.classes].tolist() == [[1, 1], [1, 0]]
    assert (found.classes, found.records) == (2, 6)


def test_of_several_classes_the_cheapest_is_chosen() -> None:
    problem = problem_of((FOUR,), [(0,), (1,), (2,), (3,)], [2] * 4, k=2)
    known = KnownClasses(np.array([[2], [1], [0]]), np.array([[0], [0], [0]]))
    found = reuse(problem, known, Control()).recoding
    assert found.levels[found.classes].tolist() == [[0], [1], [2], [2]]


@pytest.mark.parametrize(("suppressible", "last"), [(0, [2]), (1, None)])
def test_a_record_that_fits_no_class_joins_one_or_is_suppressed(suppressible: int, last: list[int] | None) -> None:
    problem = problem_of((FOUR,), [(0,), (3,)], [5, 1], k=2, suppressible=suppressible)
    found = reuse(problem, KnownClasses(np.array([[0]]), np.array([[0]])), Control())
    assert found.classes == suppressible
    if last is None:
        assert found.recoding.classes.tolist() == [0, SUPPRESSED]
    else:
        assert found.recoding.levels[found.recoding.classes].tolist() == [last, last]


def test_records_of_a_class_that_is_too_small_now_form_new_ones() -> None:
    problem = problem_of((FOUR,), [(0,), (1,), (2,), (3,)], [5, 1, 1, 5], k=2)
    known = KnownClasses(np.array([[0], [0], [1]]), np.array([[0], [1], [1]]))
    found = reuse(problem, known, Control())
    valid(problem, found.recoding)
    assert found.recoding.levels[found.recoding.classes[3]].tolist() == [1]


def test_no_known_class_is_left() -> None:
    problem = random_problem(60)
    none = np.zeros((0, 3), np.int64)
    found = reuse(problem, KnownClasses(none, none), Control())
    valid(problem, found.recoding)
    assert (found.classes, found.records) == (0, 0)


@pytest.mark.parametrize("most", [1, 2])
def test_a_held_column_stays_at_the_levels_of_the_known_classes(most: int) -> None:
    problem = replace(random_problem(60), most_levels={0: most})
    known = known_of(problem, recode(problem, Control()))
    other = replace(random_problem(60, seed=1), most_levels={0: most})
    found = reuse(other, known, Control()).recoding
    valid(other, found)
    assert len(np.unique(found.levels[:, 0])) <= most
    assert set(np.unique(known.levels[:, 0])) <= set(np.unique(found.levels[:, 0]))


@pytest.mark.parametrize("least", [1, 7, 10_000])
def test_suppressed_records_that_are_shown_are_judged_together(least: int) -> None:
    problem, other = (replace(random_problem(400, seed=i), highest=(2, 1, 1), suppressible=200) for i in range(2))
    known = known_of(problem, recode(problem, Control()))
    records, asked = int(other.counts.sum()), []

    def may_show(classes: EquivalenceClasses) -> bool:
        asked.append(records - int(classes.counts.sum()))
        return asked[-1] == 0 or asked[-1] >= least

    try:
        found = reuse(replace(other, may_show_others=may_show), known, Control()).recoding
    except InfeasibleError:
        assert least == 10_000
        return
    valid(other, found)
    assert asked
    assert int(other.counts[found.classes == SUPPRESSED].sum()) >= least


def test_a_deadline_leaves_valid_classes() -> None:
    problem = random_problem(300)
    known = known_of(problem, recode(problem, Control()))
    control = Control(lambda: 1.0)
    control.limit(0.0)
    other = random_problem(300, seed=1)
    found: Reused = reuse(other, known, control)
    valid(other, found.recoding)


def test_cancelling() -> None:
    problem = random_problem(60)
    known = known_of(problem, recode(problem, Control()))
    control = Control()
    control.cancel()
    with pytest.raises(CancelledError):
        reuse(random_problem(60, seed=1), known, control)
