"""The common part of rules about the values of one sensitive column, and the nearest parameter that would hold."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, SensitiveColumn
from tableveil.policy import SensitiveModel
from tableveil.privacy.model import Facts, ReleaseRule

DIGITS = 4
"""Decimal places of an offered parameter: it is rounded to the lenient side, so that it holds."""


def highest_for(reached: NDArray[np.float64], counts: NDArray[np.int64], suppressible: int) -> float | None:
    """The largest value in `reached` such that at most so many records are in classes that reach less."""
    order = np.argsort(reached, kind="stable")
    lost = np.cumsum(counts[order])
    over = np.flatnonzero(lost > suppressible)
    # The first class that can no longer be suppressed has to hold.
    return float(reached[order[over[0]]]) if len(over) else None


def lowest_for(reached: NDArray[np.float64], counts: NDArray[np.int64], suppressible: int) -> float | None:
    """The smallest value in `reached` such that at most so many records are in classes that reach more."""
    highest = highest_for(-reached, counts, suppressible)
    return None if highest is None else -highest


def floored(number: float) -> str:
    """The largest decimal with few places that is not above the number."""
    return _spelled(math.floor(number * 10**DIGITS))


def ceiled(number: float) -> str:
    """The smallest decimal with few places that is not below the number."""
    return _spelled(math.ceil(number * 10**DIGITS))


def _spelled(ten_thousandths: int) -> str:
    return f"{Decimal(ten_thousandths).scaleb(-DIGITS).normalize():f}"


Model = TypeVar("Model", bound=SensitiveModel)

SIZES_TRIED = 200
"""The most sizes tried in the search for the smallest possible class: the bound is sound wherever the search ends."""


@dataclass(frozen=True)
class ColumnRule(ReleaseRule, Generic[Model]):
    """A rule for a model of one sensitive column of the source in the facts."""

    model: Model
    facts: Facts

    looks_at_values = True

    @cached_property
    def column(self) -> SensitiveColumn:
        """The column in the whole source."""
        return self.facts.sensitive(self.model.column)[1]

    def values(self, classes: EquivalenceClasses) -> ClassValues:
        """The values of the column in each class."""
        return classes.values(self.facts.sensitive(self.model.column)[0])

    def offered(
        self, parameter: str, reached: float | None, lenient: int, classes: EquivalenceClasses, suppressible: int
    ) -> Decimal | None:
        """The strictest decimal of a few places with which at most so many records are suppressed.

        `reached` is a float next to the strictest number that holds; `lenient` is 1 if a larger parameter is easier to
        meet, -1 if a smaller one is. None if no positive number holds.
        """
        if reached is None or not math.isfinite(reached):
            return None
        next_to = Decimal(reached).scaleb(DIGITS).to_integral_value()
        # Starts one place on the strict side: the rule itself decides, so that rounding never offers a number that does
        # not hold.
        for places in (-1, 0, 1, 2):
            number = (next_to + places * lenient).scaleb(-DIGITS)
            if number > 0 and self._suppressed_with(parameter, number, classes) <= suppressible:
                return number
        return None

    def _suppressed_with(self, parameter: str, number: Decimal, classes: EquivalenceClasses) -> int:
        model: Any = self.model
        rule = replace(self, model=replace(model, **{parameter: number}))
        return int(classes.counts[~rule.releasable(classes)].sum())


def excess(values: ClassValues, most: NDArray[np.int64]) -> NDArray[np.int64]:
    """Per class, the number of records beyond the `most` that may have the value of each entry."""
    # Few entries are beyond, of people hardly any.
    beyond = np.flatnonzero(values.counts > most)
    counts = values.counts[beyond]
    records = np.zeros(int(values.classes[-1]) + 1 if len(values.classes) else 0, np.int64)
    np.add.at(records, values.classes[beyond], np.minimum(counts - most[beyond], counts))
    return records


def smallest_size(start: int, possible: Callable[[int], bool]) -> int:
    """The smallest number of records, from `start` on, that a class could have, or a number below it."""
    return next((size for size in range(start, start + SIZES_TRIED) if possible(size)), start + SIZES_TRIED)


def spelled(parameter: str, number: Decimal | None) -> str | None:
    """The parameter as people write it."""
    return None if number is None else f"{parameter} = {number.normalize():f}"
