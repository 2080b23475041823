"""Records of a source beside released rows of the same class, where nobody knows whose row is whose.

A row of a local recoding has labels of its own class of records. A record may fit the labels of several such classes,
and the ledger does not hold which one it was put into.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, column
from tableveil.classification.model import ClassifiedRecords, Feature, FeatureValues
from tableveil.dictionary import Dictionary
from tableveil.errors import ConflictError, shortened
from tableveil.features.class_labels import meanings
from tableveil.features.columns import (
    SAMPLE,
    Sample,
    SampledLabels,
    categories,
    draw_sample,
    label_text,
    labels_of,
    middles_of,
    numbers_of,
    numeric,
    plain,
    told_labels,
)
from tableveil.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class RowsBeside:
    """Released rows without suppressed ones; by generalized column its dictionary, and the levels of its labels."""

    rows: Source
    generalized: Mapping[str, tuple[Dictionary, range]]


def paired_at_random(
    session: Session,
    sample: Sample,
    there: RowsBeside,
    features: Sequence[str],
    classes: Mapping[str, SampledLabels],
    seed: int,
) -> Iterator[ClassifiedRecords]:
    """Per class column the sampled records, each beside a released row of its class: not its own, a drawn one.

    Records in excess of a class's released rows count as suppressed, and nothing is known of them. With a sample, each
    class has its share of the rows that are `there`, rounded. By column, `classes` has the sampled records' classes.
    The sample's table is replaced.

    Raises:
        ConflictError: A released label is none of the dictionaries'.
    """
    original = [plain(session, sample, sample.source.column(name)) for name in features]
    totals = {name: _totals(session, sample.source, name) for name in classes}
    session.execute(f"DROP TABLE temp.main.{SAMPLE}")
    drawn = draw_sample(session, there.rows, sample.of, seed)
    released = [
        _mixed(session, labels_of(session, drawn, name), *there.generalized[name])
        if name in there.generalized
        else plain(session, drawn, there.rows.column(name))
        for name in features
    ]
    for name, labels in classes.items():
        partners = _partners(labels, labels_of(session, drawn, name), totals[name])
        both = zip(features, original, released, strict=True)
        paired = tuple(Feature(feature, before, _at(after, partners)) for feature, before, after in both)
        yield ClassifiedRecords(paired, name, labels.codes, labels.names, partners >= 0)


def _totals(session: Session, source: Source, name: str) -> Mapping[str | None, int]:
    """How many records of the source have each value of the column."""
    query = exp.select(alias(label_text(source.column(name)), "value"), alias(exp.Count(this=exp.Star()), "records"))
    return dict(session.rows(query.from_(source.table("source")).group_by(column("value"))))


def _partners(labels: SampledLabels, released: SampledLabels, totals: Mapping[str | None, int]) -> NDArray[np.intp]:
    """Per record the position of a released row of its class, -1 if there is none left."""
    partners = np.full(len(labels.codes), -1, np.intp)
    for code, text in enumerate(labels.texts):
        records = np.flatnonzero(labels.codes == code)
        there = released.texts.index(text) if text in released.texts else -1
        rows = np.flatnonzero(released.codes == there)
        number = round(len(records) * len(rows) / totals[text])
        partners[records[:number]] = rows[:number]
    return partners


def _at(values: FeatureValues, rows: NDArray[np.intp]) -> FeatureValues:
    """The values of these rows; the last code is that of unknown ones."""
    codes = np.append(values.codes, np.int32(values.categories - 1))[rows]
    return FeatureValues(codes, values.categories, values.numbers, values.unknown)


def _mixed(session: Session, labels: SampledLabels, dictionary: Dictionary, at_levels: range) -> FeatureValues:
    """Labels of several levels: numbers if the groups of every used level follow one another."""
    levels, kind = dictionary.levels, dictionary.column.kind
    meanings_here = meanings(session, dictionary, at_levels)
    if any(text not in meanings_here for text in labels.texts):
        actual = f"labels of {shortened(dictionary.column.name)} that its hierarchy does not have any more"
        raise ConflictError.of(
            "SOURCE_CHANGED", "release", actual, "a release whose hierarchies are as they were", "Release it again."
        )
    at = [meanings_here[text] for text in labels.texts]
    by_level = {level: told_labels(levels, level) for level, _ in at if level}
    read_texts = [
        by_level[level][group] if level else text for (level, group), text in zip(at, labels.texts, strict=True)
    ]
    values = numbers_of(session, dictionary)
    if values is None:
        return categories(labels.codes, read_texts)
    numbers = {level: middles_of(levels, level, texts, values, kind) for level, texts in by_level.items()} | {0: values}
    read = [None if (of := numbers[level]) is None else of[group] for level, group in at]
    if None in read:
        return categories(labels.codes, read_texts)
    return numeric(labels.codes, np.array(read, np.float64))
