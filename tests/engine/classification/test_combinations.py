"""Distinct combinations of values, however many there could be."""

import numpy as np
import pytest

from tableveil.classification import FeatureValues
from tableveil.classification.cross_validation import FeatureCombinations


@pytest.mark.parametrize("categories", [4, 2**30])
def test_records_share_a_combination_if_they_share_all_values(categories: int) -> None:
    codes = np.random.default_rng(0).integers(0, 3, (5, 40)).astype(np.int32)
    # With so many categories the numbers of combinations would not fit at once.
    codes[codes == 2] = categories - 1
    found = FeatureCombinations.among([FeatureValues(column, categories) for column in codes], 40)
    assert (found.codes[found.of] == codes.T).all()
    assert len(found) == len(np.unique(codes, axis=1).T)


def test_without_features_all_records_share_nothing() -> None:
    found = FeatureCombinations.among([], 3)
    assert found.codes.shape == (1, 0)
    assert found.of.tolist() == [0, 0, 0]
