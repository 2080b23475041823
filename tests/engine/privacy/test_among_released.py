"""t, beta and delta against the released rows, by brute force: what a recipient finds who has nothing else."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import AbsentValues, BetaLikeness, DeltaDisclosure, Distance, TCloseness
from tableveil.privacy.among_released import among_released
from tests.engine.privacy.monotonicity import COLUMN, SmallTable, small_tables
from tests.engine.privacy.test_diversity_of_people import OwnedTable
from tests.engine.privacy.test_elements import TABLES, distance

ONE = Decimal(1)
MODELS = (
    TCloseness(COLUMN, ONE),
    TCloseness(COLUMN, ONE, Distance.ORDERED),
    BetaLikeness(COLUMN, ONE),
    BetaLikeness(COLUMN, ONE, enhanced=True),
    DeltaDisclosure(COLUMN, ONE),
    DeltaDisclosure(COLUMN, ONE, AbsentValues.IGNORE),
)


def figures(classes: list[Counter[int]]) -> list[float]:
    """The figures of the worst class, in the order of the models; values that nobody has are not there."""
    whole = sum(classes, Counter[int]())
    places = sorted(whole)
    found = []
    for one in classes:
        q, p = ({code: Fraction(of[code], of.total()) for code in places} for of in (one, whole))
        rises = [abs(sum((q[c] - p[c] for c in places[: i + 1]), Fraction(0))) for i in range(len(places) - 1)]
        gains = [(float(q[c] / p[c] - 1), -math.log(p[c])) for c in places if q[c]]
        logarithms = [abs(math.log2(q[c] / p[c])) for c in places if q[c]]
        found.append(
            (
                float(sum(max(q[c] - p[c], Fraction(0)) for c in places)),
                float(sum(rises, Fraction(0)) / max(len(places) - 1, 1)),
                max(gain for gain, _ in gains),
                max(gain if gain <= most + 1e-12 else math.inf for gain, most in gains),
                max(logarithms) if all(q.values()) else math.inf,
                max(logarithms),
            )
        )
    return [max(each) for each in zip(*found, strict=True)]


@given(small_tables(), st.data())
def test_figures_are_those_of_the_released_rows(table: SmallTable, data: st.DataObject) -> None:
    classes, _ = table.at(data.draw(st.sampled_from(list(table.lattice))))
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(classes.counts), max_size=len(classes.counts))))
    kept[data.draw(st.integers(0, len(kept) - 1))] = True
    released = classes.selected(kept)
    values = released.values(table.facts.sensitive(COLUMN)[0])
    spread = [Counter[int]() for _ in released.counts]
    for number, code, records in zip(values.classes, values.values, values.counts, strict=True):
        spread[number][int(code)] += int(records)
    found = [reached for *_, reached in among_released(table.facts, MODELS, released)]
    assert found == pytest.approx(figures(spread), abs=1e-9)


@given(TABLES, st.data())
def test_elements_are_compared_with_those_of_the_released_rows(table: OwnedTable, data: st.DataObject) -> None:
    x = data.draw(st.sampled_from(list(table.lattice)))
    classes, rows = table.at(x)[0], table.of_classes(x)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    kept[data.draw(st.integers(0, len(rows) - 1))] = True
    chosen = [of for of, here in zip(rows, kept, strict=True) if here]
    whole = [one for of in chosen for one in of]
    ((*_, reached),) = among_released(table.facts, (TCloseness(COLUMN, ONE),), classes.selected(kept))
    assert reached == pytest.approx(float(max(distance(of, whole) for of in chosen)))
