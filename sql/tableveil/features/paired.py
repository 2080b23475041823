"""Records of a source paired with their release: each value, and the label or aggregate that replaces it.

A suppressed record has labels, too: those it would have been released with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.aggregation import aggregates as kinds
from tableveil.aggregation.aggregates import Aggregates
from tableveil.backend import Session, alias, column, left_join, number, table
from tableveil.classification.model import Feature, FeatureValues
from tableveil.dictionary import AggregatedDictionary, Dictionary, PeopleDictionary, SensitiveDictionary
from tableveil.features.columns import UNKNOWN, Sample, categories, middles_of, numbers_of, numeric, plain, told_labels
from tableveil.lattice import Transformation
from tableveil.policy import Scale
from tableveil.release.plan import ReleasePlan

Coded = Dictionary | AggregatedDictionary | SensitiveDictionary | PeopleDictionary
"""A dictionary of one column, with a code per value."""


@dataclass(frozen=True, eq=False)
class Paired:
    """The records of a sample by the codes of a plan's columns; -1 where the plan has no code for the value.

    `codes` has them by the names of columns, of those that identify the members of clusters, too. `values` are
    the generalized columns' values as numbers, NaN where there is none, None for a column without numbers; `plain` are
    other released columns.
    """

    plan: ReleasePlan
    codes: dict[str, NDArray[np.int32]]
    values: tuple[NDArray[np.float64] | None, ...]
    plain: dict[str, FeatureValues]
    records: int

    @cached_property
    def classes(self) -> NDArray[np.intp]:
        """Per record the position of its class among the plan's; -1 if it is in none."""
        plan = self.plan
        others = (*plan.aggregated_columns, *(plan.recoding.by or ()))
        return plan.recoding.classes_of(plan, self._codes(plan.dictionaries), self._codes(others))

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Per record, whether it is released: a record that was set aside is not."""
        kept: NDArray[np.bool_] = np.append(self.plan.kept, False)[self.classes]
        for codes in self._codes(self.plan.aggregated_columns):
            kept = kept & (codes != UNKNOWN)
        return kept

    def feature(self, name: str) -> Feature:
        """The column of that name, before and after."""
        plan = self.plan
        for dictionary, aggregates in plan.recoding.aggregates:
            if dictionary.column.name == name:
                released = _aggregates(dictionary, aggregates, self.classes)
                return Feature(name, _as_it_is(dictionary, self.codes[name]), released)
        level_0 = (0,) * len(plan.transformation)
        return Feature(name, self.released_at(name, level_0), self.released_at(name, plan.transformation))

    def aggregates(self, name: str) -> bool:
        """Whether the column of that name is aggregated."""
        return name in [aggregated_column.column.name for aggregated_column in self.plan.aggregated_columns]

    def released_at(self, name: str, transformation: Transformation) -> FeatureValues:
        """The values of a column, which must not be aggregated, as a transformation would release them."""
        if name in self.plain:
            return self.plain[name]
        j = [each_dictionary.column.name for each_dictionary in self.plan.dictionaries].index(name)
        return _generalized(self.plan.dictionaries[j], self.codes[name], self.values[j], transformation[j])

    def _codes(self, dictionaries: Sequence[Coded]) -> list[NDArray[np.int32]]:
        return [self.codes[dictionary.column.name] for dictionary in dictionaries]


def pair(session: Session, plan: ReleasePlan, sample: Sample, names: Sequence[str]) -> Paired:
    """Pairs the records of the sample, for the columns of these names, and others that classes need."""
    recognizing: list[Coded] = [*plan.dictionaries, *plan.aggregated_columns]
    coded = [*recognizing, *(plan.recoding.by or ())]
    handled = {dictionary.column.name for dictionary in recognizing}
    return Paired(
        plan=plan,
        codes=dict(zip((dictionary.column.name for dictionary in coded), _codes(session, sample, coded), strict=True)),
        values=tuple(numbers_of(session, dictionary) for dictionary in plan.dictionaries),
        plain={name: plain(session, sample, plan.source.column(name)) for name in names if name not in handled},
        records=sample.records,
    )


def _codes(session: Session, sample: Sample, dictionaries: Sequence[Coded]) -> tuple[NDArray[np.int32], ...]:
    """Per dictionary the code of each record's value."""
    query = exp.select(alias(column(sample.position, "source"), "position")).from_(sample.table())
    for j, dictionary in enumerate(dictionaries):
        same = exp.EQ(this=column(dictionary.column.name, "source"), expression=column("value", f"d{j}"))
        query = left_join(query, table(dictionary.table_name, alias=f"d{j}"), same)
        # NULL is equal to no value.
        null = column(dictionary.column.name, "source").is_(exp.null())
        of_null = number(UNKNOWN if (code := _null_code(dictionary)) is None else code)
        read_code = exp.Coalesce(this=column("code", f"d{j}"), expressions=[number(UNKNOWN)])
        query = query.select(alias(exp.Case(ifs=[exp.If(this=null, true=of_null)], default=read_code), f"c{j}"))
    arrays = session.arrays(query.order_by(column("position")))
    return tuple(arrays[f"c{j}"].astype(np.int32) for j in range(len(dictionaries)))


