"""What a release will look like: its columns, their types, and which classes are suppressed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.dictionary import Dictionary, SensitiveDictionary
from tableveil.game import Assignment, Combinations
from tableveil.game.record_level import SUPPRESSED
from tableveil.lattice import Transformation
from tableveil.policy import Policy, Role, SensitiveModel, SuppressedRecords
from tableveil.source import Column, Source


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """A column of the release. `dictionary` and `level` are set for quasi-identifiers.

    At the record level `level` is the highest that a released record has, and `levels` are all of them, ascending.
    """

    column: Column
    dictionary: Dictionary | None = None
    level: int = 0
    levels: tuple[int, ...] = (0,)

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
        """Its type: the source's at level 0, VARCHAR for labels."""
        return self.column.released_type if self.level == 0 else "VARCHAR"


@dataclass(frozen=True, eq=False)
class OwnLevels:
    """What record-level generalization chose for every combination of values, those of the population included."""

    combinations: Combinations
    assignment: Assignment

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Per combination, whether it is released: with those of the population, whether it would be."""
        kept: NDArray[np.bool_] = self.assignment.chosen != SUPPRESSED
        return kept

    def levels(self, attribute: int) -> NDArray[np.int32]:
        """Per combination, the level of a quasi-identifier; 0 if it is suppressed."""
        known = np.array([transformation[attribute] for transformation in self.assignment.transformations], np.int32)
        return np.where(self.kept, known[self.assignment.chosen], 0).astype(np.int32)

    @cached_property
    def records_at(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Per quasi-identifier, the levels at which records are released, ascending, each with how many are."""
        released = self.combinations.records * self.kept
        counts = [np.bincount(self.levels(j), weights=released) for j in range(len(self.combinations.codes))]
        return tuple(tuple((int(level), int(of[level])) for level in np.flatnonzero(of)) for of in counts)


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """Everything the writer needs: `policy` has a role for every column, `classes` are those at `transformation`.

    `kept` says per class whether it is released; `records` counts the source. `sensitive` are the sensitive columns.
    At the record level combinations have `own_levels`: then `classes` are those at level 0, and `transformation` has
    the highest level that a released record has of each quasi-identifier.
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

    @property
    def kept_records(self) -> int:
        """Records that are released."""
        return int(self.classes.counts[self.kept].sum())

    @property
    def suppressed_records(self) -> int:
        """Records that are not."""
        return self.records - self.kept_records

    @property
    def marker(self) -> str:
        """Name of the column that marks suppressed records, or an empty text if they are dropped."""
        return "" if self.policy.suppressed_records is SuppressedRecords.DROP else self.policy.marker_column

    def columns(self) -> Iterator[ReleasedColumn]:
        """The released columns in the source's order, without the marker."""
        roles = {attribute.column: attribute.role for attribute in self.policy.attributes}
        generalized = {
            dictionary.attribute.column: (dictionary, level, self.levels_of(j))
            for j, (dictionary, level) in enumerate(zip(self.dictionaries, self.transformation, strict=True))
        }
        for column in self.source.columns:
            if roles[column.name] is not Role.IDENTIFYING:
                yield ReleasedColumn(column, *generalized.get(column.name, ()))

    def levels_of(self, attribute: int) -> tuple[int, ...]:
        """The different levels, ascending, at which records have a quasi-identifier."""
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
        """The released quasi-identifiers in the source's order."""
        return [released for released in self.columns() if released.dictionary is not None]
