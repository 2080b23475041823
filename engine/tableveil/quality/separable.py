"""Bounds of quality models whose score is an aggregate of one value per quasi-identifier."""

from __future__ import annotations

from functools import cached_property

from tableveil.lattice import Transformation
from tableveil.quality.aggregate import Aggregation, Score
from tableveil.quality.model import Table


class TableEvidence:
    """A table T of what each attribute costs at least at each level or any above it, up to the level that was checked.

    Aggregates are monotone in every value, so T at lo's levels bounds all of [lo, hi].
    """

    def __init__(self, aggregation: Aggregation, table: Table) -> None:
        self._aggregation = aggregation
        self._table = table
        self._rows = [column.tolist() for column in table]

    @cached_property
    def guide(self) -> Table:
        """The table times the weights."""
        weights = self._aggregation.weights
        return tuple(column * weight for column, weight in zip(self._table, weights, strict=True))

    def bound(self, lo: Transformation) -> Score:
        """The aggregate of the table's values at lo."""
        return self._aggregation.score([row[level] for row, level in zip(self._rows, lo, strict=True)])
