"""Labels of a column and the share of the domain that they cover, for all kinds of hierarchy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault

TOP_LABEL = "*"


class ValueKind(StrEnum):
    """The kind of a column's values, in the distinctions that rules make."""

    INTEGER = "INTEGER"
    DECIMAL = "DECIMAL"
    FLOAT = "FLOAT"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    TIME = "TIME"
    BOOLEAN = "BOOLEAN"
    TEXT = "TEXT"
    OTHER = "OTHER"

    @property
    def ends(self) -> ValueKind | None:
        """The kind of the ends of intervals of such values; None if there are no such intervals."""
        match self:
            case ValueKind.INTEGER | ValueKind.DATE | ValueKind.TIMESTAMP:
                return self
            case ValueKind.DECIMAL | ValueKind.FLOAT:
                return ValueKind.FLOAT
            case _:
                return None


@dataclass(frozen=True, slots=True, eq=False)
class CountedLeaves:
    """The leaves of labels within a part of the hierarchy's domain.

    Attributes:
        leaves: Per level from 1 to the one below the top, those of each covered value's label.
        domain_size: The size of the part.
        outside: Whether each covered value is none of the part.
    """

    leaves: tuple[NDArray[np.float64], ...]
    domain_size: float
    outside: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledValues:
    """The labels of a column's distinct values, and how much of the hierarchy's domain each label covers.

    Attributes:
        labels: Per level from 1 to the top, the label of each value; None where the value is not covered.
        leaves: Shaped as `labels`: the number of level-0 values of the hierarchy under the value's label, or the width
            of its interval if continuous; NaN where the value is not covered. At the top it is `domain_size`.
        domain_size: |H|, or the width of the declared range if continuous.
        continuous: Whether leaves and domain size measure width instead of counting values.
        covered: Per value, whether the hierarchy has labels for it.
        top_label: The one label of the top; it exists even if no value was given.
        loss: The leaves that loss counts in their place, if the rule declares a part of its range for that.
    """

    labels: tuple[tuple[str | None, ...], ...]
    leaves: tuple[NDArray[np.float64], ...]
    domain_size: float
    continuous: bool
    covered: NDArray[np.bool_]
    top_label: str = TOP_LABEL
    loss: CountedLeaves | None = None

    @classmethod
    def of(
        cls,
        covered: NDArray[np.bool_],
        levels: Iterable[tuple[Sequence[str] | NDArray[np.object_], NDArray[np.float64]]],
        domain_size: float,
        *,
        continuous: bool = False,
        top_label: str = TOP_LABEL,
    ) -> LabelledValues:
        """The labelling of a column whose levels below the top are given for the covered values alone.

        Args:
            covered: Per value, whether it is covered.
            levels: From level 1 to the one below the top: labels and leaves of the covered values, in their order.
            domain_size: |H|, or the width of the declared range.
            continuous: Whether leaves are widths.
            top_label: The label of the top.
        """
        count = int(covered.sum())
        top = ([top_label] * count, np.full(count, domain_size))
        all_labels: list[tuple[str | None, ...]] = []
        all_leaves: list[NDArray[np.float64]] = []
        for labels, leaves in (*levels, top):
            spread_labels = np.full(len(covered), None, dtype=np.object_)
            spread_labels[covered] = labels
            spread_leaves = np.full(len(covered), np.nan)
            spread_leaves[covered] = leaves
            all_labels.append(tuple(spread_labels.tolist()))
            all_leaves.append(spread_leaves)
        return cls(tuple(all_labels), tuple(all_leaves), domain_size, continuous, covered, top_label)


def misfit(field: str, rule: str, kind: ValueKind | None, fitting: Sequence[ValueKind], hint: str = "") -> list[Fault]:
    """The fault of using a rule on a column of a kind it cannot label; empty if it fits or the kind is not known."""
    if kind is None or kind in fitting:
        return []
    return [Fault(field, f"{rule} on a column of kind {kind}", f"a column of kind {' or '.join(fitting)}", hint)]
