"""Counting in the database: classes by GROUP BY over the base histogram, or over a roll-up kept from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, call, cast, column, create_table, number, table
from tableveil.classes import EquivalenceClasses, KeyLayout, LevelMaps, NumpyCounter
from tableveil.counting.base import BaseHistogram, unpacked
from tableveil.dictionary import Dictionary
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation

WORTH_KEEPING = 0.5
"""A roll-up is kept if it has at most this share of the rows it is made from: making it reads them once."""

HAND_OVER_ROWS = 250_000
"""Roll-ups of up to so many rows are handed over to numpy, which groups them faster than a statement is planned."""


@dataclass(slots=True)
class _RollUp:
    """A histogram at `at`: a table with columns `c<j>` (groups) and `n`, or, once small, arrays."""

    at: Transformation
    table_name: str
    rows: int
    arrays: NumpyCounter | None = None
    not_worth: set[Transformation] = field(default_factory=set)


class DuckDBCounter:
    """Counts classes of a base histogram that stays in the database, for as long as the session lives.

    `hand_over_rows` of 0 counts everything in the database.
    """

    def __init__(self, session: Session, base: BaseHistogram, hand_over_rows: int = HAND_OVER_ROWS) -> None:
        self._session = session
        self._base = base
        self._hand_over_rows = hand_over_rows
        self._maps = LevelMaps(self.levels)
        bottom = (0,) * len(base.dictionaries)
        name = "searchable"
        query = base.searchable().select(*(column(f"c{j}") for j in range(len(bottom))), column("n"))
        session.execute(exp.Create(this=table(name), kind="VIEW", expression=query, properties=_temporary()))
        self._kept = [_RollUp(bottom, name, base.combinations)]
        self._level_tables: dict[tuple[int, int], str] = {}

    @property
    def name(self) -> str:
        """Who counts, for the evidence."""
        return "duckdb"

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Per quasi-identifier: its codes, groups and leaves."""
        return tuple(dictionary.levels for dictionary in self._base.dictionaries)

    @property
    def records(self) -> int:
        """N, withheld records included."""
        return self._base.records

    @property
    def withheld(self) -> int:
        """Records suppressed at every transformation."""
        return self._base.withheld

    def marginals(self) -> tuple[NDArray[np.int64], ...]:
        """Per quasi-identifier, the number of records per code."""
        marginals = []
        for j, levels in enumerate(self.levels):
            query = (
                exp.select(alias(column(f"c{j}"), "code"), alias(cast(exp.Sum(this=column("n")), "BIGINT"), "records"))
                .from_(table(self._kept[0].table_name))
                .group_by(column(f"c{j}"))
            )
            found = self._session.arrays(query)
            counts = np.zeros(len(levels.groups[0]), np.int64)
            counts[found["code"]] = found["records"]
            marginals.append(counts)
        return tuple(marginals)

    def classes(self, transformation: Transformation, floor: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation."""
        source = self._source(floor)
        if source.arrays is not None:
            return source.arrays.classes(transformation, floor)
        layout = self._layout(transformation)
        found = self._session.arrays(self._grouped(source, transformation, layout))
        words = tuple(found[f"w{word}"].astype(np.int64) for word in range(layout.words))
        return EquivalenceClasses(layout, words, found["n"].astype(np.int64))

    def small_class_marginals(
        self, transformation: Transformation, minimum_size: int, floor: Transformation
    ) -> tuple[NDArray[np.int64], ...]:
        """Per quasi-identifier, the records in classes of fewer than `minimum_size` per group at `floor`."""
        source = self._source(floor)
        if source.arrays is not None:
            return source.arrays.small_class_marginals(transformation, minimum_size, floor)
        layout = self._layout(transformation)
        small = self._grouped(source, transformation, layout).having(
            exp.LT(this=exp.Sum(this=column("n", "r")), expression=number(minimum_size))
        )
        keyed = self._keyed(source, transformation, layout, [column(f"c{j}", "r") for j in range(len(floor))])
        same = exp.and_(
            *(exp.EQ(this=column(f"w{w}", "keyed"), expression=column(f"w{w}", "small")) for w in range(layout.words))
        )
        query = (
            exp.select(*(column(f"c{j}", "keyed") for j in range(len(floor))), column("n", "keyed"))
            .from_(keyed.subquery("keyed"))
            .join(small.subquery("small"), on=same, join_type="SEMI")
        )
        found = self._session.arrays(query)
        groups = [found[f"c{j}"] for j in range(len(floor))]
        rows = NumpyCounter(self.levels, groups, found["n"].astype(np.int64), at=source.at)
        # Every class of these rows is as small as they say, so that they are the records sought.
        return rows.small_class_marginals(transformation, minimum_size, floor)

    def _source(self, floor: Transformation) -> _RollUp:
        """The cheapest roll-up that is fine enough for the floor, made now if that pays."""
        finer = [r for r in self._kept if all(a <= f for a, f in zip(r.at, floor, strict=True))]
        source = min(finer, key=lambda r: r.rows)
        if source.at == floor or source.rows <= self._hand_over_rows or floor in source.not_worth:
            return self._handed_over(source)
        if self._estimated_rows(source, floor) > WORTH_KEEPING * source.rows:
            source.not_worth.add(floor)
            return source
        return self._handed_over(self._roll_up(source, floor))

    def _handed_over(self, roll_up: _RollUp) -> _RollUp:
        if roll_up.arrays is None and roll_up.rows <= self._hand_over_rows:
            columns = [column(f"c{j}") for j in range(len(roll_up.at))]
            found = self._session.arrays(exp.select(*columns, column("n")).from_(table(roll_up.table_name)))
            groups = [found[f"c{j}"] for j in range(len(roll_up.at))]
            roll_up.arrays = NumpyCounter(self.levels, groups, found["n"].astype(np.int64), at=roll_up.at)
        return roll_up

    def _estimated_rows(self, source: _RollUp, floor: Transformation) -> float:
        layout = self._layout(floor)
        possible = math.prod(layout.radices)
        if possible <= WORTH_KEEPING * source.rows:
            return possible
        words = [column(f"w{word}") for word in range(layout.words)]
        counted = words[0] if len(words) == 1 else call("hash", *words)
        keyed = self._keyed(source, floor, layout, []).subquery("keyed")
        return float(self._session.value(exp.select(call("approx_count_distinct", counted)).from_(keyed)))

    def _roll_up(self, source: _RollUp, floor: Transformation) -> _RollUp:
        layout = self._layout(floor)
        grouped = self._grouped(source, floor, layout).subquery("grouped")
        codes = [alias(unpacked(layout, j), f"c{j}") for j in range(len(floor))]
        name = f"roll_up_{len(self._kept)}"
        self._session.execute(create_table(table(name), exp.select(*codes, column("n")).from_(grouped), temporary=True))
        rows = self._session.value(exp.select(exp.Count(this=exp.Star())).from_(table(name)))
        made = _RollUp(floor, name, rows)
        self._kept.append(made)
        return made

    def _layout(self, transformation: Transformation) -> KeyLayout:
        return KeyLayout.of([len(l.leaves[level]) for l, level in zip(self.levels, transformation, strict=True)])

    def _grouped(self, source: _RollUp, transformation: Transformation, layout: KeyLayout) -> exp.Select:
        """The classes at the transformation: key words and `n`."""
        keyed, words = self._joined(source, transformation, layout)
        total = alias(cast(exp.Sum(this=column("n", "r")), "BIGINT"), "n")
        select = [alias(word, f"w{w}") for w, word in enumerate(words)]
        return keyed.select(*select, total).group_by(*(number(w + 1) for w in range(len(words))))

    def _keyed(
        self, source: _RollUp, transformation: Transformation, layout: KeyLayout, more: Sequence[exp.Expression]
    ) -> exp.Select:
        """The roll-up's rows with their key words at the transformation."""
        keyed, words = self._joined(source, transformation, layout)
        return keyed.select(*(alias(word, f"w{w}") for w, word in enumerate(words)), *more, column("n", "r"))

    def _joined(
        self, source: _RollUp, transformation: Transformation, layout: KeyLayout
    ) -> tuple[exp.Select, list[exp.Expression]]:
        query = exp.select().from_(table(source.table_name, alias="r"))
        words: list[exp.Expression] = [cast(number(0), "BIGINT") for _ in range(layout.words)]
        for j, (low, high) in enumerate(zip(source.at, transformation, strict=True)):
            if layout.radices[j] <= 1:
                continue
            group: exp.Expression = column(f"c{j}", "r")
            if high != low:
                levels, as_ = self._level_table(j, low), f"m{j}"
                same = exp.EQ(this=group, expression=column(f"g{low}", as_))
                query = query.join(table(levels, alias=as_), on=same)
                group = column(f"g{high}", as_)
            part = exp.Mul(this=cast(group, "BIGINT"), expression=number(layout.stride[j]))
            words[layout.word[j]] = exp.Add(this=words[layout.word[j]], expression=part)
        return query, words

    def _level_table(self, attribute: int, low: int) -> str:
        """A small table from the group at `low` (`g<low>`) to those at all levels above."""
        if (attribute, low) not in self._level_tables:
            levels = self.levels[attribute]
            name = f"levels_{attribute}_{low}"
            columns = {
                f"g{high}": pa.array(self._maps.between(attribute, low, high)) for high in range(low, levels.top + 1)
            }
            with self._session.relation("level_groups", pa.table(columns)):
                query = exp.select("*").from_(table("level_groups"))
                self._session.execute(create_table(table(name), query, temporary=True))
            self._level_tables[attribute, low] = name
        return self._level_tables[attribute, low]


def _temporary() -> exp.Properties:
    return exp.Properties(expressions=[exp.TemporaryProperty()])
