"""Releases in which a value has one label in all records: one transformation, and aggregates of its classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column
from tableveil.classes import KeyLayout
from tableveil.lattice import Transformation
from tableveil.release import joined
from tableveil.release.aggregated import aggregate_of, stage_aggregates
from tableveil.release.columns import AggregateColumn, ReleasedColumn
from tableveil.release.plan import Aggregated, CodedRows, Codes, LabelledClasses, ReleasePlan
from tableveil.verification.written import AGGREGATES

SUPPRESSED = "suppressed_classes"

_CLASSES = "numbered_classes"
_KEPT = "exposure_kept"


@dataclass(frozen=True, slots=True, eq=False)
class ByValue:
    """One transformation for all records. See `Recoding`."""

    transformation: Transformation
    aggregates: Aggregated = ()
    by: None = None
    same_labels: bool = True

    def records_at(self, attribute: int) -> tuple[tuple[int, int], ...]:
        """None: a column has one level."""
        return ()

    def labelled(self, session: WarehouseSession, plan: ReleasePlan) -> LabelledClasses:
        """The plan's classes, by their groups."""
        labels = tuple(plan.classes.groups(j)[plan.kept] for j in range(len(plan.dictionaries)))
        levels = zip(plan.dictionaries, plan.transformation, strict=True)
        texts = tuple(dictionary.levels.labels[level - 1] if level else None for dictionary, level in levels)
        return LabelledClasses(plan.classes.counts[plan.kept], labels, texts)

    def stage(self, session: WarehouseSession, plan: ReleasePlan) -> None:
        """The keys of the suppressed classes."""
        session.embedded.keep(SUPPRESSED, pa.table(keys_of(plan, ~plan.kept)))
        session.lend(SUPPRESSED)

    def rows(self, session: WarehouseSession, plan: ReleasePlan) -> exp.Select:
        """The rows of the classes that are not suppressed."""
        query, _ = kept_rows(plan, with_groups=False)
        positions = joined.positions_of(plan)
        return query.select(*(alias(joined.own_label(each, positions), each.name) for each in plan.columns()))

    def suppressed(self, plan: ReleasePlan) -> exp.Select:
        """The rows of the suppressed classes."""
        query, groups = joined.joined_rows(plan, with_groups=True)
        return joined.of_classes(plan, query, groups, SUPPRESSED, "SEMI")

    def numbered(self, session: WarehouseSession, plan: ReleasePlan) -> tuple[exp.Select, exp.Expr] | None:
        """Classes of joint ones may share their labels, and then their number."""
        numbers = pa.array(_numbers(plan)[plan.kept], pa.int32())
        session.embedded.keep(_CLASSES, pa.table({**keys_of(plan, plan.kept), "class": numbers}))
        session.lend(_CLASSES)
        query, groups = joined.joined_rows(plan, with_groups=True)
        class_number = column("class", _CLASSES)
        number = exp.Case(ifs=[exp.If(this=joined.released(plan, class_number), true=class_number)])
        return joined.of_classes(plan, query, groups, _CLASSES, "LEFT"), number

    def coded(self, session: WarehouseSession, plan: ReleasePlan) -> CodedRows:
        """Classes are numbered from 1."""
        _stage_kept(session, plan)
        query, own, person = joined.joined_values(plan)
        groups = {j: joined.group_at(plan, j, plan.classes.at[j]) for j in range(len(plan.dictionaries))}
        if plan.earlier is not None:
            # Rows are told apart by their earlier classes, too.
            query, groups[len(groups)] = plan.earlier.joined(query, "source", "earlier")
        class_number = column("class", _KEPT)
        class_ = exp.Case(ifs=[exp.If(this=joined.released(plan, class_number), true=class_number)])
        query = joined.of_classes(plan, query, groups, _KEPT, "LEFT")
        return CodedRows(query, class_, own, person, hashed=False, staged=(_KEPT,))

    def classes_of(self, plan: ReleasePlan, generalized: Sequence[Codes], others: Sequence[Codes]) -> NDArray[np.intp]:
        """By the groups of the codes."""
        if not generalized:
            return np.full(len(others[0]), 0 if len(plan.classes.counts) else -1)
        return classes_by_groups(plan, generalized)


