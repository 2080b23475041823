"""Builds an aggregated column's dictionary: its values in their order, with codes, positions and numbers of records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.aggregation.coordinates import AggregatedColumn
from tableveil.backend import Session, alias, cast, column, drop, sql, table
from tableveil.classes import SensitiveColumn
from tableveil.dictionary import positions
from tableveil.dictionary.ordered import check_distinct, check_kind, check_places, levels_of, place_values, write_codes
from tableveil.dictionary.values import CodedAttribute, check_fit
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import AttributeLevels, InlineLevels, RuleHierarchy, ValueKind
from tableveil.policy import AggregateFunction, Aggregation, AttributePolicy, Scale
from tableveil.source import Column, Source

Signature = tuple[int, int, float]
"""A group's first code, its number of codes, and its leaves: since hierarchies nest, no two groups share it."""


def ambiguous_levels(levels: AttributeLevels, texts: Sequence[str | None], among: range) -> tuple[int, int] | None:
    """Two levels with a common label that stands for different values; `texts` are the codes' own, for level 0."""
    meanings: dict[str, tuple[Signature, int]] = {}
    for level in among:
        labels = levels.labels[level - 1] if level else texts
        for label, signature in zip(labels, _signatures(levels, level), strict=True):
            # NULL is no text; below the top it stands for itself alone.
            if label is None:
                continue
            earlier, at = meanings.setdefault(label, (signature, level))
            if earlier != signature:
                return at, level
    return None


