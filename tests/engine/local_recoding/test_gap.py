"""On small random tables, the optimum by brute force lies between the bound and the score, and classes are valid."""

from decimal import Decimal

import numpy as np
import pytest

from tableveil.control import Control
from tableveil.errors import InfeasibleError
from tableveil.local_recoding import SUPPRESSED, LocalPartition, LocalProblem, recode
from tableveil.local_recoding.judge import Judge
from tableveil.local_recoding.labels import sets_of
from tableveil.policy import EntropyLDiversity, KAnonymity
from tests.engine.local_recoding.small_tables import MODELS, SmallTable, label_cost, levels_of, optimum
from tests.once import once

TABLES = 28
"""Per model: more than 300 in all, of up to nine records."""

SLACK = 1e-9


@pytest.mark.parametrize("name", once(MODELS))
def test_the_optimum_lies_between_bound_and_score(name: str) -> None:
    recoded = 0
    for seed in range(TABLES):
        random = np.random.default_rng(1000 + seed)
        table = SmallTable.random(seed)
        models = MODELS[name](random)
        suppressible = int(random.choice([0, 0, 1, 2]))
        best = optimum(table, models, suppressible)
        problem = table.problem(models, suppressible)
        try:
            found = recode(problem, Control())
        except InfeasibleError:
            # Records of a combination stay together here: what brute force splits may be out of reach.
            continue
        recoded += 1
        assert best is not None, seed
        assert found.lower_bound is not None
        assert found.lower_bound <= best + SLACK, seed
        assert best <= found.score + SLACK, seed
        holds(problem, found)
    assert recoded >= TABLES // 3


def holds(problem: LocalProblem, found: LocalPartition) -> None:
    """Classes are valid, their labels differ, the levels are those of their labels, and the score is what they cost."""
    inside = np.flatnonzero(found.classes != SUPPRESSED)
    assert problem.counts[found.classes == SUPPRESSED].sum() <= problem.suppressible
    score = problem.costs.constant + problem.costs.suppressed * int(problem.counts.sum())
    labels = set()
    for number in range(len(found.levels)):
        members = np.flatnonzero(found.classes == number)
        assert len(members)
        label = []
        for j, attribute in enumerate(problem.levels):
            level = found.levels[number, j]
            groups = attribute.groups[level][problem.codes[members, j]]
            assert len(set(groups)) == 1
            label.append((level, groups[0]))
        labels.add(tuple(label))
        records = int(problem.counts[members].sum())
        score += records * (label_cost(problem, problem.codes[members]) - problem.costs.suppressed)
    assert len(labels) == len(found.levels)
    assert score == pytest.approx(found.score, abs=1e-9)
    order, starts = sets_of(found.classes[inside])
    assert Judge(problem).releasable(inside[order], starts).all()


def test_a_failing_cell_excludes_nothing() -> None:
    """A bound that excludes cells which fail entropy diversity says 1.0 here; the optimum is 2/3."""
    values = {"f": 0, "x": 1, "y": 2}
    table = SmallTable(
        (levels_of((("a", "*"), ("b", "*"))),),
        np.array([[0]] * 4 + [[1]] * 2),
        np.array([values[value] for value in "fffxyy"]),
        np.zeros((0, 1), np.int64),
    )
    models = (KAnonymity(2), EntropyLDiversity("illness", Decimal(2)))
    best = optimum(table, models, 0)
    assert best == pytest.approx(2 / 3)
    found = recode(table.problem(models), Control())
    assert found.lower_bound is not None
    assert found.lower_bound <= 2 / 3 + SLACK
