"""Predicts the class of every record by classifiers that were trained on the records of the other folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classification.classifiers import Examples, train, zero_r
from tableveil.classification.encoding import Encoding
from tableveil.classification.model import FeatureValues
from tableveil.numeric.threads import one_core
from tableveil.requests.classification import Classifier


def assign_folds(classes: NDArray[np.integer[Any]], folds: int, seed: int) -> NDArray[np.int32]:
    """Per record its fold, from 0, stratified: folds differ by one record at most, in all and in each class.

    The folds depend on the classes and the seed alone, so input and output have the same ones.
    """
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    assigned = np.empty(len(classes), np.int32)
    assigned[by_class] = np.arange(len(classes)) % folds
    return assigned


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """The records' classes, as codes, and the fold of each record: both stay as they are, whatever is trained on."""

    classes: NDArray[np.integer[Any]]
    different: int
    of: NDArray[np.int32]

    def masks(self) -> list[NDArray[np.bool_]]:
        """Per fold the mask of its records."""
        return [self.of == fold for fold in range(int(self.of.max()) + 1)]

    def shares(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The shares of the classes among the chosen records."""
        return np.bincount(self.classes[chosen], minlength=self.different) / np.count_nonzero(chosen)

    def baseline(self) -> NDArray[np.float64]:
        """Per record the shares of the classes among the records of the other folds: ZeroR."""
        filled = np.empty((len(self.of), self.different))
        for evaluated in self.masks():
            filled[evaluated] = self.shares(~evaluated)
        return filled


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
