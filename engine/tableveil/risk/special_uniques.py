"""Special uniques: records that are alone with few of their values already (SUDA)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.risk.prosecutor import ClassSizes

NONE = 255
"""The size of the smallest MSU if there is none: above all sizes."""


@dataclass(frozen=True, slots=True, eq=False)
class SpecialUniques:
    """The minimal sample uniques (MSUs) of up to `size` attributes, and the scores that records get from them.

    A subset of attributes is an MSU of a record that is alone with its values in them, but not with fewer of them.

    Attributes:
        size: The largest size of the MSUs that were looked for.
        scores: Per combination the SUDA score of its record: see `score_of`, summed over its MSUs. It is 0 without
            MSUs, as for every combination of several records.
        found: Per combination the number of its record's MSUs.
        smallest: Per combination the size of its record's smallest MSU; 0 if it has none.
        by_size: The number of MSUs of 1, 2, … `size` attributes.
        by_attribute: Per attribute the number of MSUs that contain it.
        score_by_attribute: Per attribute the sum of the scores of the MSUs that contain it.
    """

    size: int
    scores: NDArray[np.float64]
    found: NDArray[np.int32]
    smallest: NDArray[np.uint8]
    by_size: tuple[int, ...]
    by_attribute: tuple[int, ...]
    score_by_attribute: tuple[float, ...]


def score_of(attributes: int, members: int, size: int) -> float:
    """The contribution to a score by an MSU of so many members, with MSUs of up to `size` of `attributes` looked for.

    It is the product of attributes - i, for i from `members` to `size`, without the factor 0, i = attributes: with all
    sizes it is (attributes - members)!. Smaller MSUs contribute more, as all their supersets are unique, too.

    Source: Elliot, Manning, Mayes, Gurd and Bane 2005, "SUDA: a program for detecting special uniques".
    """
    return float(math.prod(attributes - i for i in range(members, min(size, attributes - 1) + 1)))


def intruder_success(class_sizes: ClassSizes, fraction: float) -> float | None:
    """DIS: the probability that a unique match between the population and the table is correct.

    `fraction` is the sampling fraction, above 0 and at most 1. The result is f n1 / (f n1 + 2 (1 - f) n2), with n1
    classes of one and n2 of two; None if there are neither, or if there are no unique records and all people are
    sampled.

    Source: Skinner and Elliot 2002, "A measure of disclosure risk for microdata".
    """
    ones = int(class_sizes.classes[class_sizes.sizes == 1].sum())
    twos = int(class_sizes.classes[class_sizes.sizes == 2].sum())
    correct, wrong = fraction * ones, 2 * (1 - fraction) * twos
    return correct / (correct + wrong) if correct + wrong else None


class SpecialUniquesTally:
    """Finds the minimal sample uniques while subsets are counted, each after those with one attribute less."""

    def __init__(self, attributes: int, rows: int, size: int) -> None:
        self._size = size
        self._worth = [score_of(attributes, members, size) for members in range(1, size + 1)]
        self._scores = np.zeros(rows, np.float64)
        self._found = np.zeros(rows, np.int32)
        self._smallest = np.full(rows, NONE, np.uint8)
        self._by_size = [0] * size
        self._by_attribute = [0] * attributes
        self._score_by_attribute = [0.0] * attributes
        self._unique: dict[tuple[int, ...], NDArray[np.int64]] = {}
        self._unique_with_less = np.zeros(rows, np.bool_)

    def add(self, subset: tuple[int, ...], unique: NDArray[np.int64]) -> int:
        """Takes the rows that are unique in a subset, and returns the number of those with it as an MSU."""
        members = len(subset)
        # Arrays per row are looked up several times faster in order.
        unique = np.sort(unique)
        if members < self._size:
            self._unique[subset] = unique
        minimal = self._minimal(subset, unique)
        worth = self._worth[members - 1]
        self._scores[minimal] += worth
        self._found[minimal] += 1
        self._smallest[minimal] = np.minimum(self._smallest[minimal], members)
        self._by_size[members - 1] += len(minimal)
        for j in subset:
            self._by_attribute[j] += len(minimal)
            self._score_by_attribute[j] += worth * len(minimal)
        return len(minimal)

    def _minimal(self, subset: tuple[int, ...], unique: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows that are not unique with one attribute less; so they are not unique with still fewer either."""
        less = [self._unique[subset[:i] + subset[i + 1 :]] for i in range(len(subset))] if len(subset) > 1 else []
        for rows in less:
            self._unique_with_less[rows] = True
        minimal = unique[~self._unique_with_less[unique]]
        for rows in less:
            self._unique_with_less[rows] = False
        return minimal

    def result(self) -> SpecialUniques:
        """The minimal sample uniques found."""
        return SpecialUniques(
            size=self._size,
            scores=self._scores,
            found=self._found,
            smallest=np.where(self._smallest == NONE, 0, self._smallest),
            by_size=tuple(self._by_size),
            by_attribute=tuple(self._by_attribute),
            score_by_attribute=tuple(self._score_by_attribute),
        )
