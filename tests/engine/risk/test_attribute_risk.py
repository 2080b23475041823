"""Risks of subsets of attributes, and special uniques, against records that are compared one by one."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.risk import (
    Frequencies,
    SubsetRisks,
    default_size,
    largest_size,
    number_of_subsets,
    proposed_identifiers,
    score_of,
    subset_risks,
    subsets,
)

Record = tuple[int, ...]


def histogram(records: Sequence[Record], values: tuple[int, ...]) -> tuple[Frequencies, list[Record]]:
    """The base histogram of records, and its combinations in their order."""
    counted = Counter(records)
    rows = list(counted)
    codes = tuple(np.array([row[j] for row in rows], np.uint32) for j in range(len(values)))
    return Frequencies(codes, values, np.array([counted[row] for row in rows], np.int64)), rows


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Record], tuple[int, ...]]:
    values = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=5)))
    record = st.tuples(*(st.integers(0, value - 1) for value in values))
    return draw(st.lists(record, max_size=25)), values


def minimal_uniques(record: Record, records: list[Record], size: int) -> list[tuple[int, ...]]:
    """The definition: alone with the values of these attributes, and not with those of any of their subsets."""
    found: list[tuple[int, ...]] = []
    for members in range(1, size + 1):
        for subset in combinations(range(len(record)), members):
            alone = sum(all(other[j] == record[j] for j in subset) for other in records) == 1
            if alone and not any(set(less) < set(subset) for less in found):
                found.append(subset)
    return found


def check(result: SubsetRisks, records: list[Record], rows: list[Record], attributes: int) -> None:
    expected = [s for m in range(1, result.size + 1) for s in combinations(range(attributes), m)]
    assert [risk.attributes for risk in result.subsets] == expected
    msus = {row: minimal_uniques(row, records, result.size) for row in rows}
    for risk in result.subsets:
        projected = [tuple(record[j] for j in risk.attributes) for record in records]
        assert risk.records == len(records)
        assert risk.distinct == len(set(projected))
        assert risk.separated == sum(a != b for a, b in combinations(projected, 2))
        assert risk.unique == sum(count == 1 for count in Counter(projected).values())
        assert risk.minimal_unique == sum(risk.attributes in found for found in msus.values())
    worth = {m: prod(attributes - i for i in range(m, result.size + 1) if i < attributes) for m in range(1, 6)}
    special = result.special
    assert special.scores.tolist() == [sum(worth[len(s)] for s in msus[row]) for row in rows]
    assert special.found.tolist() == [len(msus[row]) for row in rows]
    assert special.smallest.tolist() == [min(map(len, msus[row]), default=0) for row in rows]
    every = [subset for found in msus.values() for subset in found]
    assert special.by_size == tuple(sum(len(s) == m for s in every) for m in range(1, result.size + 1))
    assert special.by_attribute == tuple(sum(j in s for s in every) for j in range(attributes))
    assert special.score_by_attribute == tuple(sum(worth[len(s)] for s in every if j in s) for j in range(attributes))


@given(tables(), st.integers(1, 5))
def test_every_subset_as_defined(table: tuple[list[Record], tuple[int, ...]], size: int) -> None:
    records, values = table
    frequencies, rows = histogram(records, values)
    result = subset_risks(frequencies, size)
    assert result.size == min(size, len(values))
    check(result, records, rows, len(values))


@pytest.mark.parametrize(("cells", "widened", "rows_at_most"), [(7, 7, 25), (30, 7, 25), (300, 0, 25), (300, 300, 9)])
@given(table=tables())
def test_sorted_or_in_tables_alike(
    cells: int, widened: int, rows_at_most: int, table: tuple[list[Record], tuple[int, ...]]
) -> None:
    """Few cells or rows, so that some subsets or all of them are sorted; many tables, and pieces of few rows."""
    records, values = table
    frequencies, rows = histogram(records, values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsets, "FEWEST_CELLS", cells)
        patch.setattr(subsets, "MOST_CELLS", cells)
        patch.setattr(subsets, "WIDENED_CELLS", widened)
        patch.setattr(subsets, "MOST_ROWS", rows_at_most)
        patch.setattr(subsets, "PIECE", 3)
        check(subset_risks(frequencies, 3), records, rows, len(values))


def test_many_values_in_many_attributes() -> None:
    """More combinations could be than a 64-bit integer tells apart: keys are numbered anew on the way."""
    values = (2**20,) * 6
    records: list[Record] = [(7,) * 6, (2**20 - 1,) * 6, (7,) * 5 + (0,), (0,) + (7,) * 5, (0,) + (7,) * 5]
    frequencies, rows = histogram(records, values)
    check(subset_risks(frequencies, 6), records, rows, 6)


@pytest.mark.long
def test_many_records_in_many_rows() -> None:
    """Records are added up exactly beside the numbers of their rows, and a single record's row is found."""
    rng = np.random.default_rng(1)
    rows = 100_000
    codes = (rng.integers(0, 3, rows), rng.integers(0, 90_000, rows), np.zeros(rows, np.int64))
    records = np.where(rng.random(rows) < 0.5, 1, rng.integers(1, 80_000, rows))
    result = subset_risks(Frequencies(codes, (3, 90_000, 2), records), 2)
    for risk in result.subsets:
        keys = np.stack([codes[j] for j in risk.attributes])
        numbers = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
        counts = np.zeros(numbers.max() + 1, np.int64)
        np.add.at(counts, numbers, records)
        assert risk.distinct == len(counts)
        assert risk.separated == (int(records.sum()) ** 2 - sum(count**2 for count in counts.tolist())) // 2
        assert risk.unique == (counts == 1).sum()
        if risk.attributes == (1,):
            unique = counts[numbers] == 1
            assert 0 < risk.unique < rows
            assert np.array_equal(result.special.smallest == 1, unique)


