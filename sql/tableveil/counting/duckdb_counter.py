"""Counting in the database: classes by GROUP BY over the base histogram, or over a roll-up kept from it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, call, cast, column, create_table, number, table
from tableveil.classes import EquivalenceClasses, KeyLayout, LevelMaps, Marginals, NumpyCounter
from tableveil.counting.base import BaseHistogram, unpacked
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation

HAND_OVER_ROWS = 250_000
"""Roll-ups of up to so many rows are handed over to numpy, which groups them faster than a statement is planned."""

REGION = 6
"""Number of transformations counted from the same roll-up after which one for all of them is considered."""

WORTH_MAKING = 0.4
"""A roll-up is made only if it has about this share or less of the rows it is made from: making it reads them once."""


@dataclass(slots=True)
class _RollUp:
    """A histogram at `at`: a table with columns `c<j>` (groups) and `n`, and arrays once it was small enough.

    `recent` are the last transformations counted from it.
    """

    at: Transformation
    table_name: str
    rows: int
    arrays: NumpyCounter | None = None
    recent: list[Transformation] = field(default_factory=list)


class DuckDBCounter:
    """Counts classes of a base histogram that stays in the database, for as long as the session lives.

    A search asks for transformations around one region of the lattice for long. When several were counted from the same
    large roll-up, one is made at their meet, the most general transformation that is fine enough for all of them, if it
    is much smaller; whatever lies above the meet is counted from there. `hand_over_rows` of 0 keeps all counting in the
    database.
    """

    def __init__(
        self,
        session: Session,
        base: BaseHistogram,
        hand_over_rows: int = HAND_OVER_ROWS,
        bottom: Transformation | None = None,
    ) -> None:
        """`bottom` is the least transformation that will be asked for, if it is known."""
        self._session = session
        self._base = base
        self._hand_over_rows = hand_over_rows
        self._levels = tuple(dictionary.levels for dictionary in base.dictionaries)
        self._maps = LevelMaps(self._levels)
        self._finest = (0,) * len(self._levels)
        name = "searchable"
        query = base.searchable().select(*self._code_columns(), column("n"))
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        session.execute(exp.Create(this=table(name), kind="VIEW", expression=query, properties=temporary))
        self._kept = [_RollUp(self._finest, name, base.combinations)]
        self._level_tables: dict[tuple[int, int], str] = {}
        self._numbers = itertools.count(1)
        self._last: tuple[Transformation, _RollUp, EquivalenceClasses] | None = None
        if bottom is not None and bottom != self._finest:
            self._roll_up_if_worth(self._kept[0], bottom)

    @property
    def name(self) -> str:
        """Who counts, for the evidence."""
        return "duckdb"

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Per quasi-identifier: its codes, groups and leaves."""
        return self._levels

    @property
    def records(self) -> int:
        """N, withheld records included."""
        return self._base.records

    @property
    def withheld(self) -> int:
        """Records suppressed at every transformation."""
        return self._base.withheld

    def marginals(self) -> Marginals:
        """All records but the withheld ones, per code."""
        marginals = []
        for j, levels in enumerate(self._levels):
            total = alias(cast(exp.Sum(this=column("n")), "BIGINT"), "records")
            query = exp.select(alias(column(f"c{j}"), "code"), total).from_(table(self._kept[0].table_name))
            found = self._session.arrays(query.group_by(column(f"c{j}")))
            counts = np.zeros(len(levels.groups[0]), np.int64)
            counts[found["code"]] = found["records"]
            marginals.append(counts)
        return Marginals(self._finest, tuple(marginals))

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation."""
        source = self._source(transformation)
        if source.arrays is not None:
            classes = source.arrays.classes(transformation)
        else:
            layout = self._layout(transformation)
            found = self._session.arrays(self._grouped(source, transformation, layout))
            words = tuple(found[f"w{word}"].astype(np.int64) for word in range(layout.words))
            classes = EquivalenceClasses(layout, words, found["n"].astype(np.int64))
        # Small classes are asked for right after the classes.
        self._last = (transformation, source, classes)
        return classes

    def small_classes(self, transformation: Transformation, minimum_size: int) -> Marginals:
        """The records in classes of fewer than `minimum_size`, by their groups there, or finer from a small roll-up."""
        if self._last is None or self._last[0] != transformation:
            self.classes(transformation)
        assert self._last is not None
        _, source, classes = self._last
        if source.arrays is not None:
            return source.arrays.small_classes(transformation, minimum_size)
        small = classes.counts < minimum_size
        counts = classes.counts[small]
        marginals = [
            np.bincount(classes.groups(j)[small], weights=counts, minlength=len(self._levels[j].leaves[level]))
            for j, level in enumerate(transformation)
        ]
        return Marginals(transformation, tuple(marginal.astype(np.int64) for marginal in marginals))

    def _source(self, transformation: Transformation) -> _RollUp:
        """The roll-up to count the transformation from, made now if that pays."""
        source = self._cheapest(transformation)
        if source.rows > self._hand_over_rows:
            source.recent.append(transformation)
            if len(source.recent) == REGION:
                meet = tuple(map(min, *source.recent))
                source.recent.clear()
                source = self._roll_up_if_worth(source, meet)
        if source.arrays is None and source.rows <= self._hand_over_rows:
            source.arrays = self._fetched(source)
        return source

    def _roll_up_if_worth(self, source: _RollUp, at: Transformation) -> _RollUp:
        """A roll-up at the transformation if it is much smaller than its source, else the source."""
        if self._estimated_rows(source, at) <= WORTH_MAKING * source.rows:
            return self._roll_up(source, at)
        return source

    def _estimated_rows(self, source: _RollUp, at: Transformation) -> float:
        layout = self._layout(at)
        query, words = self._keyed(source, at, layout)
        key = words[0] if len(words) == 1 else call("hash", *words)
        return float(self._session.value(query.select(call("approx_count_distinct", key))))

    def _cheapest(self, transformation: Transformation) -> _RollUp:
        """The kept roll-up of the fewest rows that is fine enough."""
        finer = [r for r in self._kept if all(a <= t for a, t in zip(r.at, transformation, strict=True))]
        return min(finer, key=lambda roll_up: roll_up.rows)

    def _roll_up(self, source: _RollUp, at: Transformation) -> _RollUp:
        layout = self._layout(at)
        grouped = self._grouped(source, at, layout).subquery("grouped")
        codes = [alias(unpacked(layout, j), f"c{j}") for j in range(len(at))]
        # Counted before it is made: a roll-up that was stopped half-way must not block the name.
        name = f"roll_up_{next(self._numbers)}"
        self._session.execute(create_table(table(name), exp.select(*codes, column("n")).from_(grouped), temporary=True))
        rows = self._session.value(exp.select(exp.Count(this=exp.Star())).from_(table(name)))
        made = _RollUp(at, name, rows)
        self._kept.append(made)
        return made

    def _fetched(self, roll_up: _RollUp) -> NumpyCounter:
        query = exp.select(*self._code_columns(), column("n")).from_(table(roll_up.table_name))
        found = self._session.arrays(query)
        groups = [found[f"c{j}"] for j in range(len(roll_up.at))]
        return NumpyCounter(self._levels, groups, found["n"].astype(np.int64), at=roll_up.at)

    def _code_columns(self) -> list[exp.Column]:
        return [column(f"c{j}") for j in range(len(self._levels))]

    def _layout(self, transformation: Transformation) -> KeyLayout:
        levels = zip(self._levels, transformation, strict=True)
        return KeyLayout.of([len(attribute.leaves[level]) for attribute, level in levels])

    def _grouped(self, source: _RollUp, transformation: Transformation, layout: KeyLayout) -> exp.Select:
        """The classes at the transformation: key words `w0`, `w1`, … and `n`."""
        query, words = self._keyed(source, transformation, layout)
        total = alias(cast(exp.Sum(this=column("n", "r")), "BIGINT"), "n")
        select = [alias(word, f"w{w}") for w, word in enumerate(words)]
        return query.select(*select, total).group_by(*(number(w + 1) for w in range(len(words))))

    def _keyed(
        self, source: _RollUp, transformation: Transformation, layout: KeyLayout
    ) -> tuple[exp.Select, list[exp.Expr]]:
        """The roll-up under the alias `r` with what its key words need joined, and the key words."""
        query = exp.select().from_(table(source.table_name, alias="r"))
        words: list[exp.Expr] = [cast(number(0), "BIGINT") for _ in range(layout.words)]
        for j, (low, high) in enumerate(zip(source.at, transformation, strict=True)):
            if layout.radices[j] <= 1:
                continue
            group: exp.Expr = column(f"c{j}", "r")
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
            name = f"levels_{attribute}_{low}"
            above = range(low, self._levels[attribute].top + 1)
            groups = {f"g{high}": pa.array(self._maps.between(attribute, low, high)) for high in above}
            with self._session.relation("level_groups", pa.table(groups)):
                query = exp.select("*").from_(table("level_groups"))
                self._session.execute(create_table(table(name), query, temporary=True))
            self._level_tables[attribute, low] = name
        return self._level_tables[attribute, low]
