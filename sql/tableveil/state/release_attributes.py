"""The quasi-identifiers of releases, before and after."""

from dataclasses import dataclass

from tableveil.state.mapper import Table


@dataclass(frozen=True, slots=True)
class AttributeResult:
    """The result for one quasi-identifier.

    `loss` does not depend on the quality model; `part` is the model's own figure before the weight, None if its score
    is not made of such parts. At the record level `levels` are those of the released records, ascending, each with its
    number of records, and `level` is the highest; else there are none. `aggregation` describes the aggregates, if
    values were aggregated instead of generalized: then there are no levels, and `loss` is their squared error as a
    share of that of a single class.
    """

    column: str
    level: int
    top_level: int
    loss: float
    distinct_before: int
    distinct_after: int
    hierarchy: str
    part: float | None
    levels: tuple[tuple[int, int], ...] = ()
    aggregation: str = ""

    @property
    def erased(self) -> bool:
        """Whether nothing is left of values that differed."""
        return self.distinct_after <= 1 < self.distinct_before


ATTRIBUTES = Table("release_attributes", AttributeResult, "release", position=True, names={"column": "column_name"})
"""A view of the documents of releases, by which several are read without the rest: nothing is inserted here."""
