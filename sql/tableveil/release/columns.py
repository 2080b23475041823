"""The columns of a release, by what stands in their cells: values of the source, labels, or aggregates of classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tableveil.dictionary import AggregatedDictionary, Dictionary
from tableveil.policy import Scale
from tableveil.release.label_columns import has_labels
from tableveil.source import Column


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """A column of the source that is released; this class has its values as they are."""

    column: Column
    recognizes: ClassVar[bool] = False
    """Whether it is a quasi-identifier, in whose cells stand no values of the source."""

    @property
    def name(self) -> str:
        """Its name, as in the source."""
        return self.column.name

    @property
    def type(self) -> str:
        """Its type, which does not depend on the levels that the search finds."""
        return self.column.released_type

    @property
    def comparable_at(self) -> tuple[int, str] | None:
        """The level and the hierarchy at which other releases have equal texts for equal records; None if at none."""
        return 0, ""


@dataclass(frozen=True, slots=True)
class LabelledColumn(ReleasedColumn):
    """A quasi-identifier that is generalized.

    If records have several levels, `level` is the highest of a released one, and `levels` are all of them, ascending.
    """

    dictionary: Dictionary
    level: int
    levels: tuple[int, ...]
    recognizes: ClassVar[bool] = True

    @property
    def type(self) -> str:
        """VARCHAR for labels, and else the source's."""
        return "VARCHAR" if has_labels(self.dictionary.attribute) else self.column.released_type

    @property
    def mixed(self) -> bool:
        """Whether records have it at different levels."""
        return len(self.levels) > 1

    @property
    def comparable_at(self) -> tuple[int, str] | None:
        """None if records have several levels."""
        return None if self.mixed else (self.level, self.dictionary.hierarchy)

    @property
    def cells(self) -> str:
        """The content of its cells, in words."""
        return f"released level {self.level}"

    @property
    def distinct(self) -> int:
        """Number of different values before the release."""
        return len(self.dictionary.levels.groups[0])

    @property
    def positions(self) -> NDArray[np.float64] | None:
        """None: own values are told apart by their labels, whatever their places are."""
        return None

    @property
    def groups(self) -> NDArray[np.int64]:
        """Per own value, by its code, the number of its label."""
        return self.dictionary.levels.groups[self.level].astype(np.int64)

    @property
    def hides(self) -> bool:
        """Whether the release hides differences between values."""
        return self._finer_level is not None

    @property
    def finer(self) -> NDArray[np.int64]:
        """Per own value, by its code, what is least finely hidden of it.

        It is the group at the highest level that distinguishes more than the released one.
        """
        assert self._finer_level is not None, "it hides something"
        return self.dictionary.levels.groups[self._finer_level].astype(np.int64)

    def at_top(self) -> LabelledColumn:
        """The column as if one label hid all its values."""
        return replace(self, level=self.dictionary.levels.top)

    @property
    def _finer_level(self) -> int | None:
        """The highest level with more groups than the released one, if the released one hides anything."""
        groups = [len(leaves) for leaves in self.dictionary.levels.leaves]
        return max((level for level in range(self.level) if groups[level] > groups[self.level]), default=None)


@dataclass(frozen=True, slots=True)
class AggregateColumn(ReleasedColumn):
    """A quasi-identifier whose values are aggregated in each class, which hides any values that differ."""

    dictionary: AggregatedDictionary
    recognizes: ClassVar[bool] = True
    cells: ClassVar[str] = "aggregates"

    @property
    def type(self) -> str:
        """The aggregate's type."""
        return self.dictionary.released_type

    @property
    def comparable_at(self) -> tuple[int, str] | None:
        """None: an aggregate depends on the class."""
        return None

    @property
    def distinct(self) -> int:
        """Number of different values before the release."""
        return self.dictionary.distinct

    @property
    def positions(self) -> NDArray[np.float64] | None:
        """Per own value, by its code, its place on the scale; None if it has none."""
        values = self.dictionary.values
        return None if values.aggregation.scale is Scale.NOMINAL else values.positions

    @property
    def groups(self) -> NDArray[np.int64]:
        """All values are in one group: nothing tells them apart by itself."""
        return np.zeros(self.distinct, np.int64)

    @property
    def hides(self) -> bool:
        """Whether the release hides differences between values."""
        return self.distinct > 1

    @property
    def finer(self) -> NDArray[np.int64]:
        """Each own value by itself."""
        return np.arange(self.distinct)

    def at_top(self) -> AggregateColumn:
        """The column itself: it has no levels."""
        return self


RecognizingColumn = LabelledColumn | AggregateColumn
"""A quasi-identifier of a release."""
