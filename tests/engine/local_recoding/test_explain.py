"""The parts of a recoding's cost: they add up, and those of labels are what their records cost."""

from collections import defaultdict

import pytest

from tableveil.control import Control
from tableveil.local_recoding import SUPPRESSED, parts, recode
from tableveil.local_recoding.costs import MOST_LABELS
from tableveil.policy import Aggregate, EntropyModel, KAnonymity, LossModel, QualityModel
from tests.engine.local_recoding.small_tables import SmallTable
from tests.engine.local_recoding.test_recode import random_problem
from tests.once import once


@pytest.mark.parametrize("quality", [LossModel(Aggregate.ARITHMETIC_MEAN), EntropyModel()], ids=str)
@pytest.mark.parametrize("seed", once(range(30), 8))
def test_parts_add_up_and_labels_have_their_records(seed: int, quality: QualityModel) -> None:
    table = SmallTable.random(seed)
    suppressible = seed % 3
    if len(table.records) < 2:
        return
    problem = table.problem((KAnonymity(2),), suppressible, quality)
    found = recode(problem, Control())
    told = list(parts(problem, found))
    if found.score <= 1e-12:
        assert told == []
        return
    assert sum(part.share for part in told if part.label is None) == pytest.approx(1)
    out = found.classes == SUPPRESSED
    assert [part.records for part in told if part.column is None] == [n for n in [int(problem.counts[out].sum())] if n]
    # By definition: every record at once.
    cost_of: defaultdict[tuple[int, tuple[int, int]], float] = defaultdict(float)
    records_of: defaultdict[tuple[int, tuple[int, int]], int] = defaultdict(int)
    columns: defaultdict[int, float] = defaultdict(float)
    for row, number in enumerate(found.classes.tolist()):
        if number == SUPPRESSED:
            continue
        codes, levels, count = problem.codes[row], found.levels[number], int(problem.counts[row])
        costs = [
            count * (of[level][attribute.groups[level][code]] - of[0][code])
            for of, attribute, level, code in zip(problem.costs.labels, problem.levels, levels, codes, strict=True)
        ]
        for j, (level, code) in enumerate(zip(levels.tolist(), codes.tolist(), strict=True)):
            columns[j] += costs[j]
            if level:
                label = j, (level, int(problem.levels[j].groups[level][code]))
                cost_of[label] += sum(costs)
                records_of[label] += count
    whole = found.score
    for part in told:
        if part.column is not None and part.label is None:
            assert part.share * whole == pytest.approx(columns[part.column], abs=1e-9)
        elif part.column is not None and part.label is not None:
            label = part.column, part.label
            assert part.share * whole == pytest.approx(cost_of[label])
            assert part.records == records_of[label]


def test_labels_are_few_and_the_dearest_come_first() -> None:
    problem = random_problem(800)
    found = recode(problem, Control())
    told = [part for part in parts(problem, found) if part.label is not None]
    assert len(told) == MOST_LABELS
    average = 1 / int(problem.counts.sum())
    beyond = [part.share - part.records * average for part in told]
    assert beyond == sorted(beyond, reverse=True)
    assert min(beyond) > 0
