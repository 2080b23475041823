"""Releases with one transformation for all records, in whose classes aggregates replace the values of some columns."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias
from tableveil.lattice import Transformation
from tableveil.release.aggregated import aggregate_of, stage_aggregates
from tableveil.release.by_value import ByValue, keys_of
from tableveil.release.columns import AggregateColumn, ReleasedColumn
from tableveil.release.joined import joined_rows, not_withheld, of_classes, own_label, positions_of
from tableveil.release.plan import Aggregated, ReleasePlan
from tableveil.verification.written import AGGREGATES


@dataclass(frozen=True, slots=True, eq=False)
class ByValueWithAggregates(ByValue):
    """One transformation for all records, and aggregates of its classes. See `Recoding`."""

    def stage(self, session: WarehouseSession, plan: ReleasePlan) -> None:
        """The aggregates of the released classes."""
        stage_aggregates(session.embedded, plan, keys_of(plan, plan.kept))

    def rows(self, session: WarehouseSession, plan: ReleasePlan) -> exp.Select:
        """The rows of the classes that have aggregates."""
        query, groups = joined_rows(plan, with_groups=True)
        query = of_classes(plan, query, groups, AGGREGATES, "INNER").where(*not_withheld(plan))
        positions = positions_of(plan)

        def cell(of: ReleasedColumn) -> exp.Expr:
            if isinstance(of, AggregateColumn):
                return aggregate_of(plan, of.dictionary)
            return own_label(of, positions)

        return query.select(*(alias(cell(each), each.name) for each in plan.columns()))

    def numbered(self, session: WarehouseSession, plan: ReleasePlan) -> tuple[exp.Select, exp.Expr] | None:
        """None: aggregates tell classes apart, too."""
        return None


def by_value(transformation: Transformation, aggregates: Aggregated) -> ByValue:
    """A release with one transformation, and with aggregates if there are aggregated columns."""
    made = ByValueWithAggregates if aggregates else ByValue
    return made(transformation, aggregates)
