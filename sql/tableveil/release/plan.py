"""The plan of a release: its columns, their types, its classes, and how records come into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.aggregation.aggregates import Aggregates
from tableveil.backend import WarehouseSession
from tableveil.classes import EquivalenceClasses
from tableveil.counting import Earlier
from tableveil.dictionary import AggregatedDictionary, Dictionary, PeopleDictionary, SensitiveDictionary
from tableveil.lattice import Transformation
from tableveil.policy import Policy, Role, SensitiveModel, SuppressedRecords
from tableveil.release.columns import AggregateColumn, LabelledColumn, RecognizingColumn, ReleasedColumn
from tableveil.release.label_columns import CLASS_ID, LabelColumns, label_columns
from tableveil.source import Source

if TYPE_CHECKING:
    from tableveil.release.related import RelatedRelease

Codes = NDArray[np.int32]


Aggregated = tuple[tuple[AggregatedDictionary, Aggregates], ...]
"""The aggregated columns in policy order, with the aggregates of the plan's classes, suppressed ones included."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """The source's records with their released class: NULL for suppressed ones.

    `query` has no select list yet. `own` are the codes of each quasi-identifier's own values, and `person` is the code
    of the record's person. `values` are the columns released unchanged, by name; None: they are the source's. Classes
    are `hashed`, or numbered in random order. `staged` are tables that nothing else needs.
    """

    query: exp.Select
    class_: exp.Expr
    own: Mapping[str, exp.Expr]
    person: exp.Expr | None
    hashed: bool
    values: Mapping[str, exp.Expr] | None = None
    staged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LabelledClasses:
    """The released classes by their labels: the `counts` of their records, and per generalized column their `labels`.

    A label is a number: its text is in `texts`, which is None if the values themselves are the labels.
    """

    counts: NDArray[np.int64]
    labels: tuple[NDArray[np.int64], ...]
    texts: tuple[Sequence[str | None] | None, ...]


class Recoding(Protocol):
    """How records come into classes and get their labels: `ByValue`, `ByCombination` or `Clusters`.

    It answers all questions whose answers differ between methods.
    """

    @property
    def transformation(self) -> Transformation:
        """Per generalized quasi-identifier its level; where records have several, the highest of a released one."""

    @property
    def aggregates(self) -> Aggregated:
        """The columns that are aggregated instead of generalized, and what replaces their values."""

    @property
    def by(self) -> tuple[SensitiveDictionary | PeopleDictionary, ...] | None:
        """The columns that, beside aggregated ones, say which cluster a record is in; None if labels say it."""

    @property
    def same_labels(self) -> bool:
        """Whether equal values have equal labels, those of suppressed records included."""

    def records_at(self, attribute: int) -> tuple[tuple[int, int], ...]:
        """The levels of a quasi-identifier, ascending, with their numbers of records; empty if it has one level."""

    def labelled(self, session: WarehouseSession, plan: ReleasePlan) -> LabelledClasses:
        """The released classes by their labels, before any row is written."""

    def stage(self, session: WarehouseSession, plan: ReleasePlan) -> None:
        """Puts the tables that the rows are joined to into temporary tables, before the transaction that writes."""

    def rows(self, session: WarehouseSession, plan: ReleasePlan) -> exp.Select:
        """The released rows, in any order; the plan is staged."""

    def suppressed(self, plan: ReleasePlan) -> exp.Select:
        """The rows of suppressed records under the alias `source`, without a select list; the plan is staged."""

    def numbered(self, session: WarehouseSession, plan: ReleasePlan) -> tuple[exp.Select, exp.Expr] | None:
        """The source's records under the alias `source`, without a select list, and the number of each one's class.

        It is NULL for suppressed records. The result is None if labels alone do not tell the classes.
        """

    def coded(self, session: WarehouseSession, plan: ReleasePlan) -> CodedRows:
        """The source's records with their classes and own values; the plan is staged."""

    def classes_of(self, plan: ReleasePlan, generalized: Sequence[Codes], others: Sequence[Codes]) -> NDArray[np.intp]:
        """The positions of records' classes among the plan's, by their codes; -1 if they are in none.

        `others` are the codes of aggregated columns and of those in `by`. -1 is a code of no value.
        """


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """Everything the writer needs: `policy` has a role for every column, `dictionaries` are those of labels.

    `recoding` says what `classes` are, and `kept` per class whether it is released; `records` counts the source.
    `sensitive` are the sensitive columns. `people` are numbered if some have several records. With `earlier` releases,
    `classes` are joint classes. With `related` tables, their plans and the people's own write the rows: in these, the
    column `key` has a fresh key, and the columns `days` were dates.
    """

    policy: Policy
    source: Source
    dictionaries: tuple[Dictionary, ...]
    recoding: Recoding
    classes: EquivalenceClasses
    kept: NDArray[np.bool_]
    records: int
    sensitive: tuple[SensitiveDictionary, ...] = ()
    people: PeopleDictionary | None = None
    earlier: Earlier | None = None
    related: RelatedRelease | None = None
    key: str = ""
    days: tuple[str, ...] = ()

    @property
    def transformation(self) -> Transformation:
        """Per generalized quasi-identifier its level; where records have several, the highest of a released one."""
        return self.recoding.transformation

    @property
    def of_rows(self) -> ReleasePlan:
        """The plan by which the rows are written: with their keys, if other tables are joined by these."""
        return self if self.related is None else self.related.people

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
        companions = {columns.name: columns.types for columns in self.label_columns}
        for released in self.columns():
            yield released.name, released.type
            yield from companions.get(released.name, ())
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
                yield AggregateColumn(column, aggregated[column.name])
            elif column.name in generalized:
                yield LabelledColumn(column, *generalized[column.name])
            elif roles[column.name] is not Role.IDENTIFYING:
                yield ReleasedColumn(column)

    @property
    def aggregated_columns(self) -> tuple[AggregatedDictionary, ...]:
        """The aggregated columns in policy order."""
        return tuple(dictionary for dictionary, _ in self.recoding.aggregates)

    def levels_of(self, attribute: int) -> tuple[int, ...]:
        """The different levels of a quasi-identifier in records, ascending."""
        used = tuple(level for level, _ in self.recoding.records_at(attribute))
        return used or (self.transformation[attribute],)

    def protected(self) -> list[SensitiveDictionary]:
        """The sensitive columns whose values a privacy model looks at."""
        columns = {model.column for model in self.policy.privacy_models if isinstance(model, SensitiveModel)}
        return [dictionary for dictionary in self.sensitive if dictionary.attribute.column in columns]

    def diverse(self) -> list[ReleasedColumn]:
        """The released sensitive columns in the source's order, without those whose cells are lists."""
        names = {attribute.column for attribute in self.policy.sensitive if attribute.listed_elements is None}
        return [released for released in self.columns() if released.name in names]

    @property
    def columns_of_lists(self) -> list[str]:
        """The sensitive columns whose cells are lists, in the policy's order."""
        return [attribute.column for attribute in self.policy.sensitive if attribute.listed_elements is not None]

    def quasi_identifiers(self) -> list[RecognizingColumn]:
        """The released quasi-identifiers, generalized or aggregated, in the source's order."""
        return [released for released in self.columns() if isinstance(released, LabelledColumn | AggregateColumn)]

    def generalized(self) -> list[LabelledColumn]:
        """The released quasi-identifiers that are generalized, in the source's order."""
        return [released for released in self.columns() if isinstance(released, LabelledColumn)]
