"""Releases in which every combination of values has levels of its own, and checks of their labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, alias, column, conjunction, expression, number, row_hash, table
from tableveil.dictionary import Dictionary, value_texts
from tableveil.dictionary.aggregated import ambiguous_levels
from tableveil.errors import Fault, InvalidError, Warned, note, shortened, sole
from tableveil.game import SUPPRESSED, Combinations
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import Policy
from tableveil.release.by_value import classes_by_groups
from tableveil.release.columns import LabelledColumn, ReleasedColumn
from tableveil.release.joined import (
    group_at,
    joined_rows,
    joined_values,
    label_at,
    not_withheld,
    own_label,
    positions_of,
    released,
)
from tableveil.release.plan import Aggregated, CodedRows, Codes, LabelledClasses, ReleasePlan
from tableveil.verification.written import OWN_LEVELS


@dataclass(frozen=True, eq=False)
class ByCombination:
    """Every combination of values, those of the population included, has a transformation. See `Recoding`.

    `chosen` has per combination an index into `transformations`, or `SUPPRESSED`. The plan's classes are those at level
    0. `partition` tells whether records with equal labels are one class, which was judged.
    """

    combinations: Combinations
    transformations: tuple[Transformation, ...]
    chosen: NDArray[np.integer[Any]]
    partition: bool = True
    aggregates: Aggregated = ()
    by: None = None
    same_labels: bool = False

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Per combination, whether it is released; for combinations of the population only, whether it would be."""
        kept: NDArray[np.bool_] = self.chosen != SUPPRESSED
        return kept

    def levels(self, attribute: int) -> NDArray[np.int32]:
        """Per combination, the level of a quasi-identifier; 0 if it is suppressed."""
        levels_of = np.array([transformation[attribute] for transformation in self.transformations] or [0], np.int32)
        return np.where(self.kept, levels_of[self.chosen], 0).astype(np.int32)

    @cached_property
    def _records_at(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        released = self.combinations.records * self.kept
        counts = [np.bincount(self.levels(j), weights=released) for j in range(len(self.combinations.codes))]
        return tuple(tuple((int(level), int(of[level])) for level in np.flatnonzero(of)) for of in counts)

    @cached_property
    def transformation(self) -> Transformation:
        """The highest level of each quasi-identifier in a released record."""
        return tuple(max((level for level, _ in used), default=0) for used in self._records_at)

    def records_at(self, attribute: int) -> tuple[tuple[int, int], ...]:
        """The levels at which records are released, ascending, with their numbers of records."""
        return self._records_at[attribute]

    def labelled(self, session: WarehouseSession, plan: ReleasePlan) -> LabelledClasses:
        """The combinations put together by the texts of their labels: levels may share one."""
        columns, texts = [], []
        for j, dictionary in enumerate(plan.dictionaries):
            numbers: dict[str | None, int] = {}
            levels, codes = self.levels(j)[self.kept], self.combinations.codes[j][self.kept]
            column_labels = np.zeros(len(codes), np.int64)
            for level in np.unique(levels):
                of_groups = (
                    dictionary.levels.labels[level - 1] if level else value_texts(session.embedded, [dictionary])[0]
                )
                at = levels == level
                used, position = np.unique(dictionary.levels.groups[level][codes[at]], return_inverse=True)
                number_of = [numbers.setdefault(of_groups[group], len(numbers)) for group in used]
                column_labels[at] = np.array(number_of, np.int64)[position.reshape(-1)]
            columns.append(column_labels)
            texts.append(tuple(numbers))
        records = self.combinations.records[self.kept]
        # Combinations of the population alone are no records.
        rows = np.column_stack([np.zeros(len(records), np.int64), *columns])[records > 0]
        classes, which = np.unique(rows, axis=0, return_inverse=True)
        counts = np.bincount(which.reshape(-1), weights=records[records > 0], minlength=len(classes))
        return LabelledClasses(counts.astype(np.int64), tuple(classes[:, 1:].T), tuple(texts))

    def stage(self, session: WarehouseSession, plan: ReleasePlan) -> None:
        """The levels of the released combinations."""
        columns = {f"c{j}": pa.array(codes[self.kept]) for j, codes in enumerate(self.combinations.codes)}
        columns |= {f"l{j}": pa.array(self.levels(j)[self.kept]) for j in range(len(columns))}
        session.embedded.keep(OWN_LEVELS, pa.table(columns))
        session.lend(OWN_LEVELS)

    def rows(self, session: WarehouseSession, plan: ReleasePlan) -> exp.Select:
        """Each row with the labels of its combination."""
        query, codes = joined_rows(plan, with_groups=True)
        query = _with_own_levels(query, codes, "INNER").where(*not_withheld(plan))
        return query.select(*(alias(_released(plan, each), each.name) for each in plan.columns()))

    def suppressed(self, plan: ReleasePlan) -> exp.Select:
        """The rows whose combinations have no levels."""
        return _with_own_levels(*joined_rows(plan, with_groups=True), "ANTI")

    def numbered(self, session: WarehouseSession, plan: ReleasePlan) -> tuple[exp.Select, exp.Expr] | None:
        """Labels number the classes."""
        if not self.partition:
            return None
        query = _with_own_levels(*joined_rows(plan, with_groups=True), "LEFT")
        kept = released(plan, _LEVEL)
        labels = [exp.Ordered(this=_released(plan, each)) for each in plan.generalized()]
        number_ = "CASE WHEN $kept THEN dense_rank() OVER (PARTITION BY $kept ORDER BY $labels) END"
        return query, expression(number_, kept=kept, labels=labels)

    def coded(self, session: WarehouseSession, plan: ReleasePlan) -> CodedRows:
        """Classes are hashes of their labels' levels and groups."""
        query, own, person = joined_values(plan)
        codes, labels = {}, []
        for j, dictionary in enumerate(plan.dictionaries):
            codes[j] = own[dictionary.column.name].copy()
            # Each level reads its group numbers from another column.
            groups = {level: group_at(plan, j, level) for level in plan.levels_of(j)}
            labels += [column(f"l{j}", OWN_LEVELS), label_at_own_level(groups, j)]
        class_ = exp.Case(ifs=[exp.If(this=released(plan, _LEVEL), true=row_hash(*labels))])
        return CodedRows(_with_own_levels(query, codes, "LEFT"), class_, own, person, hashed=True)

    def classes_of(self, plan: ReleasePlan, generalized: Sequence[Codes], others: Sequence[Codes]) -> NDArray[np.intp]:
        """The combinations."""
        return classes_by_groups(plan, generalized)


_LEVEL = column("l0", OWN_LEVELS)


def _with_own_levels(query: exp.Select, codes: Mapping[int, exp.Expr], join: str) -> exp.Select:
    """The rows joined to their levels by their codes; quasi-identifiers of a single code may be left out."""
    same = (exp.EQ(this=column(f"c{j}", OWN_LEVELS), expression=code) for j, code in codes.items())
    return query.join(table(OWN_LEVELS), on=conjunction(same), join_type=join)


def _released(plan: ReleasePlan, of: ReleasedColumn) -> exp.Expr:
    positions = positions_of(plan)
    if not isinstance(of, LabelledColumn) or not of.mixed:
        return own_label(of, positions)
    return label_at_own_level({level: label_at(of, level, positions) for level in of.levels}, positions[of.name])


def label_at_own_level(labels: Mapping[int, exp.Expr], attribute: int) -> exp.Expr:
    """The label of a quasi-identifier that rows have at different levels; `labels` are given by level."""
    level = column(f"l{attribute}", OWN_LEVELS)
    at = [exp.If(this=exp.EQ(this=level.copy(), expression=number(n)), true=label) for n, label in labels.items()]
    return exp.Case(ifs=at)


# --- meanings of labels ----------------------------------------------------------------------------------------------


def check_one_meaning(session: Session, policy: Policy, dictionaries: Sequence[Dictionary], lattice: Lattice) -> None:
    """Raises `InvalidError` for every hierarchy in which one label stands for different values at different levels.

    With mixed levels, readers could not know the meaning of such a label. All levels of the lattice are checked, used
    or not.
    """
    faults, method = [], policy.method
    shown = [dictionary for dictionary, bottom in zip(dictionaries, lattice.bottom, strict=False) if bottom == 0]
    values = iter(value_texts(session, shown))
    for j, (dictionary, attribute) in enumerate(zip(dictionaries, policy.quasi_identifiers, strict=True)):
        texts = next(values) if lattice.bottom[j] == 0 else ()
        levels = ambiguous_levels(dictionary.levels, texts, range(lattice.bottom[j], lattice.top[j] + 1))
        if levels is not None:
            faults.append(
                Fault(
                    f"attributes[{policy.attributes.index(attribute)}].hierarchy",
                    f"a label of {shortened(attribute.column)} that stands for different values at the levels "
                    f"{levels[0]} and {levels[1]}",
                    f"labels that stand for the same values at every level, because {method.called} mixes levels",
                    "Rename the label at one of them, or leave one out by minimum_level or maximum_level.",
                )
            )
    if faults:
        raise InvalidError.about("LABELS_AMBIGUOUS", "labels of different levels cannot be told apart", faults)


# --- warnings for people ---------------------------------------------------------------------------------------------


def mixed_levels(plan: ReleasePlan) -> tuple[Warned, ...]:
    """The warning that categories overlap, if levels are mixed."""
    columns = [released for released in plan.generalized() if released.mixed]
    if not columns:
        return ()
    mixed = [f"{shortened(released.name)} (levels {', '.join(map(str, released.levels))})" for released in columns]
    return (
        note(
            f"Levels are mixed: {'; '.join(mixed)}. Labels of these columns overlap, such as 34 beside 30-39: a count "
            "by one label does not find all people for whom it is true, and a record's level depends on its values.",
            field=sole(released.name for released in columns),
        ),
    )
