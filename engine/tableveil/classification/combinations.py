"""The distinct combinations of the features' values: records of one combination are treated alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classification.model import FeatureValues


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCombinations:
    """`codes` has a row per combination and a column per feature, `of` is the combination of each record."""

    codes: NDArray[np.int32]
    of: NDArray[np.intp]

    @classmethod
    def among(cls, features: Sequence[FeatureValues], records: int) -> FeatureCombinations:
        """The combinations that occur; a single empty one if there are no features."""
        of, space = np.zeros(records, np.int64), 1
        for values in features:
            if space * values.categories >= 2**63:
                distinct, of = np.unique(of, return_inverse=True)
                space = len(distinct)
            of = of * values.categories + values.codes
            space *= values.categories
        _, rows, of = np.unique(of, return_index=True, return_inverse=True)
        codes = np.empty((len(rows), len(features)), np.int32)
        for position, values in enumerate(features):
            codes[:, position] = values.codes[rows]
        return cls(codes, of)

    def __len__(self) -> int:
        return len(self.codes)
