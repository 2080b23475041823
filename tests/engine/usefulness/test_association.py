"""Cramér's V."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.usefulness import contingency, cramers_v


def test_what_tells_everything_is_one() -> None:
    assert cramers_v(np.diag([500, 300, 200])) == pytest.approx(1.0, abs=1e-9)


def test_what_tells_nothing_is_nought() -> None:
    assert cramers_v(np.outer([50, 30, 20], [7, 3])) == 0.0


def test_a_single_value_goes_with_nothing() -> None:
    assert cramers_v(np.array([[5, 3]])) is None
    assert cramers_v(np.zeros((0, 0), np.int64)) is None


def test_as_in_scipy_but_for_the_correction() -> None:
    stats = pytest.importorskip("scipy.stats")
    table = np.array([[30, 10, 5], [8, 25, 12]])
    n, (r, k) = table.sum(), table.shape
    phi2 = stats.chi2_contingency(table, correction=False).statistic / n
    corrected = phi2 - (r - 1) * (k - 1) / (n - 1)
    expected = np.sqrt(corrected / min(r - (r - 1) ** 2 / (n - 1) - 1, k - (k - 1) ** 2 / (n - 1) - 1))
    assert cramers_v(table) == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4), st.integers(1, 50)), min_size=1))
def test_it_is_a_share_whichever_comes_first(entries: list[tuple[int, int, int]]) -> None:
    first, second, records = (np.array(values) for values in zip(*entries, strict=True))
    table = contingency(first, second, records)
    assert table.sum() == records.sum()
    v, turned = cramers_v(table), cramers_v(contingency(second, first, records))
    assert (v is None) == (turned is None)
    if v is not None:
        assert 0 <= v <= 1
        assert v == pytest.approx(turned)
