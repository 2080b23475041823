"""Naive Bayes for features of both kinds with unknown values: scikit-learn's takes one kind, and no unknown values."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tableveil.classification.encoding import Columns, Encoding

ADDED_VARIANCE = 1e-3
"""Added to each class's variance, as a share of the variance of all: a class may have a single number."""


class NaiveBayes:
    """Features are independent of each other in each class: categorical if they have categories, else Gaussian.

    Categorical: (n + 1) / (N + categories) for a category that n of N records have (Laplace). A feature that is unknown
    for a record is left out of the record's product, and so is a category without an indicator. Whether a number is
    unknown is a feature with two categories. Each row stands for so many records; every class must have at least one.
    """

    def __init__(
        self, encoding: Encoding, matrix: csr_array, classes: NDArray[np.intp], records: NDArray[np.int64]
    ) -> None:
        labels, codes = np.unique(classes, return_inverse=True)
        weights = np.zeros((len(codes), len(labels)))
        weights[np.arange(len(codes)), codes] = records
        totals = weights.sum(axis=0)
        self._offset = np.log(totals / totals.sum())
        self._evidence = np.zeros((encoding.width, len(labels)))
        counts = matrix.T @ weights
        for feature in encoding.features:
            indicators = slice(feature.first_indicator, feature.end)
            if feature.categorical:
                self._evidence[indicators] = np.log(
                    (counts[indicators] + 1) / (counts[indicators].sum(axis=0) + feature.indicators)
                )
            elif feature.indicators:
                unknown = (counts[feature.first_indicator] + 1) / (totals + 2)
                self._evidence[indicators] = np.log(unknown) - np.log1p(-unknown)
                self._offset += np.log1p(-unknown)
        self._gaussians = [
            _Gaussian(feature, matrix, weights) for feature in encoding.features if feature.numbers is not None
        ]

    def probabilities(self, matrix: csr_array) -> NDArray[np.float64]:
        """Per row the probability of each class, in the order of their codes."""
        joint = matrix @ self._evidence + self._offset
        for gaussian in self._gaussians:
            joint += gaussian.evidence(matrix)
        likelihood = np.exp(joint - joint.max(axis=1, keepdims=True))
        return likelihood / likelihood.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


class _Gaussian:
    """One normal distribution per class; a class without known numbers has that of all records: mean 0, variance 1."""

    def __init__(self, feature: Columns, matrix: csr_array, weights: NDArray[np.float64]) -> None:
        self._feature = feature
        numbers, present = self._read(matrix)
        weights = weights * present[:, None]
        records = weights.sum(axis=0)
        some = np.maximum(records, 1)
        self._mean = numbers @ weights / some
        variance = ((numbers[:, None] - self._mean) ** 2 * weights).sum(axis=0) / some
        self._variance = np.where(records > 0, variance + ADDED_VARIANCE, 1.0)

    def evidence(self, matrix: csr_array) -> NDArray[np.float64]:
        """Per row and class the logarithm of the density."""
        numbers, present = self._read(matrix)
        squares = (numbers[:, None] - self._mean) ** 2 / self._variance
        evidence: NDArray[np.float64] = -0.5 * (squares + np.log(2 * np.pi * self._variance))
        return np.where(present[:, None], evidence, 0.0)

    def _read(self, matrix: csr_array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        first, end = self._feature.first, self._feature.end
        columns = matrix[:, first:end].toarray()
        return columns[:, 0], (columns[:, 1:] == 0).all(axis=1)
