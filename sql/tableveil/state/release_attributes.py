"""The quasi-identifiers of releases, before and after."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from tableveil.backend import Ledger
from tableveil.state import codec


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


def attributes_of(ledger: Ledger, numbers: Collection[int]) -> dict[int, tuple[AttributeResult, ...]]:
    """The results of releases by number, read from their documents without the rest."""
    query = "SELECT number, document->'attributes' FROM tableveil.releases WHERE list_contains(?::BIGINT[], number)"
    found = ledger.rows(query, [list(numbers)])
    return {number: codec.typed(tuple[AttributeResult, ...], json.loads(text)) for number, text in found}
