"""Writes the estimated table of a release and its spread: one value per generalized cell, drawn from the release alone.

Everything is computed from the released rows, the public table of labels, which of these labels lie under which others,
and a fixed seed: the tables tell nothing that the release does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.sqltypes import DuckDBPyType
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import (
    Session,
    alias,
    arrow_type,
    cast,
    column,
    conjunction,
    create_table,
    drop,
    expression,
    left_join,
    number,
    render,
    row_number,
    sql,
    table,
    text,
)
from tableveil.dictionary import Dictionary
from tableveil.estimates import ASSUMPTIONS, MOST_FITTED, Assumption, Estimator, Levels, Rows, TextLabels, unseen
from tableveil.hierarchy import ValueKind
from tableveil.release.columns import ReleasedColumn
from tableveil.release.estimated_numbers import EstimatedNumbers, ReleasedBounds, estimated_numbers
from tableveil.release.label_columns import CLASS_ID, ESTIMATED, LabelColumns
from tableveil.release.plan import ReleasePlan

SEED = 7
AT_ONCE = 2**20
"""The rows that are drawn together: the ranks within labels are among them."""

_CLASSES = "estimated_classes"
_MOST_LABELS, _MOST_VALUES = 2_048, 200_000
"""A column of texts with more labels or values keeps its labels: the table of what lies under what would be large."""

_MOST_LEVELS = 70
_NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT, ValueKind.DATE, ValueKind.TIMESTAMP)
_LEVELS = (ValueKind.BOOLEAN, ValueKind.TEXT)

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EstimatedColumn:
    """A column of the estimated table: the kind of its source, and its type there.

    It keeps its `labels`, or `estimates` are in a `share` of its rows; half of their labels are at most as wide as
    `width`, in days or seconds for dates and times, and None for texts.
    """

    name: str
    kind: ValueKind
    type: str
    labels: bool = False
    estimates: bool = False
    share: float = 0.0
    width: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Labelled:
    """A column of labels, by their ranks, with what is drawn: numbers, or texts; else it keeps its labels."""

    beside: LabelColumns
    labels: tuple[ReleasedBounds, ...]
    numbers: EstimatedNumbers | None
    texts: TextLabels | None

    @property
    def told(self) -> EstimatedColumn:
        counts = np.array([of.records for of in self.labels], np.int64)
        of, rows = self.beside.of, max(int(counts.sum()), 1)
        if self.numbers is not None:
            share = int(counts[~self.numbers.line.exact].sum()) / rows if self.numbers.line.bounded else 0.0
            width = self.numbers.typical_width
            return EstimatedColumn(of.name, of.kind, of.released_type, estimates=True, share=share, width=width)
        if self.texts is not None:
            share = 1 - int(counts[self.texts.leaves].sum()) / rows
            return EstimatedColumn(of.name, of.kind, "VARCHAR", estimates=True, share=share)
        return EstimatedColumn(of.name, of.kind, "VARCHAR", labels=True)

    def codes(self, read: pa.Array) -> Codes:
        """The codes of ranks that were read; the number of labels for NULL."""
        ranks: Codes = read.fill_null(len(self.labels) + 1).to_numpy(zero_copy_only=False).astype(np.int64)
        return ranks - 1

    def written(self, codes: Codes, drawn: NDArray[np.float64] | Codes | None) -> pa.Array:
        """The column in the estimated table."""
        if self.numbers is not None and drawn is not None:
            return self.numbers.array(codes, drawn.astype(np.float64))
        if self.texts is not None and drawn is not None:
            codes = np.where(drawn < 0, len(self.labels), drawn).astype(np.int64)
        places = pa.array(codes.astype(np.int32), mask=codes == len(self.labels))
        return pa.DictionaryArray.from_arrays(places, pa.array([of.label for of in self.labels], pa.string()))


@dataclass(frozen=True, slots=True, eq=False)
class _Plain:
    """A column that is not generalized."""

    released: ReleasedColumn

    @property
    def told(self) -> EstimatedColumn:
        return EstimatedColumn(self.released.name, self.released.column.kind, self.released.type)


class EstimatedTables:
    """The estimated tables of a release whose rows, classes and labels are written."""

    def __init__(
        self,
        session: Session,
        plan: ReleasePlan,
        rows: exp.Table,
        classes: exp.Table,
        id_: str,
        kept: frozenset[str] = frozenset(),
    ) -> None:
        """`rows` is a table, `id_` the column of `classes` that numbers them; columns that are `kept` keep labels."""
        self._kept = kept
        self._session, self._plan, self._rows, self._classes, self._id = session, plan, rows, classes, id_
        self._labels = table(plan.policy.release.labels_name, plan.policy.release.schema, plan.source.reference.catalog)

    @cached_property
    def _columns(self) -> list[_Labelled | _Plain]:
        beside = {of.name: of for of in self._plan.label_columns}
        dictionaries = {of.name: of.dictionary for of in self._plan.generalized()}
        labels = self._released_labels()
        columns: list[_Labelled | _Plain] = []
        for released in self._plan.columns():
            if (of := beside.get(released.name)) is None:
                columns.append(_Plain(released))
                continue
            own = tuple(labels[of.name])
            numbers, texts, is_drawn = None, None, of.name not in self._kept
            if is_drawn and of.bounds is not None and of.of.kind in _NUMBERS:
                numbers = estimated_numbers(of.of, of.bounds, own)
            if is_drawn and numbers is None and of.of.kind is ValueKind.TEXT and of.name in dictionaries:
                texts = self._text_labels(dictionaries[of.name], own)
            columns.append(_Labelled(of, own, numbers, texts))
        return columns

    @property
    def estimated(self) -> frozenset[str]:
        """The columns that have estimates."""
        return frozenset(of.name for of in self.told if of.estimates)

    def keeping(self, name: str) -> EstimatedTables:
        """The tables in which one more column keeps its labels."""
        kept = self._kept | {name}
        return EstimatedTables(self._session, self._plan, self._rows, self._classes, self._id, kept)

    @property
    def told(self) -> list[EstimatedColumn]:
        """The columns that the estimated tables have of the source, in order."""
        return [of.told for of in self._columns]

    def _released_labels(self) -> dict[str, list[ReleasedBounds]]:
        """The labels of each column in the public table of labels, by their ranks."""
        columns = "column_name, label, records, number_from, number_to, time_from, time_to, to_included"
        query = f"SELECT {columns} FROM $labels WHERE NOT label IS NULL ORDER BY rank"
        labels = defaultdict[str, list[ReleasedBounds]](list)
        rows = self._session.rows(sql(query, labels=self._labels))
        for name, label, records, low, high, first, last, included in rows:
            ends = (first if low is None else low), (last if high is None else high)
            labels[name].append(ReleasedBounds(label, records, *ends, included))
        return labels

    def _text_labels(self, dictionary: Dictionary, labels: Sequence[ReleasedBounds]) -> TextLabels | None:
        """Which shown labels lie under which, by the hierarchy; None if none lies under another one."""
        values = len(dictionary.levels.groups[0])
        if not 1 < len(labels) <= _MOST_LABELS or values > _MOST_VALUES:
            return None
        code = {of.label: i for i, of in enumerate(labels)}
        names = [dictionary.label_name(level) for level in range(1, dictionary.levels.top + 1)]
        query = exp.select(cast(column("value"), "VARCHAR"), *map(column, names)).from_(table(dictionary.table_name))
        over = np.eye(len(labels), dtype=np.bool_)
        for path in self._session.rows(query.where(exp.Not(this=column("value").is_(exp.null())))):
            shown = [code[label] for label in path if label in code]
            for at, below in enumerate(shown):
                over[shown[at:], below] = True
        leaves = np.flatnonzero(over.sum(1) == 1)
        if len(leaves) == len(labels):
            return None
        return TextLabels(over[:, leaves], leaves, np.array([of.records for of in labels], np.int64))

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, targets: Sequence[exp.Table], assumptions: Sequence[Assumption] = ASSUMPTIONS) -> None:
        """Creates a table for each assumption."""
        self._stage_classes()
        size = self._plan.kept_records
        sampled = self._read(self._sample(size))
        common = self._common(sampled)
        labelled = [(j, of) for j, of in enumerate(self._columns) if isinstance(of, _Labelled)]
        lines = {j: of.numbers.line for j, of in labelled if of.numbers is not None}
        texts = self._with_unseen({j: of.texts for j, of in labelled if of.texts is not None})
        fitted = self._coded(sampled, common)
        drawn = bool(lines or texts)
        estimators = [Estimator(lines, texts, fitted, of, SEED) if drawn else None for of in assumptions]
        first, end = self._places
        for begin in range(first, max(end, first + 1), AT_ONCE):
            block = self._read(self._placed_among(begin, begin + AT_ONCE))
            rows = self._coded(block, common)
            for target, estimator in zip(targets, estimators, strict=True):
                found = estimator.estimate(rows) if estimator is not None else {}
                self._append(target, self._written(block, rows, found), new=begin == first)
        self._session.execute(drop("TABLE", table(_CLASSES)))

    @cached_property
    def _keys(self) -> list[tuple[str, LabelColumns | None]]:
        """The quasi-identifiers by which rows and classes are joined: labels by their ranks, others by themselves."""
        beside = {of.name: of for of in self._plan.label_columns}
        return [(released.name, beside.get(released.name)) for released in self._plan.quasi_identifiers()]

    def _stage_classes(self) -> None:
        """Makes the table of the classes' keys and numbers."""
        query = exp.select(alias(column(self._id, "c"), "id")).from_(exp.alias_(self._classes, "c", table=True))
        for i, (name, beside) in enumerate(self._keys):
            if beside is None:
                query = query.select(alias(column(name, "c"), f"k{i}"))
                continue
            labels = exp.alias_(self._labels.copy(), f"l{i}", table=True)
            same = expression(f"l{i}.column_name = $of AND l{i}.label = $label", of=text(name), label=column(name, "c"))
            query = left_join(query, labels, same).select(expression(f"l{i}.rank AS k{i}"))
        self._session.stage(_CLASSES, query)

    def _with_unseen(self, texts: dict[int, TextLabels]) -> dict[int, TextLabels]:
        """The labels, with the number of leaves that the classes may hide."""
        keys = [name for name, _ in self._keys]
        places = {j: keys.index(self._columns[j].told.name) for j in texts}
        counted = (f"SELECT {j}, k{i}, count(*) FROM {_CLASSES} GROUP BY 2" for j, i in places.items())
        classes = {j: np.zeros(len(of.counts) + 1, np.int64) for j, of in texts.items()}
        for j, rank, number_of in self._session.rows(" UNION ALL ".join(counted)) if texts else ():
            classes[j][(rank or 0) - 1] = number_of
        return {j: replace(of, unseen=unseen(classes[j][of.leaves])) for j, of in texts.items()}

    @cached_property
    def _place(self) -> str:
        """A name for a row's place in the release that no column has."""
        taken, name = {name.casefold() for name, _ in self._plan.types()}, "place"
        while name in taken:
            name += "_"
        return name

    @property
    def _placed(self) -> exp.Subquery:
        """Where rows are stored is their order. Parts of a table are found by it: an offset reads all rows before."""
        hidden = "rowid" in (name.casefold() for name, _ in self._plan.types())
        place = row_number([]) if hidden else column("rowid")
        return exp.select("*", alias(place, self._place)).from_(self._rows).subquery("placed")

    @cached_property
    def _places(self) -> tuple[int, int]:
        """The place of the first row, and that after the last one; those of a table that is not committed are huge."""
        query = sql("SELECT min($place), max($place) + 1 FROM $placed", place=column(self._place), placed=self._placed)
        first, end = self._session.row(query)
        return first or 0, end or 0

    def _placed_among(self, first: int, end: int) -> exp.Select:
        some, place = "SELECT * FROM $placed WHERE $place >= $first AND $place < $end", column(self._place)
        return sql(some, placed=self._placed, place=place, first=number(first), end=number(end))

    def _sample(self, size: int) -> exp.Select:
        """Rows of the release at even distances, which are picked without looking at them."""
        first, end = self._places
        if size <= MOST_FITTED:
            return self._placed_among(first, end)
        some = f"SELECT * FROM $placed WHERE ($nth + 1) * {MOST_FITTED} // $size > $nth * {MOST_FITTED} // $size"
        nth = expression("$place - $first", place=column(self._place), first=number(first))
        return sql(some, placed=self._placed, nth=nth, size=number(size))

    def _read(self, rows: exp.Select) -> pa.Table:
        """Rows in the order of the release: `c0`, … are the columns, labels by their ranks, and `id` the class."""
        shown: list[exp.Expr] = []
        for j, of in enumerate(self._columns):
            read: exp.Expr = column(of.beside.rank if isinstance(of, _Labelled) else of.released.name, "r")
            if isinstance(of, _Plain) and (read_as := arrow_type(DuckDBPyType(of.released.type))) != of.released.type:
                read = cast(read, read_as)
            shown.append(alias(read, f"c{j}"))
        same: list[exp.Expr] = [
            exp.NullSafeEQ(this=column(name if of is None else of.rank, "r"), expression=column(f"k{i}", _CLASSES))
            for i, (name, of) in enumerate(self._keys)
        ]
        query = exp.select(*shown, alias(column("id", _CLASSES), "id"), alias(column(self._place, "r"), "place"))
        query = left_join(query.from_(rows.subquery("r")), table(_CLASSES), conjunction(same) if same else exp.true())
        block = self._session.batches(query, AT_ONCE).read_all().combine_chunks()
        order = np.argsort(block.column("place").to_numpy(), kind="stable")
        if (order[1:] > order[:-1]).all():
            return block
        return block.take(pa.array(order))

    def _common(self, sampled: pa.Table) -> dict[int, pa.Array]:
        """The values that are told apart of columns that are neither labels nor numbers."""
        common = {}
        for j, of in enumerate(self._columns):
            if (
                isinstance(of, _Plain)
                and of.released.column.kind in _LEVELS
                and of.released.type in ("VARCHAR", "BOOLEAN")
            ):
                counted = pc.value_counts(sampled.column(f"c{j}").combine_chunks())
                values, counts = counted.field("values"), counted.field("counts").to_numpy()
                common[j] = values.take(pa.array(np.argsort(-counts, kind="stable")[:_MOST_LEVELS]))
        return common

    def _coded(self, block: pa.Table, common: dict[int, pa.Array]) -> Rows:
        """The codes and numbers of a block's rows."""
        codes: dict[int, Codes] = {}
        levels: dict[int, Levels] = {}
        numbers: dict[int, NDArray[np.float64]] = {}
        for j, of in enumerate(self._columns):
            read = block.column(f"c{j}").combine_chunks()
            if isinstance(of, _Labelled):
                ranks = of.codes(read)
                if of.numbers is None and of.texts is None:
                    levels[j] = Levels(ranks, len(of.labels) + 1)
                else:
                    codes[j] = ranks
            elif j in common:
                found = pc.index_in(read, value_set=common[j], skip_nulls=False).fill_null(len(common[j]))
                levels[j] = Levels(found.to_numpy(zero_copy_only=False).astype(np.int64), len(common[j]) + 1)
            elif of.released.column.kind in _NUMBERS:
                numbers[j] = _as_numbers(read)
        return Rows(codes, levels, numbers)

    def _written(self, block: pa.Table, rows: Rows, found: dict[int, NDArray[np.float64] | Codes]) -> pa.Table:
        codes = rows.codes | {j: of.codes for j, of in rows.levels.items()}
        arrays = {
            f"c{j}": of.written(codes[j], found.get(j)) if isinstance(of, _Labelled) else block.column(f"c{j}")
            for j, of in enumerate(self._columns)
        }
        return pa.table({**arrays, "id": block.column("id")})

    def _append(self, target: exp.Table, written: pa.Table, *, new: bool) -> None:
        shown = [alias(cast(column(f"c{j}"), of.type), of.name) for j, of in enumerate(self.told)]
        shown += [alias(column("id"), CLASS_ID), alias(exp.true(), ESTIMATED)]
        query = exp.select(*shown).from_(table("written"))
        with self._session.relation("written", written):
            self._session.execute(
                create_table(target, query) if new else f"INSERT INTO {render(target)} {render(query)}"
            )


def _as_numbers(read: pa.Array) -> NDArray[np.float64]:
    """Numbers, and times as such; NaN for NULL, and for what is infinite."""
    if pa.types.is_temporal(read.type):
        read = read.cast(pa.int32() if pa.types.is_date32(read.type) else pa.int64())
    numbers = read.cast(pa.float64(), safe=False).fill_null(float("nan")).to_numpy(zero_copy_only=False)
    return np.where(np.isfinite(numbers), numbers, np.nan)
