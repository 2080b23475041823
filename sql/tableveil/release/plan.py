"""The plan of a release: its columns, their types, and the suppressed classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.aggregates import Aggregates
from tableveil.classes import EquivalenceClasses
from tableveil.counting import Earlier
from tableveil.dictionary import AggregatedDictionary, Dictionary, PeopleDictionary, SensitiveDictionary
from tableveil.game import Combinations
from tableveil.game.record_level import SUPPRESSED
from tableveil.lattice import Transformation
from tableveil.policy import Policy, Role, SensitiveModel, SuppressedRecords
from tableveil.release.label_columns import CLASS_ID, LabelColumns, has_labels, label_columns
from tableveil.source import Column, Source


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """A column of the release.

    `dictionary` and `level` are set for quasi-identifiers that are generalized, `aggregated` for those whose values are
    aggregated.

    At the record level `level` is the highest level of a released record, and `levels` are all of them, ascending.
    """

    column: Column
    dictionary: Dictionary | None = None
    level: int = 0
    levels: tuple[int, ...] = (0,)
    aggregated: AggregatedDictionary | None = None

    @property
    def mixed(self) -> bool:
        """Whether records have it at different levels."""
        return len(self.levels) > 1

    @property
    def name(self) -> str:
        """Its name, as in the source."""
        return self.column.name

    @property
    def type(self) -> str:
        """Its type, which does not depend on the levels that the search finds.

        It is VARCHAR for labels, the aggregate's type for aggregates, and else the source's.
        """
        if self.aggregated is not None:
            return self.aggregated.released_type
        labelled = self.dictionary is not None and has_labels(self.dictionary.attribute)
        return "VARCHAR" if labelled else self.column.released_type


@dataclass(frozen=True, eq=False)
class OwnLevels:
    """The levels of every combination of values, those of the population included.

    `chosen` has per combination an index into `transformations`, or `SUPPRESSED`.
    """

    combinations: Combinations
    transformations: tuple[Transformation, ...]
    chosen: NDArray[np.integer[Any]]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Per combination, whether it is released; for combinations of the population only, whether it would be."""
        kept: NDArray[np.bool_] = self.chosen != SUPPRESSED
        return kept

    def levels(self, attribute: int) -> NDArray[np.int32]:
        """Per combination, the level of a quasi-identifier; 0 if it is suppressed."""
        known = np.array([transformation[attribute] for transformation in self.transformations] or [0], np.int32)
        return np.where(self.kept, known[self.chosen], 0).astype(np.int32)

    @cached_property
    def records_at(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Per quasi-identifier, the levels at which records are released, ascending, with their numbers of records."""
        released = self.combinations.records * self.kept
        counts = [np.bincount(self.levels(j), weights=released) for j in range(len(self.combinations.codes))]
        return tuple(tuple((int(level), int(of[level])) for level in np.flatnonzero(of)) for of in counts)


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The members of each class where clusters replace the transformation.

    Entry i: `counts[i]` records with the code `codes[j][i]` of each aggregated column j, and `sensitive[s][i]` of each
    of the sensitive columns `by`, are in the class `classes[i]`, its position among the plan's. Where people have
    several records, these are the last of `by`. The writer chooses among records with equal codes; the choice must not
    depend on their order in the source.
    """

    by: tuple[SensitiveDictionary | PeopleDictionary, ...]
    codes: tuple[NDArray[np.int32], ...]
    sensitive: tuple[NDArray[np.int32], ...]
    classes: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Aggregated:
    """The aggregated columns, in policy order, and their aggregates in each of the plan's classes.

    `aggregates[j]` has an entry per class, suppressed ones included. `members` assigns records to classes; None: the
    labels of the generalized columns do.
    """

    dictionaries: tuple[AggregatedDictionary, ...]
    aggregates: tuple[Aggregates, ...]
    members: Members | None = None


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """Everything the writer needs: `policy` has a role for every column, `classes` are those at `transformation`.

    `kept` says per class whether it is released; `records` counts the source. `sensitive` are the sensitive columns. At
    the record level combinations have `own_levels`: then `classes` are those at level 0, and `transformation` has, for
    each quasi-identifier, the highest level of a released record. `aggregated` are the columns that are aggregated
    instead of generalized; where clusters replace the transformation, these are all quasi-identifiers, `classes` are
    the clusters, keyed by their number, and all are kept. `people` are numbered if some have several records. With
    `earlier` releases, `classes` are joint classes.
    """

    policy: Policy
    source: Source
    dictionaries: tuple[Dictionary, ...]
    transformation: Transformation
    classes: EquivalenceClasses
    kept: NDArray[np.bool_]
    records: int
    sensitive: tuple[SensitiveDictionary, ...] = ()
    own_levels: OwnLevels | None = None
    aggregated: Aggregated | None = None
    people: PeopleDictionary | None = None
    earlier: Earlier | None = None

    @property
    def repeating(self) -> bool:
        """Whether some people have several records."""
        return self.people is not None

    @property
    def kept_records(self) -> int:
        """The number of released records."""
        return int(self.classes.counts[self.kept].sum())

    @property
    def suppressed_records(self) -> int:
        """The number of suppressed records."""
        return self.records - self.kept_records

    @property
    def together_with(self) -> tuple[int, ...]:
        """The earlier releases that it was judged together with."""
        return () if self.earlier is None else self.earlier.known.releases

    @property
    def shows_suppressed(self) -> bool:
        """Whether there are suppressed records that are shown, without labels, as one more class."""
        return self.policy.suppressed_records is SuppressedRecords.KEEP and self.suppressed_records > 0

    @property
    def marker(self) -> str:
        """Name of the column that marks suppressed records, or an empty text if they are dropped."""
        return "" if self.policy.suppressed_records is SuppressedRecords.DROP else self.policy.marker_column

    @property
    def label_columns(self) -> tuple[LabelColumns, ...]:
        """Per released column of labels, the columns beside it."""
        return label_columns(self.policy, self.source)

    def types(self) -> Iterator[tuple[str, str]]:
        """Names and types of all columns of the released rows, in order."""
        beside = {columns.name: columns.types for columns in self.label_columns}
        for released in self.columns():
            yield released.name, released.type
            yield from beside.get(released.name, ())
        if self.marker:
            yield self.marker, "BOOLEAN"
        if self.policy.release.class_id:
            yield CLASS_ID, "BIGINT"

    def columns(self) -> Iterator[ReleasedColumn]:
        """The released columns of the source in its order, without those that the release adds."""
        roles = {attribute.column: attribute.role for attribute in self.policy.attributes}
        generalized = {
            dictionary.attribute.column: (dictionary, level, self.levels_of(j))
            for j, (dictionary, level) in enumerate(zip(self.dictionaries, self.transformation, strict=True))
        }
        aggregated = {dictionary.attribute.column: dictionary for dictionary in self.aggregated_columns}
        for column in self.source.columns:
            if column.name in aggregated:
                yield ReleasedColumn(column, aggregated=aggregated[column.name])
            elif roles[column.name] is not Role.IDENTIFYING:
                yield ReleasedColumn(column, *generalized.get(column.name, ()))

    @property
    def aggregated_columns(self) -> tuple[AggregatedDictionary, ...]:
        """The aggregated columns in policy order."""
        return () if self.aggregated is None else self.aggregated.dictionaries

    def levels_of(self, attribute: int) -> tuple[int, ...]:
        """The different levels of a quasi-identifier in records, ascending."""
        used = () if self.own_levels is None else self.own_levels.records_at[attribute]
        return tuple(level for level, _ in used) or (self.transformation[attribute],)

    def protected(self) -> list[SensitiveDictionary]:
        """The sensitive columns whose values a privacy model looks at."""
        columns = {model.column for model in self.policy.privacy_models if isinstance(model, SensitiveModel)}
        return [dictionary for dictionary in self.sensitive if dictionary.attribute.column in columns]

    def diverse(self) -> list[ReleasedColumn]:
        """The released sensitive columns in the source's order."""
        names = {attribute.column for attribute in self.policy.sensitive}
        return [released for released in self.columns() if released.name in names]

    def quasi_identifiers(self) -> list[ReleasedColumn]:
        """The released quasi-identifiers, generalized or aggregated, in the source's order."""
        return [released for released in self.columns() if released.dictionary or released.aggregated]

    def generalized(self) -> list[ReleasedColumn]:
        """The released quasi-identifiers that are generalized, in the source's order."""
        return [released for released in self.columns() if released.dictionary]
