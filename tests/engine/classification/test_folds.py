"""Folds: every record in one, as many of each class in all of them, and the same whatever is trained on."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tableveil.classification.cross_validation import Folds, assign_folds


@given(st.lists(st.integers(0, 3), min_size=2, max_size=60), st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_folds_differ_by_one_record_at_most(classes: list[int], folds: int, seed: int) -> None:
    assigned = assign_folds(np.array(classes), folds, seed)
    for chosen in [np.ones(len(classes), np.bool_), *(np.array(classes) == code for code in range(4))]:
        sizes = np.bincount(assigned[chosen], minlength=folds)
        assert len(sizes) == folds
        assert np.ptp(sizes) <= 1


def test_the_seed_decides() -> None:
    classes = np.zeros(50, np.int32)
    assert (assign_folds(classes, 5, 7) == assign_folds(classes, 5, 7)).all()
    assert (assign_folds(classes, 5, 7) != assign_folds(classes, 5, 8)).any()


def test_the_baseline_tells_the_shares_of_the_other_folds() -> None:
    folds = Folds(np.array([0, 0, 0, 1]), 3, np.array([0, 0, 1, 1], np.int32))
    assert folds.baseline().tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0], [1, 0, 0], [1, 0, 0]]
