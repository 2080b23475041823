"""Classes written as lists of values, and random ones, for checking models by their definitions."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from tableveil.classes import EquivalenceClasses, NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.privacy import Facts, ReleaseRule
from tests.engine.privacy.monotonicity import COLUMN

Value = str | None

VALUES: list[Value] = ["a", "b", "c", "d", None]


def counted(classes: Sequence[Sequence[Value]], elsewhere: Sequence[Value] = ()) -> tuple[Facts, EquivalenceClasses]:
    """A source of these classes, told apart by a quasi-identifier, and of withheld records `elsewhere`."""
    names = [f"q{i:05}" for i in range(len(classes))]
    labelled = label_values(InlineLevels(tuple((name, "*") for name in names)), ValueKind.TEXT, names, names)
    whole = Counter([*(value for values in classes for value in values), *elsewhere])
    order = sorted(value for value in whole if value is not None)
    column = SensitiveColumn(
        COLUMN,
        np.array([whole[value] for value in order] + [whole[None]] * (None in whole), np.int64),
        null_code=len(order) if None in whole else None,
    )
    code: dict[Value, int] = {value: number for number, value in enumerate(order)} | {None: len(order)}
    entries = sorted((i, code[value], n) for i, values in enumerate(classes) for value, n in Counter(values).items())
    rows = np.array(entries, np.int64).reshape(-1, 3)
    counter = NumpyCounter(
        [attribute_levels(labelled, has_null=False)],
        [np.arange(len(classes), dtype=np.int32)],
        np.array([len(values) for values in classes], np.int64),
        withheld=len(elsewhere),
        sensitive=[(column, SensitiveRows(rows[:, 0], rows[:, 1], rows[:, 2]))],
    )
    return Facts(counter), counter.classes((0,))


def valued(facts: Facts) -> SensitiveColumn:
    """The sensitive column."""
    return facts.sensitive(COLUMN)[1]


def shares(values: Sequence[Value]) -> dict[Value, Fraction]:
    """The shares of the values that occur, including NULL."""
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def suppressed(rule: ReleaseRule, classes: EquivalenceClasses) -> int:
    """Records in classes that are not released."""
    return int(classes.counts[~rule.releasable(classes)].sum())


def lost(rule: ReleaseRule, classes: EquivalenceClasses) -> list[int]:
    """Lost records per class, for a rule that knows them."""
    found = rule.lost(classes)
    assert found is not None
    return [int(records) for records in found]


@st.composite
def random_classes(draw: st.DrawFn) -> list[list[Value]]:
    """A few classes; counts are often equal, and sometimes of another size."""
    times = st.sampled_from([1, 1, 2, 2, 3, 4, 12])
    values = VALUES[: draw(st.integers(1, 4))] + [None] * draw(st.integers(0, 1))
    runs = st.lists(st.tuples(st.sampled_from(values), times), min_size=1, max_size=6)
    return [[value for value, n in found for _ in range(n)] for found in draw(st.lists(runs, min_size=1, max_size=5))]


def decimals(least: str, most: str, places: int = 2) -> st.SearchStrategy[Decimal]:
    """Thresholds."""
    return st.decimals(Decimal(least), Decimal(most), places=places)
