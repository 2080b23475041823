"""Rows by the values of a column are in the order of their codes, whether these fit into one number or not."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.counting.choose import _ascending


@pytest.mark.parametrize("radices", [[3, 4], [3, 2**31, 2**29], [2**31, 2**31, 2**31, 5], [2**40, 2**40, 1]])
@pytest.mark.parametrize("most", [1, 1000])
def test_ascending(radices: list[int], most: int) -> None:
    random = np.random.default_rng(most + len(radices))
    rows = np.unique(np.stack([random.integers(0, radix, 300) for radix in radices], axis=1), axis=0)
    counts = random.integers(1, most + 1, len(rows))
    order = random.permutation(len(rows))
    codes: list[NDArray[np.integer[Any]]] = [column[order] for column in rows.T]
    words, found = _ascending(radices, codes, counts[order])
    assert found.tolist() == counts.tolist()
    combinations, values = np.divmod(words[-1], radices[-1])
    assert values.tolist() == rows[:, -1].tolist()
    # Neighbours differ in a word where the rows differ beside the value.
    differs = np.any([np.diff(word) != 0 for word in (*words[:-1], combinations)], axis=0)
    assert differs.tolist() == np.any(np.diff(rows[:, :-1], axis=0) != 0, axis=1).tolist()
