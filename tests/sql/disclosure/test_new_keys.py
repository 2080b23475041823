"""Rows of people whose keys are new recur; those of others from the same population do not, however skewed it is."""

import numpy as np
import pytest

from tableveil.disclosure.new_keys import Cells, no_old_keys
from tableveil.state.sketches import RowsOfKeys


def _rows(rng: np.random.Generator, people: int) -> Cells:
    """Ages, sexes, and a few of many towns and jobs: common combinations are everywhere, and rare ones nowhere."""
    skewed = [rng.exponential(scale, people).astype(np.uint16) + 1 for scale in (0.6, 0.7)]
    age, sex = rng.normal(40, 12, people).clip(17, 90).astype(np.uint16), rng.integers(1, 3, people).astype(np.uint16)
    return np.column_stack([age, sex, *skewed])


@pytest.mark.parametrize("names", [("age", "sex", "town", "job"), ("alter", "c2", "ort", "x")])
@pytest.mark.parametrize("seed", range(8))
def test_common_rows_are_everywhere_and_rare_ones_recur(seed: int, names: tuple[str, ...]) -> None:
    rng, people = np.random.default_rng(seed), 2_000

    def told(cells: Cells) -> bool:
        keys = [rng.integers(1, 2**40, people).astype(np.uint64) for _ in range(2)]
        before = RowsOfKeys(0, keys[0], released, ("age", "sex", "town", "job"))
        return no_old_keys(before, RowsOfKeys(0, keys[1], cells, names)) is not None

    released = _rows(rng, people)
    assert told(rng.permutation(released))
    assert not told(_rows(rng, people))
