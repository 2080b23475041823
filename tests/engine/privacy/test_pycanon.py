"""An independent opinion on the parameters of classes, where pycanon has one that follows the definitions.

Where it does not: its delta is in natural logarithms and passes over values that a class lacks; its recursive (c,l)
takes the rarest value for the most frequent; its enhanced beta does not hold each value to its own limit; its entropy l
is cut to a whole number, which makes 1 of the 2 of two equally frequent values when floats drift.
"""

import math
from random import Random
from typing import Any

import numpy as np
import pytest

from tableveil.policy import AbsentValues
from tableveil.privacy.disclosure import delta
from tableveil.privacy.diversity import distinct
from tableveil.privacy.entropy_diversity import entropy_l
from tableveil.privacy.likeness import beta
from tests.engine.privacy.small_classes import Value, counted, valued

NAMES = (["quasi_identifier"], ["sensitive"])


@pytest.fixture(scope="module")
def anonymity() -> Any:
    return pytest.importorskip("pycanon.anonymity")


def both(seed: int, values: str) -> tuple[list[list[Value]], Any]:
    """Random classes, also as a data frame."""
    pandas = pytest.importorskip("pandas")
    random = Random(seed)
    classes: list[list[Value]] = [random.choices(values, k=random.randint(6, 30)) for _ in range(12)]
    rows = [(number, value) for number, of in enumerate(classes) for value in of]
    return classes, pandas.DataFrame(rows, columns=[NAMES[0][0], NAMES[1][0]])


@pytest.mark.parametrize("seed", range(1, 6))
def test_pycanon_agrees(anonymity: Any, seed: int) -> None:
    classes, frame = both(seed, "aaabbbccde")
    facts, found = counted(classes)
    values, column = found.values(0), valued(facts)
    assert distinct(values, column).min() == anonymity.l_diversity(frame, *NAMES)
    assert math.floor(entropy_l(values, column).min()) == anonymity.entropy_l_diversity(frame, *NAMES)
    assert beta(values, column).max() == pytest.approx(anonymity.basic_beta_likeness(frame, *NAMES))
    present = delta(values, column, AbsentValues.IGNORE).max()
    assert present * math.log(2) == pytest.approx(anonymity.delta_disclosure(frame, *NAMES))


def test_pycanon_passes_over_absent_values(anonymity: Any) -> None:
    classes, frame = both(1, "ab")
    classes.append(["c", "c"])
    frame.loc[len(frame)] = [12, "c"]
    frame.loc[len(frame)] = [12, "c"]
    facts, found = counted(classes)
    assert math.isfinite(anonymity.delta_disclosure(frame, *NAMES))
    assert np.isinf(delta(found.values(0), valued(facts), AbsentValues.REJECT)).all()
