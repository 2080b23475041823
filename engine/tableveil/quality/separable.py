"""Bounds of quality models whose score is an aggregate of one value per quasi-identifier."""

from __future__ import annotations

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

    @property
    def guide(self) -> Table:
        """What each attribute adds to the score, as far as that is a sum; for the geometric mean its logarithm is."""
        return tuple(map(self._aggregation.summand, range(len(self._table)), self._table))

    def bound(self, lo: Transformation) -> Score:
        """The aggregate of the table's values at lo."""
        return self._aggregation.score([row[level] for row, level in zip(self._rows, lo, strict=True)])
