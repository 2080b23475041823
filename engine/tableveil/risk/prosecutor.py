"""Prosecutor risk: the adversary knows that a person is in the table and looks for the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ClassSizes:
    """A histogram of class sizes: `classes[i]` classes have `sizes[i]` records each; sizes ascend."""

    sizes: NDArray[np.int64]
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> ClassSizes:
        """The histogram of one size per class."""
        sizes, classes = np.unique(counts, return_counts=True)
        return cls(sizes.astype(np.int64), classes.astype(np.int64))


@dataclass(frozen=True, slots=True)
class ProsecutorRisk:
    """Risks of a set of records; a record's risk is 1 / size of its class. All zero for no records.

    `records_at_risk` holds, per threshold, the records whose risk is above it. Source: El Emam and Dankar 2008.
    """

    records: int
    classes: int
    highest: float
    average: float
    lowest: float
    unique_records: int
    records_at_risk: tuple[tuple[Decimal, int], ...]


def prosecutor_risk(found: ClassSizes, thresholds: Sequence[Decimal]) -> ProsecutorRisk:
    """The risks of the records in classes of these sizes.

    The average over records of 1 / size is classes / records. 1 / size > threshold is decided in whole numbers.
    """
    per_size = found.sizes * found.classes
    records, classes = int(per_size.sum()), int(found.classes.sum())
    if records == 0:
        return ProsecutorRisk(0, 0, 0.0, 0.0, 0.0, 0, tuple((threshold, 0) for threshold in thresholds))
    at_risk = []
    for threshold in thresholds:
        numerator, denominator = threshold.as_integer_ratio()
        # size < denominator / numerator, that is, size <= ceil(denominator / numerator) - 1.
        largest = -(-denominator // numerator) - 1
        at_risk.append((threshold, int(per_size[found.sizes <= min(largest, 2**62)].sum())))
    return ProsecutorRisk(
        records=records,
        classes=classes,
        highest=1.0 / int(found.sizes[0]),
        average=classes / records,
        lowest=1.0 / int(found.sizes[-1]),
        unique_records=int(per_size[found.sizes == 1].sum()),
        records_at_risk=tuple(at_risk),
    )
