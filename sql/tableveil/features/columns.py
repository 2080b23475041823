"""Columns as classifiers see them: numbers, categories and what is unknown, of some records drawn with a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import (
    Session,
    alias,
    cast,
    column,
    in_one_spelling,
    number,
    row_hash,
    row_number,
    sql,
    table,
    text,
)
from tableveil.classification.model import FeatureValues
from tableveil.dictionary import Dictionary
from tableveil.dictionary.positions import position_of
from tableveil.hierarchy import AttributeLevels, ValueKind
from tableveil.hierarchy.labelled import TOP_LABEL
from tableveil.hierarchy.levels import middle_reader
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


UNKNOWN = -1
"""Replaces a code: the dictionary lacks the value, because the record was set aside."""

_SECONDS_PER_DAY = 86_400.0


def numbers_of(session: Session, dictionary: Dictionary) -> NDArray[np.float64] | None:
    """Per code of the dictionary its value as a number; NULL and infinite values have none."""
    kind = dictionary.column.kind
    if middle_reader(kind) is None:
        return None
    query = exp.select(alias(_number(column("value"), kind), "number")).from_(table(dictionary.table_name))
    return _finite(session.arrays(query.order_by(column("code")))["number"], kind)


def _number(value: exp.Expr, kind: ValueKind) -> exp.Expr:
    return exp.Coalesce(this=position_of(value, kind), expressions=[cast(text("nan"), "DOUBLE")])


def _finite(numbers: NDArray[np.float64], kind: ValueKind) -> NDArray[np.float64]:
    """Timestamps in days, as in labels."""
    in_unit = numbers / _SECONDS_PER_DAY if kind is ValueKind.TIMESTAMP else numbers
    return np.where(np.isfinite(in_unit), in_unit, np.nan)


def plain(session: Session, sample: Sample, found: Column) -> FeatureValues:
    """A column that is released unchanged."""
    labels = labels_of(session, sample, found.name)
    if middle_reader(found.kind) is None:
        return categories(labels.codes, labels.texts)
    read = exp.select(alias(column(found.name), "value")).distinct().from_(sample.table()).subquery("distinct_values")
    order = exp.Ordered(this=column("value"), nulls_first=False)
    query = exp.select(alias(_number(column("value"), found.kind), "number")).from_(read).order_by(order)
    return numeric(labels.codes, _finite(session.arrays(query)["number"], found.kind))


def told_labels(levels: AttributeLevels, level: int) -> list[str | None]:
    """The labels of a level, None for those that say nothing."""
    if level == levels.top:
        return [None] * len(levels.labels[level - 1])
    return [None if label == TOP_LABEL else label for label in levels.labels[level - 1]]


def middles_of(
    levels: AttributeLevels, level: int, labels: Sequence[str | None], values: NDArray[np.float64], kind: ValueKind
) -> NDArray[np.float64] | None:
    """The number that stands for each group: read from its label, or the middle between its least and greatest value.

    None if groups do not follow one another on the line of numbers: then they are categories.
    """
    read = middle_reader(kind)
    assert read is not None
    low, high = np.full(len(labels), np.inf), np.full(len(labels), -np.inf)
    has_middle = ~np.isnan(values)
    np.minimum.at(low, levels.groups[level][has_middle], values[has_middle])
    np.maximum.at(high, levels.groups[level][has_middle], values[has_middle])
    middles = np.full(len(labels), np.nan)
    ranges = []
    for group, label in enumerate(labels):
        if label is None or not np.isfinite(low[group]):
            continue
        said = read(label)
        middles[group] = said if said is not None else low[group] / 2 + high[group] / 2
        ranges.append((low[group], high[group]))
    follows = all(before[1] < after[0] for before, after in pairwise(sorted(ranges)))
    return middles if follows else None


def numeric(codes: NDArray[np.int32], numbers: NDArray[np.float64]) -> FeatureValues:
    """With one more code, for records of which nothing is known."""
    unknown = np.int32(len(numbers))
    return FeatureValues(np.where(codes == UNKNOWN, unknown, codes), len(numbers) + 1, np.append(numbers, np.nan))


def categories(codes: NDArray[np.int32], labels: Sequence[str | None]) -> FeatureValues:
    """All unknown values, including labels that are None, have one code."""
    unknown = len(labels)
    kept = np.array([unknown if label is None else code for code, label in enumerate(labels)] + [unknown], np.int32)
    return FeatureValues(kept[codes], unknown + 1, None, unknown)
