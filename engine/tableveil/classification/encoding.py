"""The encoding of features for classifiers: standardized numbers, and indicators of categories and of unknown values.

Everything is learned from the training records: mean and deviation, which categories have an indicator, whether a
feature is constant. The other records only follow: a category that no training record had sets no indicator, and a
number out of reach counts as `FARTHEST` deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tableveil.classification.model import FeatureValues

MOST_CATEGORIES = 100
"""Indicators per feature, for its most frequent categories; the others set none, like a category that no record had."""

FARTHEST = 1000.0
"""Standard deviations from the mean."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns made of one feature: its number, if its numbers differ, then its indicators.

    Attributes:
        categorical: Whether it is a feature without numbers.
        numbers: Per code the standardized number, 0 where it is unknown; None if there is no such column.
        indicator: Per code which of the indicators is set, or -1. A number has one at most, which says that it is
            unknown.
        indicators: How many there are.
        first: Position of the feature's first column.
    """

    categorical: bool
    numbers: NDArray[np.float64] | None
    indicator: NDArray[np.intp]
    indicators: int
    first: int

    @property
    def first_indicator(self) -> int:
        """Position of the first indicator."""
        return self.first + (self.numbers is not None)

    @property
    def end(self) -> int:
        """Position after the last column."""
        return self.first_indicator + self.indicators


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """The columns of all features; a feature that is constant among the training records, such as `*`, has none."""

    features: tuple[Columns, ...]

    @classmethod
    def of(cls, features: Sequence[FeatureValues], codes: NDArray[np.int32], records: NDArray[np.int64]) -> Encoding:
        """Learns the encoding from combinations of codes and the number of training records of each."""
        learned: list[Columns] = []
        for position, values in enumerate(features):
            counts = np.bincount(codes[:, position], records, values.categories).astype(np.float64)
            first = learned[-1].end if learned else 0
            if values.numbers is None:
                learned.append(_categories(values, counts, first))
            else:
                learned.append(_numbers(values.numbers, counts, first))
        return cls(tuple(learned))

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.features[-1].end if self.features else 0

    def matrix(self, codes: NDArray[np.int32]) -> csr_array:
        """One row per combination of codes."""
        rows, columns, entries = [], [], []
        for position, feature in enumerate(self.features):
            code = codes[:, position]
            if feature.numbers is not None:
                rows.append(np.arange(len(code)))
                columns.append(np.full(len(code), feature.first))
                entries.append(feature.numbers[code])
            indicator = feature.indicator[code]
            marked = np.flatnonzero(indicator >= 0)
            rows.append(marked)
            columns.append(feature.first_indicator + indicator[marked])
            entries.append(np.ones(len(marked)))
        shape = len(codes), self.width
        if not rows:
            return csr_array(shape)
        places = np.concatenate(rows).astype(np.int32), np.concatenate(columns).astype(np.int32)
        return csr_array((np.concatenate(entries), places), shape=shape)


def _categories(values: FeatureValues, counts: NDArray[np.float64], first: int) -> Columns:
    indicator = np.full(values.categories, -1, np.intp)
    occurring = np.flatnonzero(counts)
    if len(occurring) < 2:
        return Columns(True, None, indicator, 0, first)
    ranked = counts.copy()
    if values.unknown is not None:
        # Unknown values keep an indicator, however few they are.
        ranked[values.unknown] = np.inf
    chosen = np.sort(occurring[np.argsort(-ranked[occurring], kind="stable")][:MOST_CATEGORIES])
    indicator[chosen] = np.arange(len(chosen))
    return Columns(True, None, indicator, len(chosen), first)


def _numbers(numbers: NDArray[np.float64], counts: NDArray[np.float64], first: int) -> Columns:
    # An infinite number counts as known, but gives no number.
    finite = np.isfinite(numbers)
    trained = counts > 0
    indicator = np.full(len(numbers), -1, np.intp)
    unknown = bool((trained & finite).any() and (trained & ~finite).any())
    if unknown:
        indicator[~finite] = 0
    standardized = _standardized(numbers, finite, np.where(finite, counts, 0.0))
    return Columns(False, standardized, indicator, int(unknown), first)


def _standardized(
    numbers: NDArray[np.float64], known: NDArray[np.bool_], counts: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Standardized by the mean and deviation of the counted numbers; None if these do not differ."""
    trained = counts > 0
    if not trained.any() or numbers[trained].min() == numbers[trained].max():
        return None
    with np.errstate(over="ignore"):
        # The squares of very large numbers would overflow.
        scaled = np.where(known, numbers, 0.0) / np.abs(numbers[trained]).max()
        mean = np.average(scaled[trained], weights=counts[trained])
        deviation = np.sqrt(np.average((scaled[trained] - mean) ** 2, weights=counts[trained]))
        standardized = (scaled - mean) / deviation
    return np.where(known, np.clip(standardized, -FARTHEST, FARTHEST), 0.0)
