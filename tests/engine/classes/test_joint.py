"""How much alike those of an earlier class are now, against all pairs of records."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.classes import agreement

records = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(1, 3)), max_size=8)


@given(records)
def test_the_agreement_is_that_of_all_pairs(rows: list[tuple[int, int, int]]) -> None:
    every = [(earlier, now) for earlier, now, number in rows for _ in range(number)]
    pairs = list(combinations(every, 2))
    within = [one[1] == other[1] for one, other in pairs if one[0] == other[0]]
    chance = sum(one[1] == other[1] for one, other in pairs) / len(pairs) if pairs else 1.0
    found = agreement(*np.array(rows, np.int64).reshape(-1, 3).T)
    if not within or chance == 1:
        assert found is None
    else:
        assert found == pytest.approx((sum(within) / len(within) - chance) / (1 - chance))
