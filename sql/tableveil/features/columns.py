"""Columns as classifiers see them: numbers where values have them, categories elsewhere, and what is unknown."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, table, text
from tableveil.classification.model import FeatureValues
from tableveil.dictionary import Dictionary
from tableveil.dictionary.positions import position_of
from tableveil.features.sampled import Sample, labels_of
from tableveil.hierarchy import AttributeLevels, ValueKind
from tableveil.hierarchy.labelled import TOP_LABEL
from tableveil.hierarchy.levels import middle_reader
from tableveil.source import Column

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
