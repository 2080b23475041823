"""No bound is above the score of a transformation that it bounds: for every model and option, on random tables."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses, Marginals, NumpyCounter
from tableveil.control import Control
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import Game, QualityModel
from tableveil.privacy import Conjunction, ReleaseRule
from tableveil.quality import quality_of
from tableveil.search import Problem, exact
from tests.engine.quality.models import BY_CLASSES, GAMES, NAMES, SEPARABLE
from tests.engine.random_tables import CONTINUOUS, Table, inline, intervals, tables
from tests.engine.rules import k_anonymity


class OnlyClasses(NumpyCounter):
    """Knows of small classes what the classes say: their groups, not those that a finer level has within them."""

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        classes = self.classes(transformation)
        counts = [
            np.bincount(classes.groups(j)[mask], classes.counts[mask], len(levels.leaves[level])).astype(np.int64)
            for j, (levels, level) in enumerate(zip(self.levels, transformation, strict=True))
        ]
        return Marginals(transformation, tuple(counts))


@dataclass(frozen=True)
class NotOfThree(ReleaseRule):
    """A rule whose failures finer transformations do not inherit, and that suppresses large classes too."""

    monotone = False

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        kept: NDArray[np.bool_] = classes.counts % 3 != 0
        return kept

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        return None


def problem_of(table: Table, model: QualityModel, kind: type[NumpyCounter], odd: bool, game: Game) -> Problem:
    counter = table.counter(kind)
    rules = k_anonymity(table.k).rules
    return Problem(
        lattice=table.lattice,
        counter=counter,
        privacy=Conjunction((*rules, NotOfThree()) if odd else rules),
        quality=quality_of(model, counter, table.weights, table.suppressible, game),
        suppressible=table.suppressible,
    )


def scores(problem: Problem, part: Lattice) -> list[tuple[tuple[float, ...], int, Transformation]]:
    """The keys of all valid transformations of a part of the lattice."""
    found = []
    for x in part:
        classes = problem.counter.classes(x)
        kept = problem.privacy.releasable(classes)
        if problem.counter.records - int(classes.counts[kept].sum()) <= problem.suppressible:
            found.append((problem.quality.assess(x, classes, kept).score, sum(x), x))
    return found


def check_bounds(problem: Problem, lo: Transformation, hi: Transformation) -> None:
    valid = scores(problem, Lattice(lo, hi, problem.lattice.axes))
    if not valid:
        return
    least = min(valid)[0]
    size = problem.privacy.minimum_class_size
    top = Check(problem.counter, hi, size)
    assert problem.quality.evidence(top).bound(lo) <= least
    if problem.quality.bounds_by_classes:
        assert problem.quality.bound_between(Check(problem.counter, lo, size), hi) <= least


@pytest.mark.parametrize("models", [*SEPARABLE, *BY_CLASSES], ids=NAMES)
@given(data=st.data(), table=tables(), coarse=st.booleans(), odd=st.booleans(), game=GAMES)
def test_no_bound_is_above_the_least_score(
    models: st.SearchStrategy[QualityModel], data: st.DataObject, table: Table, coarse: bool, odd: bool, game: Game
) -> None:
    problem = problem_of(table, data.draw(models), OnlyClasses if coarse else NumpyCounter, odd, game)
    check_bounds(problem, *data.draw(intervals(table.lattice)))


@pytest.mark.parametrize("models", SEPARABLE, ids=NAMES[: len(SEPARABLE)])
@given(data=st.data(), table=tables(inline() | st.just(CONTINUOUS)), coarse=st.booleans(), game=GAMES)
def test_no_bound_is_above_the_least_score_in_continuous_domains(
    models: st.SearchStrategy[QualityModel], data: st.DataObject, table: Table, coarse: bool, game: Game
) -> None:
    problem = problem_of(table, data.draw(models), OnlyClasses if coarse else NumpyCounter, odd=False, game=game)
    check_bounds(problem, *data.draw(intervals(table.lattice)))


@pytest.mark.parametrize("models", [*SEPARABLE, *BY_CLASSES], ids=NAMES)
@given(data=st.data(), table=tables(), coarse=st.booleans(), odd=st.booleans(), game=GAMES)
def test_the_search_finds_what_exhaustive_search_finds(
    models: st.SearchStrategy[QualityModel], data: st.DataObject, table: Table, coarse: bool, odd: bool, game: Game
) -> None:
    problem = problem_of(table, data.draw(models), OnlyClasses if coarse else NumpyCounter, odd, game)
    outcome = exact(problem, Control())
    assert outcome.complete
    assert (outcome.best.key if outcome.best else None) == min(scores(problem, problem.lattice), default=None)
