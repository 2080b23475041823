"""(n,t)-closeness for classes that were chosen among the records with their labels: n of one value hold anywhere."""

import itertools
from decimal import Decimal

import numpy as np

from tableveil.local_recoding.judge import Judge
from tableveil.policy import Distance, KAnonymity, NTCloseness
from tests.engine.local_recoding.small_tables import HIERARCHIES, SmallTable, label_cost, levels_of

N, T = 4, 0.3

PEOPLE = ["au", "au", "cu", "cu", "bu", "bu", "dv", "dv"]
FLU, COLD = [0] * 4, [1] * 4


def test_n_chosen_records_of_one_value_hold_and_no_natural_superset_is_near() -> None:
    codes = np.array([["abcd".index(letter), "uvw".index(place)] for letter, place in map(list, PEOPLE)])
    values = np.array(FLU + COLD)
    table = SmallTable(tuple(map(levels_of, HIERARCHIES[:2])), codes, values, np.zeros((0, 2), np.int64))
    problem = table.problem((KAnonymity(N), NTCloseness("illness", N, Decimal(str(T)), Distance.EQUAL)))
    # The definition for transformations takes both classes, whose labels differ.
    classes = np.array([values[(table.records == row).all(axis=1)][0] for row in problem.codes])
    assert problem.privacy.releasable(Judge(problem).released(classes)).all()
    assert label_cost(problem, table.records[values == 0]) < label_cost(problem, table.records[values == 1])
    # All with labels that everybody in the first class has: at least n records, and none near.
    near = []
    for at in itertools.product(*(range(levels.top + 1) for levels in table.levels)):
        groups = [levels.groups[at[j]][table.records[:, j]] for j, levels in enumerate(table.levels)]
        if all(len(set(group[values == 0].tolist())) == 1 for group in groups):
            inside = np.logical_and.reduce([group == group[0] for group in groups])
            near.append(inside.sum() >= N and 1 - (values[inside] == 0).mean() <= T)
    assert near == [False, False]