@dataclass(frozen=True, slots=True, eq=False)
class ByValueWithAggregates(ByValue):
    """One transformation for all records, and aggregates of its classes. See `Recoding`."""

    def stage(self, session: WarehouseSession, plan: ReleasePlan) -> None:
        """The keys of the suppressed classes, and the aggregates of the others."""
        ByValue.stage(self, session, plan)
        stage_aggregates(session.embedded, plan, keys_of(plan, plan.kept))

    def rows(self, session: WarehouseSession, plan: ReleasePlan) -> exp.Select:
        """The rows of the classes that have aggregates."""
        query, groups = joined.joined_rows(plan, with_groups=True)
        query = joined.of_classes(plan, query, groups, AGGREGATES, "INNER").where(*joined.not_withheld(plan))
        positions = joined.positions_of(plan)

        def cell(of: ReleasedColumn) -> exp.Expr:
            if isinstance(of, AggregateColumn):
                return aggregate_of(plan, of.dictionary)
            return joined.own_label(of, positions)

        return query.select(*(alias(cell(each), each.name) for each in plan.columns()))

    def numbered(self, session: WarehouseSession, plan: ReleasePlan) -> tuple[exp.Select, exp.Expr] | None:
        """None: aggregates tell classes apart, too."""
        return None


def by_value(transformation: Transformation, aggregates: Aggregated) -> ByValue:
    """A release with one transformation, and with aggregates if there are aggregated columns."""
    made = ByValueWithAggregates if aggregates else ByValue
    return made(transformation, aggregates)


def kept_rows(plan: ReleasePlan, *, with_groups: bool) -> tuple[exp.Select, dict[int, exp.Expr]]:
    """The rows of the classes that are not suppressed, without a select list, and their groups: see `joined_rows`."""
    suppresses = bool((~plan.kept).any())
    query, groups = joined.joined_rows(plan, with_groups or suppresses)
    if suppresses:
        query = joined.of_classes(plan, query, groups, SUPPRESSED, "ANTI")
    return query.where(*joined.not_withheld(plan)), groups


def classes_by_groups(plan: ReleasePlan, generalized: Sequence[Codes]) -> NDArray[np.intp]:
    """The positions of records' classes among the plan's, by the groups of their codes; -1 if there is none."""
    classes, inside = plan.classes, np.True_
    groups = []
    for dictionary, codes, level in zip(plan.dictionaries, generalized, classes.at, strict=True):
        inside = inside & (codes != -1)
        if dictionary.withholds:
            inside = inside & (codes != dictionary.levels.null_code)
        groups.append(dictionary.levels.groups[level][codes])
    words = classes.layout.pack([np.where(inside, group, 0) for group in groups])
    number_of_classes = len(classes.counts)
    keys = np.concatenate([np.stack(classes.words, axis=1), np.stack(words, axis=1)])
    _, first, key = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    # The classes come first, each with a key of its own.
    positions = first[key.reshape(-1)[number_of_classes:]]
    return np.where(inside & (positions < number_of_classes), positions, -1)


def keys_of(plan: ReleasePlan, wanted: NDArray[np.bool_]) -> dict[str, pa.Array]:
    """The keys of the wanted classes."""
    return {f"w{word}": pa.array(keys[wanted]) for word, keys in enumerate(plan.classes.words)}


def _numbers(plan: ReleasePlan) -> NDArray[np.int64]:
    """Per class the number of its labels, from 1: joint classes may share their labels."""
    attributes = range(len(plan.dictionaries))
    layout = KeyLayout.of([plan.classes.layout.radices[j] for j in attributes])
    keys = layout.pack([plan.classes.groups(j) for j in attributes])
    _, numbers = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64) + 1


def _stage_kept(session: WarehouseSession, plan: ReleasePlan) -> None:
    """The keys of the released classes with their numbers, from 1, in the order of hashes of their labels."""
    keys, attributes = keys_of(plan, plan.kept), range(len(plan.classes.at))
    labels = {f"l{j}": pa.array(plan.classes.groups(j)[plan.kept].astype(np.int32)) for j in attributes}
    order = f"hash({', '.join(labels)}), {', '.join(keys)}" if labels else ", ".join(keys)
    with session.embedded.relation("keys", pa.table(keys | labels)):
        session.embedded.stage(
            _KEPT, f"SELECT {', '.join(keys)}, (row_number() OVER (ORDER BY {order}))::INTEGER AS class FROM keys"
        )
    session.lend(_KEPT)
