"""The comparators of differentially private releases."""

import random

import numpy as np

from benchmarks.differential_privacy.safepub import at_least, sampling, walk
from tableveil.differential_privacy import Gains
from tableveil.lattice import Lattice


def test_sampling_needs_larger_classes_for_a_smaller_delta() -> None:
    share, k = sampling(1.0, 1e-6)
    assert (round(share, 3), k) == (0.632, 74)
    assert sampling(1.0, 1e-4)[1] < k


def test_a_walk_with_much_of_epsilon_goes_to_the_best() -> None:
    groups = tuple((np.arange(4) >> level).astype(np.int32) for level in range(3))
    values = tuple(np.full(4, (2 - level) << 26) for level in range(3))
    codes = np.array([0, 1, 2, 3], np.int32)
    gains = Gains([groups], [values], [codes], np.array([9, 9, 1, 1]), at_least(10))
    last, best = walk(gains, Lattice((0,), (2,)), 10, 1e6, 1, random.Random(1).random)
    assert last == best == (1,)