def _null_code(dictionary: Coded) -> int | None:
    match dictionary:
        case Dictionary():
            return dictionary.levels.null_code
        case SensitiveDictionary():
            return dictionary.values.null_code
        case AggregatedDictionary() | PeopleDictionary():
            return None


def _generalized(
    dictionary: Dictionary, codes: NDArray[np.int32], values: NDArray[np.float64] | None, level: int
) -> FeatureValues:
    levels = dictionary.levels
    if level == 0:
        if values is not None:
            return numeric(codes, values)
        return categories(codes, [None if code == levels.null_code else "" for code in range(len(levels.groups[0]))])
    labels = told_labels(levels, level)
    groups = np.append(levels.groups[level], np.int32(UNKNOWN))[codes]
    middles = None if values is None else middles_of(levels, level, labels, values, dictionary.column.kind)
    return categories(groups, labels) if middles is None else numeric(groups, middles)


def _as_it_is(dictionary: AggregatedDictionary, codes: NDArray[np.int32]) -> FeatureValues:
    positions = dictionary.values.positions
    if dictionary.values.aggregation.scale is Scale.NOMINAL:
        return categories(codes, [""] * len(positions))
    return numeric(codes, positions)


def _aggregates(dictionary: AggregatedDictionary, aggregates: Aggregates, classes: NDArray[np.intp]) -> FeatureValues:
    """The aggregate of each record's class; unknown where there is no class."""
    values = dictionary.values
    codes = classes.astype(np.int32)
    match aggregates:
        case kinds.Numbers():
            return numeric(codes, aggregates.values)
        case kinds.Ranges():
            with np.errstate(invalid="ignore"):
                middles = aggregates.low / 2 + aggregates.high / 2
            middles = np.where(np.isfinite(aggregates.low), middles, aggregates.high)
            middles = np.where(np.isfinite(aggregates.high), middles, aggregates.low)
            return numeric(codes, np.where(np.isfinite(middles), middles, np.nan))
        case kinds.MemberValues():
            if values.aggregation.scale is not Scale.NOMINAL:
                return numeric(codes, values.positions[aggregates.codes])
            members = np.append(aggregates.codes, np.int32(UNKNOWN))[codes]
            return categories(members, [""] * len(values.positions))
        case kinds.CommonLabels():
            assert values.levels is not None, "a common label is one of a hierarchy"
            levels_and_groups = np.stack([aggregates.levels, aggregates.groups], axis=1)
            different, label = np.unique(levels_and_groups, axis=0, return_inverse=True)
            labels_shown = [
                told_labels(values.levels, level)[group] if level else "" for level, group in different.tolist()
            ]
            return categories(np.append(label.reshape(-1), UNKNOWN)[codes].astype(np.int32), labels_shown)
