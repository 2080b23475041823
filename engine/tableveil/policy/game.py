"""The game between a publisher and an adversary who decides, record by record, whether an attack pays."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

AMOUNT_PLACES = 9
"""An amount has at most so many decimal places, so that sums and comparisons of whole numbers are exact."""


class Success(StrEnum):
    """The probability that an attack on a released record succeeds.

    `PROSECUTOR`: 1 / size of its class among the released records. `JOURNALIST`: 1 / number of records of the
    population that have its labels; without a table of the population, of the source's records, which overestimates the
    probability. `MARKETER`: the average over all released records of the journalist's probability if there are rows of
    a population, else of the prosecutor's.
    """

    PROSECUTOR = "PROSECUTOR"
    JOURNALIST = "JOURNALIST"
    MARKETER = "MARKETER"


class BreakEven(StrEnum):
    """The treatment of a record that pays nothing and costs nothing: kept as published, or suppressed as in ARX."""

    KEEP = "KEEP"
    SUPPRESS = "SUPPRESS"


@dataclass(frozen=True, slots=True)
class Game:
    """The worth of each record, all in one currency (Wan et al. 2015; Prasser et al. 2017).

    Releasing an unchanged record gains the publisher `publisher_benefit`; a successful attack on it costs the publisher
    `publisher_loss`. Such an attack gains the adversary `adversary_gain`; trying costs `adversary_cost`, successful or
    not. A rational adversary attacks if probability * gain > cost.
    """

    publisher_benefit: Decimal
    publisher_loss: Decimal
    adversary_gain: Decimal
    adversary_cost: Decimal
