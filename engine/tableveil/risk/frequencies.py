"""The base histogram as arrays: every risk measure is computed from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault
from tableveil.risk.prosecutor import ClassSizes

MOST_RECORDS = 2**31
"""Below this number, pairs of records are counted in 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """The distinct combinations of quasi-identifiers' values in a table, in any order.

    Attributes:
        codes: Per quasi-identifier the code of its value in each combination; NULL is a value with a code. Smaller
            integer types are faster.
        values: Per quasi-identifier the number of its codes: each code is below it.
        records: Per combination its number of records in the table: at least 1.
        people: Per combination its number of records in the population, if there is a table of the population. This is
            at least `records`, or the table is no part of the population: see `check_people`.
        weights: Per combination the sum of its records' survey weights, if there are any: the number of people they
            stand for.
    """

    codes: tuple[NDArray[np.integer[Any]], ...]
    values: tuple[int, ...]
    records: NDArray[np.int64]
    people: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.total >= MOST_RECORDS:
            raise ValueError(f"{self.total} records; below {MOST_RECORDS} can be analyzed")

    @property
    def total(self) -> int:
        """The number of the table's records."""
        return int(self.records.sum())

    @property
    def sizes(self) -> ClassSizes:
        """The histogram of class sizes."""
        return ClassSizes.of(self.records)


def check_people(frequencies: Frequencies) -> Iterator[Fault]:
    """The fault of a population that lacks people of the table; empty without a population."""
    if frequencies.people is None:
        return
    lacking = frequencies.people < frequencies.records
    if lacking.any():
        records = int(frequencies.records[lacking].sum())
        yield Fault(
            "population",
            f"{int(lacking.sum())} combinations of values, of {records} records, that fewer of its rows have",
            "every record of the table to be in the population too",
            "Risks would be above 1. Take a population that contains the table, or analyze without one.",
        )
