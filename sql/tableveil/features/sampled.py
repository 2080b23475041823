"""Some records of a source, drawn with a seed, and their values in a column."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, in_one_spelling, number, row_hash, row_number, sql, table
from tableveil.hierarchy import ValueKind
from tableveil.source import Column, Source

SAMPLE = "sampled_records"

NULL_NAME = "NULL"
"""The name of the class of records without a value."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Some of a source's records, `records` of `of`: a temporary table of its columns and of their positions from 0.

    `position` is the name of the column of positions.
    """

    source: Source
    position: str
    records: int
    of: int

    def table(self) -> exp.Table:
        """The table under the alias `source`."""
        return table(SAMPLE, alias="source")


@dataclass(frozen=True, slots=True, eq=False)
class SampledLabels:
    """The values of one column of a sample: a code per record, and per code the value as text; None is NULL."""

    codes: NDArray[np.int32]
    texts: tuple[str | None, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The texts, with a name for NULL."""
        return tuple(NULL_NAME if text is None else text for text in self.texts)


def draw_sample(session: Session, source: Source, most: int, seed: int) -> Sample:
    """Draws up to `most` records, including those set aside, each with equal probability.

    The drawn records, and their order, depend on the rows and the seed alone, not on the rows' order.
    """
    whole = source.with_all()
    names = [source_column.name for source_column in whole.columns]
    drawn, place, hashed, occurrence, position = _free_names(names, "drawn", "place", "hashed", "occurrence", "record")
    values = [column(name) for name in names]
    rows = exp.select(*values, alias(row_hash(number(seed), *(value.copy() for value in values)), hashed))
    # Equal rows are drawn one by one, not all or none.
    same = exp.Window(this=exp.RowNumber(), partition_by=[column(hashed)])
    numbered = exp.select("*", alias(same, occurrence)).from_(rows.from_(whole.table()).subquery("hashed_rows"))
    placed = exp.select("*", alias(row_hash(column(hashed), column(occurrence)), place))
    placed = placed.from_(numbered.subquery("numbered_rows"))
    order = [column(place), column(hashed), column(occurrence)]
    first = exp.select("*").from_(placed.subquery("placed_rows")).order_by(*order).limit(most)
    in_order = exp.Sub(this=row_number([exp.Ordered(this=part.copy()) for part in order]), expression=number(1))
    query = exp.select(*(value.copy() for value in values), alias(in_order, position)).from_(first.subquery(drawn))
    records = session.stage(SAMPLE, query)
    of = session.value(sql("SELECT count(*) FROM $rows", rows=whole.table()))
    return Sample(whole, position, records, of)


def _free_names(taken: Sequence[str], *wanted: str) -> list[str]:
    """The wanted names, changed where a column has them."""
    folded = {name.casefold() for name in taken}
    longest = max((len(name) for name in taken), default=0)
    return [name if name not in folded else name + "_" * longest for name in wanted]


def labels_of(session: Session, sample: Sample, name: str) -> SampledLabels:
    """The values of a column, whose codes are in the order of the values, NULL last."""
    ranked = (
        "SELECT CAST(dense_rank() OVER (ORDER BY $value) - 1 AS INTEGER) AS code, $place AS position FROM $rows "
        "ORDER BY position"
    )
    value, rows = column(name), sample.table()
    codes = session.arrays(sql(ranked, value=value, place=column(sample.position), rows=rows))["code"]
    labels = "SELECT $label FROM (SELECT DISTINCT $value FROM $rows) AS distinct_values ORDER BY $value"
    texts = session.rows(sql(labels, label=label_text(sample.source.column(name)), value=value, rows=rows))
    return SampledLabels(codes.astype(np.int32), tuple(text for (text,) in texts))


def label_text(found: Column) -> exp.Expr:
    """The value of a column as text, in one spelling."""
    value: exp.Expr = column(found.name)
    return cast(in_one_spelling(value) if found.kind is ValueKind.FLOAT else value, "VARCHAR")
