"""Sorting entries with their counts gives the same whether both fit into one number or not."""

from __future__ import annotations

import numpy as np
import pytest

from tableveil.classes.numpy_details import _sorted


@pytest.mark.parametrize("most", [1, 7, 2**40])
def test_sorted_entries(most: int) -> None:
    random = np.random.default_rng(most)
    keys, counts = random.integers(0, 50, 400), random.integers(1, most + 1, 400)
    together = [_sorted(keys, counts, space) for space in (50, 2**62)]
    for found_keys, found_counts in together:
        assert found_keys.tolist() == sorted(keys.tolist())
        assert sorted(zip(found_keys.tolist(), found_counts.tolist(), strict=True)) == sorted(
            zip(keys.tolist(), counts.tolist(), strict=True)
        )
