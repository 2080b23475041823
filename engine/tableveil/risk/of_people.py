"""Prosecutor risk where people have several records: a record is a given person's with the person's share of its class.

Wang and Fung 2006, (X,Y)-anonymity with people as Y, counts the possible owners of a record; the share of the one who
has most of a class's records is the chance that any of them is that person's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from tableveil.risk.prosecutor import ProsecutorRisk
from tableveil.risk.reidentification import AttackRisk


@dataclass(frozen=True, slots=True, eq=False)
class OwnedClasses:
    """Kinds of classes: `classes[i]` classes have `sizes[i]` records of `people[i]` people each, `most[i]` of one."""

    sizes: NDArray[np.int64]
    people: NDArray[np.int64]
    most: NDArray[np.int64]
    classes: NDArray[np.int64]

    @property
    def records(self) -> NDArray[np.int64]:
        """Per kind, the records of all its classes."""
        return self.sizes * self.classes


@dataclass(frozen=True, slots=True)
class PeopleRisk:
    """The risks of records of which people have several; there is at least one.

    Attributes:
        records: All records.
        classes: Distinct combinations of values.
        alone: Records of classes in which nobody else has one.
        prosecutor: The largest share that one person has of a record's class: the adversary knows who is in the table.
        people: 1 / the number of people in a record's class, as if each of them were as likely.
    """

    records: int
    classes: int
    alone: int
    prosecutor: AttackRisk
    people: AttackRisk

    @property
    def of_prosecutor(self) -> ProsecutorRisk:
        """The prosecutor's risk in the form that it has where everybody has one record."""
        risk_here = self.prosecutor
        return ProsecutorRisk(
            self.records,
            self.classes,
            risk_here.highest,
            risk_here.average,
            risk_here.lowest,
            self.alone,
            risk_here.records_at_risk,
        )


def people_risk(owned: OwnedClasses, thresholds: Sequence[Decimal]) -> PeopleRisk:
    """The risks, and how many records are above each threshold, decided in whole numbers."""
    records = owned.records
    return PeopleRisk(
        records=int(records.sum()),
        classes=int(owned.classes.sum()),
        alone=int(records[owned.people == 1].sum()),
        prosecutor=_risk(owned.most, owned.sizes, records, thresholds),
        people=_risk(np.ones_like(owned.people), owned.people, records, thresholds),
    )


def _risk(
    over: NDArray[np.int64], under: NDArray[np.int64], records: NDArray[np.int64], thresholds: Sequence[Decimal]
) -> AttackRisk:
    """The risks of records, each so many of which have the quotient as their risk."""
    # Equal quotients of whole numbers have equal floats.
    risks = over / under
    return AttackRisk(
        highest=float(risks.max()),
        average=math.fsum(records * risks) / int(records.sum()),
        lowest=float(risks.min()),
        records_at_highest=int(records[risks == risks.max()].sum()),
        records_at_lowest=int(records[risks == risks.min()].sum()),
        records_at_risk=tuple(
            (threshold, int(records[_above(over, under, threshold)].sum())) for threshold in thresholds
        ),
    )


def _above(over: NDArray[np.int64], under: NDArray[np.int64], threshold: Decimal) -> NDArray[np.bool_]:
    numerator, denominator = threshold.as_integer_ratio()
    # Python's own numbers do not overflow.
    above: NDArray[np.bool_] = (over.astype(object) * denominator > under.astype(object) * numerator).astype(np.bool_)
    return above
