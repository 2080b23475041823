"""People who share labels, counted one by one."""

from collections import Counter
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tableveil.game import SUPPRESSED, Assignment, in_order, people_of_labels
from tests.engine.game.test_record_level import Table, tables


@given(tables(), st.randoms(use_true_random=False))
def test_people_are_counted_whatever_they_are_released_at(table: Table, random: Random) -> None:
    transformations = in_order(table.lattice)
    many = len(table.values)
    chosen = [random.choice([SUPPRESSED, *range(len(transformations))]) for _ in range(many)]
    nothing = np.zeros(many)
    assignment = Assignment(transformations, np.array(chosen, np.int32), nothing.astype(np.int64), nothing)
    counts = {
        to: Counter[tuple[int, ...]](
            label
            for values, people in zip(table.values, table.combinations.people.tolist(), strict=True)
            for label in [table.labels(values, to)] * people
        )
        for to in transformations
    }
    expected = [
        0 if number == SUPPRESSED else counts[transformations[number]][table.labels(values, transformations[number])]
        for values, number in zip(table.values, chosen, strict=True)
    ]
    assert people_of_labels(table.combinations, assignment).tolist() == expected
