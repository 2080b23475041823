"""Reference tables as problems in memory: samples, populations, and sensitive columns with their order."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from benchmarks.models import Models
from benchmarks.search.in_memory import problem_of
from tableveil.classes import ClassCounter
from tableveil.policy import Distance, KAnonymity, LossModel, OrderBy, TCloseness

K = KAnonymity(2)
LIMIT = Decimal("0.4")

# The cities in the order of their names: Bad "Town"; North, Rom, Ulm.
CITIES = ("city",)


def test_a_sample_is_counted_beside_its_population(data: Path) -> None:
    problem = problem_of(data, "tiny", CITIES, Models((K,), LossModel(), LIMIT, sensitive=("age",), every=3))
    classes = problem.counter.classes((0,))
    assert classes.counts.tolist() == [2, 1, 1]
    assert classes.population().tolist() == [4, 4, 4]
    assert problem.suppressible == 1
    assert [column.counts.tolist() for column in problem.counter.sensitive] == [[1, 1, 1, 1]]
    values = classes.values(0)
    # 1 and 3, 2, 05.
    assert list(zip(values.classes, values.values, values.counts, strict=True)) == [
        (0, 0, 1),
        (0, 2, 1),
        (1, 1, 1),
        (2, 3, 1),
    ]


@pytest.mark.parametrize(
    ("orders", "counts"),
    [({}, [2, 2, 3, 3, 2]), ({"age": OrderBy.NUMBER}, [2, 2, 3, 3, 2]), ({"age": OrderBy.TYPE}, [3, 2, 2, 2, 3])],
)
def test_codes_are_ordered_by_number_unless_the_case_says_otherwise(
    data: Path, orders: dict[str, OrderBy], counts: list[int]
) -> None:
    """1, 2, 3, 04, 05 by number; 04, 05, 1, 2, 3 as texts."""
    counter = _counter(data, Models((K,), LossModel(), LIMIT, sensitive=("age",), orders=orders))
    assert counter.sensitive[0].counts.tolist() == counts
    assert counter.sensitive[0].levels is None


def test_hierarchies_of_sensitive_columns_are_in_their_order(data: Path) -> None:
    model = TCloseness("age", Decimal("0.2"), Distance.HIERARCHICAL)
    levels = _counter(data, Models((K, model), LossModel(), LIMIT, sensitive=("age",))).sensitive[0].levels
    assert levels is not None
    low, high = levels.labels[0].index("low"), levels.labels[0].index("high")
    assert levels.groups[1].tolist() == [low, low, low, high, high]


def test_generated_columns_are_added(data: Path) -> None:
    codes = np.arange(12) % 4
    counter = problem_of(data, "tiny", CITIES, Models((K,), LossModel(), LIMIT), {"made": codes}).counter
    assert [column.column for column in counter.sensitive] == ["made"]
    values = counter.classes((0,)).values(0)
    assert values.counts.tolist() == [1] * 12


def _counter(data: Path, models: Models) -> ClassCounter:
    return problem_of(data, "tiny", CITIES, models).counter
