"""What a release will look like: its columns, their types, and which classes are suppressed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.dictionary import Dictionary, SensitiveDictionary
from tableveil.lattice import Transformation
from tableveil.policy import Policy, Role, SensitiveModel, SuppressedRecords
from tableveil.source import Column, Source


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """A column of the release. `dictionary` and `level` are set for quasi-identifiers."""

    column: Column
    dictionary: Dictionary | None = None
    level: int = 0

    @property
    def name(self) -> str:
        """Its name, as in the source."""
        return self.column.name

    @property
    def type(self) -> str:
        """Its type: the source's at level 0, VARCHAR for labels."""
        return self.column.released_type if self.level == 0 else "VARCHAR"


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """Everything the writer needs: `policy` has a role for every column, `classes` are those at `transformation`.

    `kept` says per class whether it is released; `records` counts the source. `sensitive` are the sensitive columns.
    """

    policy: Policy
    source: Source
    dictionaries: tuple[Dictionary, ...]
    transformation: Transformation
    classes: EquivalenceClasses
    kept: NDArray[np.bool_]
    records: int
    sensitive: tuple[SensitiveDictionary, ...] = ()

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
            dictionary.attribute.column: (dictionary, level)
            for dictionary, level in zip(self.dictionaries, self.transformation, strict=True)
        }
        for column in self.source.columns:
            if roles[column.name] is not Role.IDENTIFYING:
                yield ReleasedColumn(column, *generalized.get(column.name, ()))

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
