"""The risk analysis that supports a draft's guesses: which columns tell records apart, how many are at risk."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tableveil.errors import shortened
from tableveil.risk import AttributeRisk, ClassSizes

MOST_MEASURED = 16
"""The most columns to look at: pairs of them are counted, and a draft should not take longer than a risk analysis."""

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Figures:
    """Measurements of some columns of the table as it is.

    Attributes:
        columns: The columns; positions in the risks refer to them.
        quasi_identifiers: The sizes of the classes by the guessed quasi-identifiers; None if there are none.
        risks: The risks of the columns, alone and in pairs.
        proposed: The columns and pairs that tell nearly all records apart while no smaller part of them does.
    """

    columns: tuple[str, ...]
    quasi_identifiers: ClassSizes | None
    risks: tuple[AttributeRisk, ...]
    proposed: tuple[AttributeRisk, ...]

    def of_column(self, name: str) -> str:
        """How many records the column tells apart, alone and with others; empty if it was not measured."""
        if name not in self.columns:
            return ""
        position = self.columns.index(name)
        alone = next(risk for risk in self.risks if risk.attributes == (position,))
        unique = f", and {_count(alone.unique, 'record')} from all others" if alone.unique else ""
        text = f"Alone it tells {_percent(alone.separation)} of the pairs of records apart{unique}."
        if not self.tells_apart(name):
            return text
        partners = [
            shortened(self.columns[other])
            for risk in self.proposed
            if position in risk.attributes
            for other in risk.attributes
            if other != position
        ]
        if not partners:
            return f"{text} These are nearly all: it identifies."
        named = " or ".join(partners[:_MOST_NAMED])
        return f"{text} Together with {named} it tells nearly all apart: it helps to identify."

    def tells_apart(self, name: str) -> bool:
        """Whether the column, alone or with another, tells nearly all records apart."""
        return name in self.columns and any(self.columns.index(name) in risk.attributes for risk in self.proposed)

    def of_all(self, k: int) -> str:
        """How many records are at risk by all guessed quasi-identifiers together; empty if none is."""
        if self.quasi_identifiers is None:
            return ""
        sizes, classes = self.quasi_identifiers.sizes, self.quasi_identifiers.classes
        records = int((sizes * classes).sum())
        unique = int(classes[sizes == 1].sum())
        small = int((sizes * classes)[sizes < k].sum())
        if not small:
            return ""
        return (
            f"By the guessed quasi-identifiers as they are, {unique:,} of {_count(records, 'record')} "
            f"({_percent(unique / records)}) are unlike all others, and {small:,} ({_percent(small / records)}) are "
            f"in classes of fewer than {k:,}."
        )


def _percent(share: float) -> str:
    """Rounded down: nearly all records must not read as all."""
    return f"{math.floor(share * 1000) / 10:g} %"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def columns_to_measure(quasi_identifiers: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The first `MOST_MEASURED` columns, quasi-identifiers before others."""
    return (*quasi_identifiers, *others)[:MOST_MEASURED]
