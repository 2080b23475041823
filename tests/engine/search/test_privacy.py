"""Whatever the privacy models are, and however they are combined, searches find the optimum: pruning stays exact."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import LossModel
from tableveil.search import Problem, anytime, exact
from tableveil.search.best_first import best_first
from tests.engine.search.private_problems import EACH_MODEL, private_problems
from tests.engine.search.problems import check_complete, run
from tests.once import once

SEARCHES = [exact, anytime, best_first]
LOSS = st.just(LossModel())


@pytest.mark.parametrize("model", once(EACH_MODEL, 2))
def test_each_model_alone(model: str) -> None:
    @given(private_problems(privacy=st.lists(EACH_MODEL[model], min_size=1, max_size=1), models=LOSS))
    def finds_the_optimum(problem: Problem) -> None:
        check_complete(problem, run(exact, problem))

    finds_the_optimum()


@pytest.mark.parametrize("search", SEARCHES)
def test_any_conjunction(search: Callable[..., Any]) -> None:
    @given(private_problems(keeps=st.sampled_from([False, False, True])))
    def finds_the_optimum(problem: Problem) -> None:
        check_complete(problem, run(search, problem))

    finds_the_optimum()
