"""Entries are summed by class and code alike, whether they fit into one number together with their counts or not."""

from collections import Counter

import numpy as np
import pytest

from tableveil.classes.numpy_details import MOST_BITS, _grouped


@pytest.mark.parametrize("largest", [0, 7, 2**40])
@pytest.mark.parametrize("most", [1, 7, 2**40])
def test_grouped_entries(most: int, largest: int) -> None:
    random = np.random.default_rng(most + largest)
    number, counts = random.integers(0, 50, 400), random.integers(1, most + 1, 400)
    codes = random.choice([0, largest // 2, largest], 400)
    found = _grouped(number, codes, counts)
    expected: Counter[tuple[int, int]] = Counter()
    for one, code, count in zip(number.tolist(), codes.tolist(), counts.tolist(), strict=True):
        expected[one, code] += count
    together = zip(found.classes.tolist(), found.values.tolist(), strict=True)
    assert list(zip(together, found.counts.tolist(), strict=True)) == sorted(expected.items())


def test_both_ways_are_tried() -> None:
    """The largest numbers of the other test do not fit together."""
    assert (7).bit_length() + 2 * (2**40).bit_length() > MOST_BITS


def test_no_entries() -> None:
    nothing = np.zeros(0, np.int64)
    assert len(_grouped(nothing, nothing, nothing).counts) == 0
