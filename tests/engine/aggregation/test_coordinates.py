"""Distances against their definition, and sums that need no rounding."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.aggregation import AggregatedColumn, Points, coordinates
from tableveil.hierarchy import AttributeLevels
from tests.engine.microaggregation.tables import POSITIONS, hierarchies, levels_of, nominal, numeric, tables


def once_each(*columns: AggregatedColumn, counts: list[int] | None = None) -> Points:
    """A point per code."""
    number = len(columns[0].counts)
    codes = tuple(np.arange(number, dtype=np.int32) for _ in columns)
    return Points(columns, codes, np.array(counts or [1] * number))


def squared_distances(points: Points) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    at = coordinates(points)
    squared: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = ((at[:, None] - at[None]) ** 2).sum(axis=2)
    return squared


def level_in_common(levels: AttributeLevels, a: int, b: int) -> int:
    return next(level for level, groups in enumerate(levels.groups) if groups[a] == groups[b])


@given(levels=hierarchies(), data=st.data())
def test_nominal_distances_are_levels_in_common_divided_by_the_variance(
    levels: AttributeLevels, data: st.DataObject
) -> None:
    number = len(levels.groups[0])
    counts = data.draw(st.lists(st.integers(1, 5), min_size=number, max_size=number))
    codes = range(number)
    by_definition = np.array([[(level_in_common(levels, a, b) / levels.top) ** 2 for b in codes] for a in codes])
    # The mean of all squared distances between two records is twice the total variance.
    share = np.array(counts) / sum(counts)
    variance = share @ by_definition @ share / 2

    found = squared_distances(once_each(nominal(levels), counts=counts))

    assert found == pytest.approx(by_definition / (variance or 1.0), rel=1e-9, abs=1e-9)


@given(points=tables())
def test_each_column_has_the_variance_of_its_weight(points: Points) -> None:
    weights = [column.weight for column in points.columns]
    varying = [len(set(codes.tolist())) > 1 for codes in points.codes]
    if not any(weight and vary for weight, vary in zip(weights, varying, strict=True)):
        assert not coordinates(points).any()
        return
    at = np.repeat(coordinates(points), points.counts, axis=0)
    # Positions may be the same beside much larger ones.
    expected = sum(weight / max(weights) for weight, vary in zip(weights, varying, strict=True) if vary)
    assert at.var(axis=0).sum() <= expected * (1 + 1e-9)
    assert np.isfinite(at).all()
    for column, codes in zip(points.columns, points.codes, strict=True):
        alone = coordinates(Points((column,), (codes,), points.counts))
        total = np.repeat(alone, points.counts, axis=0).var(axis=0).sum()
        assert total == pytest.approx(1.0) or total == 0.0


@given(points=tables())
def test_sums_over_records_are_exact(points: Points) -> None:
    for along in coordinates(points).T:
        values = np.repeat(along, points.counts).tolist()
        assert sum(values) == sum(reversed(values)) == math.fsum(values) == along @ points.counts


@given(positions=st.sets(POSITIONS, min_size=2, max_size=8).map(sorted))
def test_numbers_keep_their_distances_whatever_their_scale(positions: list[float]) -> None:
    largest = max(map(abs, positions))
    scaled = [position / largest for position in positions]
    at = coordinates(once_each(numeric(positions)))[:, 0]

    standardized = (np.array(scaled) - np.mean(scaled)) / (np.std(scaled) or 1.0)
    if np.std(scaled) > 1e-6:
        assert at == pytest.approx(standardized, abs=1e-6)
    assert (np.diff(at) >= 0).all()


@pytest.mark.parametrize("positions", [[1e15, 1e15 + 1, 1e15 + 3], [5e-324, 1e-323, 2e-323], [-1.7e308, 0.0, 1.7e308]])
def test_scales_at_the_ends_of_what_numbers_can_say(positions: list[float]) -> None:
    at = coordinates(once_each(numeric(positions)))[:, 0]

    first, second = np.diff(at)
    expected = (positions[1] / 2 - positions[0] / 2) / (positions[2] / 2 - positions[1] / 2)
    if positions[2] < 1e-300:
        expected = 1 / 2
    assert first / second == pytest.approx(expected)
    assert at.var() == pytest.approx(1)


def test_many_labels_have_few_coordinates_and_about_their_distances() -> None:
    """A hundred groups of ten values: values of one group are nearer to each other."""
    codes = np.arange(1000)
    levels = levels_of([(codes // 10).tolist(), (codes // 500).tolist()])
    at = coordinates(once_each(nominal(levels)))

    assert at.shape[1] < 50
    chosen = [0, 1, 11, 400, 500, 999]
    exact = {(a, b): (level_in_common(levels, a, b) / 3) ** 2 for a, b in itertools.combinations(chosen, 2)}
    found = {(a, b): float(((at[a] - at[b]) ** 2).sum()) for a, b in exact}
    scale = sum(found.values()) / sum(exact.values())
    assert all(distance > 0 for distance in found.values())
    # The highest level is exact.
    assert next(pair for pair in sorted(exact, key=found.__getitem__) if exact[pair] < 1) == (0, 1)
    for pair, distance in exact.items():
        assert found[pair] / scale == pytest.approx(distance, rel=0.6)
