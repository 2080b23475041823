"""Prosecutor risk: the adversary knows that a person is in the table and looks for the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

SMALL = 1 << 16
"""Below it, sizes are counted without sorting."""


@dataclass(frozen=True, slots=True)
class ClassSizes:
    """A histogram of class sizes: `classes[i]` classes have `sizes[i]` records each; sizes ascend."""

    sizes: NDArray[np.int64]
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> ClassSizes:
        """Makes the histogram from one size per class."""
        return cls(*summed_by_size(counts))


def summed_by_size(
    sizes: NDArray[np.int64], records: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sizes that occur, ascending, with the sum of `records` for each; without `records`, how often each occurs."""
    large = sizes >= SMALL
    if not large.any():
        sums = np.bincount(sizes, records)
        occurring = np.flatnonzero(sums)
        return occurring, sums[occurring].astype(np.int64)
    small, of_small = summed_by_size(sizes[~large], None if records is None else records[~large])
    distinct, numbers = np.unique(sizes[large], return_inverse=True)
    of_large = np.bincount(numbers, None if records is None else records[large]).astype(np.int64)
    return np.concatenate((small, distinct)), np.concatenate((of_small, of_large))


@dataclass(frozen=True, slots=True)
class ProsecutorRisk:
    """Risks of a set of records; a record's risk is 1 / size of its class. All are zero if there are no records.

    `records_at_risk` holds, per threshold, the number of records with a risk above it. Source: El Emam and Dankar 2008.
    """

    records: int
    classes: int
    highest: float
    average: float
    lowest: float
    unique_records: int
    records_at_risk: tuple[tuple[Decimal, int], ...]


def prosecutor_risk(class_sizes: ClassSizes, thresholds: Sequence[Decimal]) -> ProsecutorRisk:
    """The risks of the records in classes of these sizes.

    The average over records of 1 / size is classes / records. 1 / size > threshold is decided in whole numbers.
    """
    per_size = class_sizes.sizes * class_sizes.classes
    records, classes = int(per_size.sum()), int(class_sizes.classes.sum())
    if records == 0:
        return ProsecutorRisk(0, 0, 0.0, 0.0, 0.0, 0, tuple((threshold, 0) for threshold in thresholds))
    return ProsecutorRisk(
        records=records,
        classes=classes,
        highest=1.0 / int(class_sizes.sizes[0]),
        average=classes / records,
        lowest=1.0 / int(class_sizes.sizes[-1]),
        unique_records=int(per_size[class_sizes.sizes == 1].sum()),
        records_at_risk=tuple(
            (threshold, int(per_size[class_sizes.sizes <= largest_at_risk(threshold)].sum()))
            for threshold in thresholds
        ),
    )


def largest_at_risk(threshold: Decimal) -> int:
    """The size of the largest classes with a risk, 1 / size, above the threshold; no larger than 2^62."""
    numerator, denominator = threshold.as_integer_ratio()
    # size < denominator / numerator, that is, size <= ceil(denominator / numerator) - 1.
    return min(-(-denominator // numerator) - 1, 2**62)