def _signatures(levels: AttributeLevels, level: int) -> list[Signature]:
    """Per group of the level."""
    groups: NDArray[np.int32] = levels.groups[level]
    _, first, counts = np.unique(groups, return_index=True, return_counts=True)
    return list(zip(first.tolist(), counts.tolist(), levels.leaves[level].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class AggregatedDictionary:
    """The dictionary of one aggregated column.

    `table_name` is a temporary table: `value` (the column's type, floats in one spelling), `code` from 0 in the order
    of the values, `n`, the records that have it; no NULL. `set_aside` records have a NULL. `hierarchy` names the used
    hierarchy for the evidence, if there is one.
    """

    attribute: AttributePolicy
    column: Column
    table_name: str
    values: AggregatedColumn
    set_aside: int = 0
    hierarchy: str = ""

    @property
    def counted(self) -> SensitiveColumn:
        """The column, as a column whose values are counted in classes."""
        return SensitiveColumn(self.values.column, self.values.counts, levels=self.values.levels, protected=False)

    @property
    def distinct(self) -> int:
        """Number of different values."""
        return len(self.values.counts)

    @property
    def released_type(self) -> str:
        """The type of the aggregates: that of the column, except for intervals, labels, and averages of numbers.

        An average of dates is a day, that of timestamps has the precision of their type, up to microseconds.
        """
        aggregation = self.values.aggregation
        if aggregation.function in (AggregateFunction.INTERVAL, AggregateFunction.COMMON_LABEL):
            return "VARCHAR"
        averaged = aggregation.scale is Scale.NUMERIC and aggregation.function is not AggregateFunction.MODE
        if averaged and self.column.kind not in (ValueKind.DATE, ValueKind.TIMESTAMP):
            return "DOUBLE"
        return self.column.released_type


def build_aggregated(
    session: Session, source: Source, of: CodedAttribute
) -> tuple[AggregatedDictionary | None, list[Fault]]:
    """The dictionary, or the faults that prevent it, such as NaN or values that the hierarchy does not cover.

    `source` is without the records set aside.
    """
    attribute, field = of.attribute, of.field
    source_column, aggregation = source.column(attribute.column), attribute.aggregation
    assert aggregation is not None, "the column is aggregated"
    faults = _check_kinds(attribute, source_column, of.hierarchy, field)
    if faults:
        return None, faults
    placed, table_name = f"aggregated_values_{of.number}", f"aggregated_{of.number}"
    place_values(session, source, source_column, attribute.order, placed)
    if aggregation.scale is Scale.ORDINAL:
        faults = [
            *check_places(session, placed, attribute, f"{field}.order"),
            *check_distinct(session, placed, attribute, f"{field}.order"),
        ]
    if not faults:
        write_codes(session, table_name, placed)
    session.execute(drop("TABLE", table(placed)))
    if faults:
        return None, faults
    values, faults = _values(session, attribute, source_column, of.hierarchy, table_name, field)
    if values is None:
        return None, faults
    nulls = sql("SELECT count(*) - count($c) FROM $rows", c=column(attribute.column), rows=source.with_all().table())
    set_aside = int(session.value(nulls))
    return AggregatedDictionary(attribute, source_column, table_name, values, set_aside, of.reference), []


def _check_kinds(
    attribute: AttributePolicy, source_column: Column, hierarchy: InlineLevels | RuleHierarchy | None, field: str
) -> list[Fault]:
    """Faults of the column's type."""
    assert attribute.aggregation is not None
    match attribute.aggregation.scale:
        case Scale.NUMERIC:
            return positions.check_kind(attribute.aggregation, source_column, f"{field}.aggregation")
        case Scale.ORDINAL:
            return check_kind(attribute.order, source_column, f"{field}.order")
        case Scale.NOMINAL:
            assert hierarchy is not None, "distances between nominal values are measured by a hierarchy"
            return check_fit(attribute, hierarchy, source_column.kind, f"{field}.hierarchy")


def _values(
    session: Session,
    attribute: AttributePolicy,
    source_column: Column,
    hierarchy: InlineLevels | RuleHierarchy | None,
    table_name: str,
    field: str,
) -> tuple[AggregatedColumn | None, list[Fault]]:
    """The input of the aggregates, for the values whose codes are in the table."""
    aggregation = attribute.aggregation
    assert aggregation is not None
    counts = _array(session, table_name, column("n")).astype(np.int64)
    if aggregation.scale is Scale.NUMERIC:
        numbers, coded, faults = _numeric(session, aggregation, source_column, table_name, f"{field}.aggregation")
        values = AggregatedColumn(attribute.column, aggregation, counts, numbers, coded=coded, weight=attribute.weight)
        return (None, faults) if faults else (values, [])
    levels = None
    if aggregation.scale is Scale.NOMINAL:
        assert hierarchy is not None
        levels, faults = levels_of(session, table_name, source_column, hierarchy, f"{field}.hierarchy")
        if levels is None:
            return None, faults
        if aggregation.function is AggregateFunction.COMMON_LABEL:
            faults = _check_one_meaning(session, source_column, levels, table_name, f"{field}.hierarchy")
            if faults:
                return None, faults
    ranks = np.arange(len(counts), dtype=np.float64)
    return AggregatedColumn(attribute.column, aggregation, counts, ranks, levels, weight=attribute.weight), []


def _numeric(
    session: Session, aggregation: Aggregation, source_column: Column, table_name: str, field: str
) -> tuple[NDArray[np.float64], tuple[float, float], list[Fault]]:
    """The positions after coding, the positions of the codings, and all faults."""
    coded, faults = positions.read_codings(session, aggregation, source_column, field)
    numbers = _array(session, table_name, positions.position_of(column("value"), source_column.kind))
    faults += positions.check_positions(aggregation, source_column, numbers, field)
    if not faults:
        numbers = np.clip(numbers, *coded)
        faults += positions.check_function(aggregation, source_column, numbers, field)
    return numbers, coded, faults


def _array(session: Session, table_name: str, expression: exp.Expr) -> NDArray[np.float64]:
    """One number per code."""
    query = exp.select(alias(expression, "found")).from_(table(table_name)).order_by("code")
    return session.arrays(query)["found"]


def _check_one_meaning(
    session: Session, source_column: Column, levels: AttributeLevels, table_name: str, field: str
) -> list[Fault]:
    """The fault of a label that stands for different values: classes are released at levels of their own."""
    text_of = exp.select(cast(column("value"), "VARCHAR")).from_(table(table_name)).order_by("code")
    same = ambiguous_levels(levels, [text for (text,) in session.rows(text_of)], range(levels.top + 1))
    if same is None:
        return []
    name = shortened(source_column.name)
    actual = f"a label of {name} that stands for different values at the levels {same[0]} and {same[1]}"
    expected = "labels that stand for the same values at whichever level, because of COMMON_LABEL"
    return [Fault(field, actual, expected, "Rename the label at one of them.")]
