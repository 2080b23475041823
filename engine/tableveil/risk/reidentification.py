"""Prosecutor, journalist and marketer risk of a table's records."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from tableveil.risk.frequencies import Frequencies
from tableveil.risk.prosecutor import largest_at_risk, summed_by_size


@dataclass(frozen=True, slots=True)
class AttackRisk:
    """The risks of all records under one adversary. All are zero if there are no records.

    Attributes:
        highest: The highest risk of a record.
        average: The average over records: the share of them that is expected to be found if all are looked for, called
            the success rate.
        lowest: The lowest risk of a record.
        records_at_highest: The number of records with the highest risk.
        records_at_lowest: The number of records with the lowest risk.
        records_at_risk: Per threshold the number of records with a risk above it, decided exactly.
    """

    highest: float
    average: float
    lowest: float
    records_at_highest: int
    records_at_lowest: int
    records_at_risk: tuple[tuple[Decimal, int], ...]


@dataclass(frozen=True, slots=True)
class ReidentificationRisk:
    """The risks of a table's records under three adversaries.

    Attributes:
        records: Records of the table.
        classes: Distinct combinations of values.
        unique_records: Records that are alone in their class. Their share is the sample uniqueness.
        prosecutor: The adversary knows that the person is in the table: 1 / f, the size of the class.
        journalist: The adversary does not know: 1 / F, the class's people in the population. Without a population, it
            equals the prosecutor's risk, which it cannot exceed.
        marketer: The adversary looks for everybody. The share of records that are expected to be found: the sum over
            classes of f / F, divided by the number of records. Without a population, F = f.
        from_population: Whether there is a population, so that F is counted.
    """

    records: int
    classes: int
    unique_records: int
    prosecutor: AttackRisk
    journalist: AttackRisk
    marketer: float
    from_population: bool


def reidentification_risk(frequencies: Frequencies, thresholds: Sequence[Decimal]) -> ReidentificationRisk:
    """The risks of the records, and how many are above each threshold; thresholds are between 0 and 1.

    Source: El Emam and Dankar 2008, "Protecting privacy using k-anonymity"; Dankar and El Emam 2010, "A method for
    evaluating marketer re-identification risk".
    """
    sizes = frequencies.sizes
    prosecutor = attack_risk(sizes.sizes, sizes.sizes * sizes.classes, thresholds)
    journalist = prosecutor
    if frequencies.people is not None:
        journalist = attack_risk(*summed_by_size(frequencies.people, frequencies.records), thresholds)
    return ReidentificationRisk(
        records=frequencies.total,
        classes=len(frequencies.records),
        unique_records=int(sizes.classes[sizes.sizes == 1].sum()),
        prosecutor=prosecutor,
        journalist=journalist,
        marketer=journalist.average,
        from_population=frequencies.people is not None,
    )


def attack_risk(sizes: NDArray[np.int64], records: NDArray[np.int64], thresholds: Sequence[Decimal]) -> AttackRisk:
    """The risks of records; `records[i]` of them have a risk of 1 / `sizes[i]`; sizes ascend."""
    total = int(records.sum())
    if not total:
        return AttackRisk(0.0, 0.0, 0.0, 0, 0, tuple((threshold, 0) for threshold in thresholds))
    return AttackRisk(
        highest=1.0 / int(sizes[0]),
        # If sizes are those of the classes themselves, these quotients are whole numbers.
        average=math.fsum(records / sizes) / total,
        lowest=1.0 / int(sizes[-1]),
        records_at_highest=int(records[0]),
        records_at_lowest=int(records[-1]),
        records_at_risk=tuple(
            (threshold, int(records[sizes <= largest_at_risk(threshold)].sum())) for threshold in thresholds
        ),
    )
