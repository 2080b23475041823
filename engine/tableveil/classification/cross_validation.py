"""Predicts the class of every record by classifiers that were trained on the records of the other folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classification.classifiers import Examples, train, zero_r
from tableveil.classification.combinations import FeatureCombinations
from tableveil.classification.encoding import Encoding
from tableveil.classification.folds import Folds
from tableveil.classification.model import FeatureValues
from tableveil.numeric.threads import one_core
from tableveil.requests.classification import Classifier


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """The features of all records, as in the input or as in the release; and which records are kept."""

    features: Sequence[FeatureValues]
    combinations: FeatureCombinations
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, features: Sequence[FeatureValues], kept: NDArray[np.bool_]) -> Version:
        """A code per record and feature, and whether it is kept."""
        return cls(features, FeatureCombinations.among(features, len(kept)), kept)


def predicted(
    folds: Folds,
    version: Callable[[NDArray[np.bool_]], Version],
    classifiers: Sequence[Classifier],
    seed: int,
    before: Callable[[], None] = lambda: None,
) -> Mapping[Classifier, NDArray[np.float64]]:
    """Per classifier, record and class the probability, learned from the kept records of the other folds.

    `version` is called with the mask of the records of the other folds and looks at no others. A fold gets the baseline
    where `version` keeps no record of the other folds. `before` is called before every training.
    """
    filled = {classifier: np.empty((len(folds.of), folds.different)) for classifier in classifiers}
    # Matrices are small: more BLAS threads would wait for each other, and round differently on other machines.
    with one_core():
        for evaluated in folds.masks():
            made = version(~evaluated)
            examples = _examples(made, folds, ~evaluated & made.kept)
            combinations, places = np.unique(made.combinations.of[evaluated], return_inverse=True)
            matrix = examples.encoding.matrix(made.combinations.codes[combinations])
            for classifier, probabilities in filled.items():
                before()
                if len(examples.records):
                    tell = train(classifier, examples, folds.different, seed)
                else:
                    tell = zero_r(folds.shares(~evaluated))
                probabilities[evaluated] = tell(matrix)[places]
    return filled


def _examples(version: Version, folds: Folds, trained: NDArray[np.bool_]) -> Examples:
    """One row per combination and class that occur together, with the number of records."""
    pairs = version.combinations.of[trained] * folds.different + folds.classes[trained]
    distinct, records = np.unique(pairs, return_counts=True)
    combinations, classes = np.divmod(distinct, folds.different)
    codes = version.combinations.codes[combinations]
    encoding = Encoding.of(version.features, codes, records)
    return Examples(encoding, encoding.matrix(codes), classes, records)
