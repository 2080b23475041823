"""Encoded features: standardized by the training records alone, unknown values apart, constants gone, sizes bounded."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.classification import FeatureValues
from tableveil.classification.encoding import FARTHEST, MOST_CATEGORIES, Encoding


def categories(number: int, unknown: int | None = None) -> FeatureValues:
    return FeatureValues(np.zeros(1, np.int32), number, unknown=unknown)


def numbers(*of_codes: float) -> FeatureValues:
    return FeatureValues(np.zeros(1, np.int32), len(of_codes), np.array(of_codes))


def encoded(
    values: FeatureValues, trained: list[int], told: list[int], records: list[int] | None = None
) -> NDArray[np.float64]:
    """The columns of a feature for some codes, learned from other codes."""
    codes = np.array(trained, np.int32)[:, None]
    weights = np.array(records or [1] * len(trained), np.int64)
    found: NDArray[np.float64] = (
        Encoding.of([values], codes, weights).matrix(np.array(told, np.int32)[:, None]).toarray()
    )
    return found


def test_a_category_has_an_indicator() -> None:
    assert encoded(categories(3), [0, 2, 1], [2, 0]).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_a_category_nobody_trained_on_had_has_none() -> None:
    assert encoded(categories(3), [0, 2], [1, 2]).tolist() == [[0, 0], [0, 1]]


def test_what_is_constant_where_it_is_trained_on_has_no_column() -> None:
    assert encoded(categories(3), [1, 1], [0, 1]).shape == (2, 0)
    assert encoded(numbers(4.0, 5.0), [1, 1], [0, 1]).shape == (2, 0)
    # The label of the top level: no value is known.
    assert encoded(numbers(np.nan), [0, 0], [0]).shape == (1, 0)
    assert encoded(numbers(np.nan, 3.0), [0, 0], [1]).shape == (1, 0)


def test_the_most_frequent_categories_have_indicators() -> None:
    many = MOST_CATEGORIES + 10
    records = [*([5] * MOST_CATEGORIES), *([1] * 10)]
    found = encoded(categories(many), list(range(many)), list(range(many)), records)
    assert found.shape == (many, MOST_CATEGORIES)
    assert (found[:MOST_CATEGORIES] == np.eye(MOST_CATEGORIES)).all()
    assert not found[MOST_CATEGORIES:].any()


def test_unknown_is_told_apart_however_rare() -> None:
    many = MOST_CATEGORIES + 10
    found = encoded(categories(many, unknown=many - 1), list(range(many)), [many - 1, 0], [*([5] * (many - 1)), 1])
    assert found.sum(axis=1).tolist() == [1, 1]
    assert found.shape == (2, MOST_CATEGORIES)


def test_numbers_are_standardized_by_the_records_trained_on() -> None:
    # 2, 2, 2 and 6: mean 3, deviation sqrt(3). The values of other records change nothing.
    found = encoded(numbers(2.0, 6.0, 9.0, 1e9), [0, 1], [0, 1, 2], [3, 1])
    assert found[:, 0] == pytest.approx(np.array([-1, 3, 6]) / 3**0.5)


def test_unknown_numbers_are_the_mean_and_marked() -> None:
    # Middles of intervals, and `*`.
    found = encoded(numbers(10.0, 30.0, np.nan), [0, 1, 2], [2, 0, 1])
    assert found == pytest.approx(np.array([[0, 1], [-1, 0], [1, 0]]))


def test_unknown_numbers_are_the_mean_where_nobody_trained_on_had_any() -> None:
    assert encoded(numbers(10.0, 30.0, np.nan), [0, 1], [2]).tolist() == [[0]]


def test_infinite_numbers_are_unknown() -> None:
    assert encoded(numbers(10.0, 30.0, np.inf, -np.inf), [0, 1, 2], [2, 3]).tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_numbers_of_any_scale(scale: float) -> None:
    found = encoded(numbers(-scale, scale, scale * 1.5), [0, 1], [0, 1, 2])
    assert found[:, 0] == pytest.approx([-1, 1, 1.5])


def test_numbers_out_of_reach_are_bounded() -> None:
    found = encoded(numbers(-1e-300, 1e-300, 1e300, -1e300), [0, 1], [2, 3])
    assert found.tolist() == [[FARTHEST], [-FARTHEST]]


def test_features_stand_beside_each_other() -> None:
    features = [categories(2), numbers(1.0, 3.0, np.nan), categories(1), categories(3)]
    codes = np.array([[0, 0, 0, 0], [1, 1, 0, 1], [1, 2, 0, 2]], np.int32)
    encoding = Encoding.of(features, codes, np.ones(3, np.int64))
    assert encoding.width == 2 + 2 + 0 + 3
    expected = [[1, 0, -1, 0, 1, 0, 0], [0, 1, 1, 0, 0, 1, 0], [0, 1, 0, 1, 0, 0, 1]]
    assert encoding.matrix(codes).toarray() == pytest.approx(np.array(expected))