def test_by_hand() -> None:
    """The example of Motwani and Xu 2007: ages 20, 30, 40, 20, 40; sexes F, F, F, M, M; states CA, CA, TX, NY, CA."""
    records = [(0, 0, 0), (1, 0, 0), (2, 0, 1), (0, 1, 2), (2, 1, 0)]
    frequencies, _ = histogram(records, (3, 2, 3))
    found = {risk.attributes: risk for risk in subset_risks(frequencies, 2).subsets}
    assert (found[0,].distinction, found[0,].separation) == (0.6, 0.8)
    assert (found[1, 2].distinction, found[1, 2].separation) == (0.8, 0.9)


@pytest.mark.parametrize(("records", "distinction"), [([], 0.0), ([(0, 1)], 1.0)])
def test_hardly_any_records(records: list[Record], distinction: float) -> None:
    frequencies, _ = histogram(records, (1, 2))
    for risk in subset_risks(frequencies, 2).subsets:
        assert (risk.distinction, risk.separation, risk.separated) == (distinction, 0.0, 0)


def test_shares_are_shares() -> None:
    rng = np.random.default_rng(1)
    records = [tuple(row) for row in rng.integers(0, 4, (200, 4)).tolist()]
    for risk in subset_risks(histogram(records, (4,) * 4)[0], 4).subsets:
        assert 0 < risk.distinction <= 1
        assert 0 < risk.separation < 1
        assert risk.minimal_unique <= risk.unique <= risk.distinct


@pytest.mark.parametrize(
    ("attributes", "members", "size", "score"),
    # With all sizes looked for, (attributes - members)!.
    [(8, 1, 3, 7 * 6 * 5), (8, 3, 3, 5), (4, 1, 4, 6), (4, 4, 4, 1), (4, 3, 4, 1), (4, 2, 4, 2), (1, 1, 1, 1)],
)
def test_scores(attributes: int, members: int, size: int, score: float) -> None:
    assert score_of(attributes, members, size) == score


def test_number_of_subsets_is_bounded() -> None:
    assert number_of_subsets(8, 3) == 8 + comb(8, 2) + comb(8, 3)
    assert [largest_size(attributes) for attributes in (1, 8, 10, 20, 40, 3000)] == [1, 8, 10, 3, 2, 1]
    assert default_size(8, 1000) == 3
    assert default_size(8, 10**7) == 2
    assert default_size(2, 1000) == 2
    frequencies, _ = histogram([(0,) * 20], (1,) * 20)
    with pytest.raises(ValueError, match="1 to 3 can be counted"):
        subset_risks(frequencies, 4)
    with pytest.raises(ValueError, match="size 0"):
        subset_risks(frequencies, 0)


def test_proposals_are_minimal() -> None:
    """The first two attributes together tell all apart, the third all but two; the fourth nobody."""
    records = [(i // 4, i % 4, max(i, 1), 0) for i in range(16)]
    frequencies, _ = histogram(records, (4, 4, 16, 1))
    found = proposed_identifiers(subset_risks(frequencies, 3).subsets, 0.9, 1.0)
    assert [risk.attributes for risk in found] == [(0, 1), (2,)]
    found = proposed_identifiers(subset_risks(frequencies, 3).subsets, 1.0, 1.0)
    assert [risk.attributes for risk in found] == [(0, 1), (1, 2)]
