"""Parts prove what counting everything says, and never more."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.classes import PartCount, count_parts

GROUPS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda pair: (max(pair), min(pair))), max_size=30
)
"""Groups: the records in each, and how many of these are in small classes."""


@given(groups=GROUPS, most=st.integers(0, 200))
def test_only_what_is_true_is_proven(groups: list[tuple[int, int]], most: int) -> None:
    records, small = (np.array([pair[i] for pair in groups], np.int64) for i in (0, 1))
    seen = np.zeros(len(groups), np.int64)

    def count(part: NDArray[np.bool_]) -> PartCount:
        seen[part] += 1
        return PartCount(int(records[part].sum()), int(part.sum()), int(small[part].sum()))

    found = count_parts(records, most, count)
    assert seen.max(initial=0) <= 1
    # Parts are never most of the records: that would be no cheaper.
    assert records[seen > 0].sum() <= 0.6 * records.sum()
    if found is not None:
        counted = seen > 0
        assert found == PartCount(int(records[counted].sum()), int(counted.sum()), int(small[counted].sum()))
        assert small.sum() >= found.small > most


def test_a_small_part_is_enough_where_most_records_are_in_small_classes() -> None:
    records = np.full(100, 10)
    counted: list[int] = []

    def count(part: NDArray[np.bool_]) -> PartCount:
        counted.append(int(part.sum()))
        return PartCount(10 * counted[-1], counted[-1], 8 * counted[-1])

    assert count_parts(records, 50, count) is not None
    assert sum(counted) <= 12
    counted.clear()
    assert count_parts(records, 700, count) is None
    assert counted == []


def test_it_gives_up_where_few_records_are_in_small_classes() -> None:
    asked: list[int] = []

    def count(part: NDArray[np.bool_]) -> PartCount:
        asked.append(int(part.sum()))
        return PartCount(10, 1, 1)

    assert count_parts(np.full(100, 10), 50, count) is None
    assert sum(asked) <= 15
