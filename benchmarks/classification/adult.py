"""The reference cases' table as classifiers see it: every feature is a category, as the reference tool has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Dataset
from benchmarks.search.in_memory import records_of
from tableveil.classification import ClassifiedRecords, Feature, FeatureValues
from tableveil.classification.cross_validation import Version
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation

DATASET = "adult"
QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
CLASS = "salary-class"
K = 5


@dataclass(frozen=True, slots=True, eq=False)
class Adult:
    """Per quasi-identifier its levels and each record's code, and each record's class."""

    levels: tuple[AttributeLevels, ...]
    codes: tuple[NDArray[np.int32], ...]
    classes: NDArray[np.int32]
    labels: tuple[str, ...]

    @classmethod
    def open(cls, data: Path) -> Adult:
        """The table in a folder; `UnusableError` if it is not there."""
        levels, groups, places = records_of(data, DATASET, QUASI_IDENTIFIERS)
        texts = Dataset.open(data, DATASET).table().column(CLASS).to_numpy(zero_copy_only=False)
        labels, classes = np.unique(texts, return_inverse=True)
        codes = tuple(group[places].astype(np.int32) for group in groups)
        return cls(levels, codes, classes.astype(np.int32), tuple(map(str, labels)))

    def values(self, at: Transformation) -> tuple[FeatureValues, ...]:
        """All records' labels at a transformation."""
        return tuple(
            FeatureValues(levels.groups[level][codes], len(levels.leaves[level]))
            for levels, codes, level in zip(self.levels, self.codes, at, strict=True)
        )

    def released(self, at: Transformation) -> Version:
        """The release at a transformation: records in classes smaller than k are suppressed."""
        everybody = Version.of(self.values(at), np.ones(len(self.classes), np.bool_))
        of = everybody.combinations.of
        return Version(everybody.features, everybody.combinations, np.bincount(of)[of] >= K)

    def records(self, at: Transformation) -> ClassifiedRecords:
        """The input beside the release at a transformation."""
        released = self.released(at)
        features = zip(QUASI_IDENTIFIERS, self.values((0,) * len(at)), released.features, strict=True)
        return ClassifiedRecords(
            tuple(Feature(*feature) for feature in features), CLASS, self.classes, self.labels, released.kept
        )
