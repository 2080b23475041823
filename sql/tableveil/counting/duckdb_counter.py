"""Counting in the database: classes by GROUP BY over the base histogram, or over a roll-up kept from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, create_table, number, table
from tableveil.classes import EquivalenceClasses, KeyLayout, LevelMaps, Marginals, NumpyCounter
from tableveil.counting.anchor import choose_anchor
from tableveil.counting.base import BaseHistogram, unpacked
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation

HAND_OVER_ROWS = 250_000
"""Roll-ups of up to so many rows are handed over to numpy, which groups them faster than a statement is planned."""

SAMPLE_ROWS = 100_000
"""Combinations from which the anchor is chosen."""

WORTH_MAKING = 0.5
"""A roll-up is made only if it may have at most this share of the rows it is made from: making it reads them once."""


@dataclass(slots=True)
class _RollUp:
    """A histogram at `at`: a table with columns `c<j>` (groups) and `n`, and arrays once it was small enough."""

    at: Transformation
    table_name: str
    rows: int
    arrays: NumpyCounter | None = None


class DuckDBCounter:
    """Counts classes of a base histogram that stays in the database, for as long as the session lives.

    What is asked for first is general and needs few groups; what the search works on for long lies around one region of
    the lattice. So one roll-up is made at an *anchor*, a transformation of about as many classes as numpy groups
    quickly, and a transformation y that is not above the anchor is counted from a roll-up at the meet of y and the
    anchor, which then serves all others above that meet. `hand_over_rows` of 0 counts everything in the database.
    """

    def __init__(self, session: Session, base: BaseHistogram, hand_over_rows: int = HAND_OVER_ROWS) -> None:
        self._session = session
        self._base = base
        self._hand_over_rows = hand_over_rows
        self._levels = tuple(dictionary.levels for dictionary in base.dictionaries)
        self._maps = LevelMaps(self._levels)
        self._bottom = (0,) * len(self._levels)
        name = "searchable"
        query = base.searchable().select(*self._code_columns(), column("n"))
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        session.execute(exp.Create(this=table(name), kind="VIEW", expression=query, properties=temporary))
        self._kept = [_RollUp(self._bottom, name, base.combinations)]
        self._level_tables: dict[tuple[int, int], str] = {}
        self._anchor = self._choose_anchor() if 0 < hand_over_rows < base.combinations else self._bottom
        self._last: tuple[Transformation, EquivalenceClasses] | None = None

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
        return Marginals(self._bottom, tuple(marginals))

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation."""
        source = self._source(transformation)
        if source.arrays is not None:
            return source.arrays.classes(transformation)
        layout = self._layout(transformation)
        found = self._session.arrays(self._grouped(source, transformation, layout))
        words = tuple(found[f"w{word}"].astype(np.int64) for word in range(layout.words))
        classes = EquivalenceClasses(layout, words, found["n"].astype(np.int64))
        self._last = (transformation, classes)
        return classes

    def small_classes(self, transformation: Transformation, minimum_size: int) -> Marginals:
        """The records in classes of fewer than `minimum_size`, by their groups there, or finer from a small roll-up."""
        source = self._source(transformation)
        if source.arrays is not None:
            return source.arrays.small_classes(transformation, minimum_size)
        if self._last is None or self._last[0] != transformation:
            self.classes(transformation)
        assert self._last is not None
        classes = self._last[1]
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
        if source.arrays is None and source.rows > self._hand_over_rows > 0:
            meet = tuple(map(min, transformation, self._anchor))
            possible = math.prod(self._layout(meet).radices)
            # Above the anchor the meet is the anchor; elsewhere only what is surely small is worth a pass.
            if meet == self._anchor or possible <= WORTH_MAKING * source.rows:
                source = self._roll_up(self._cheapest(meet), meet)
        if source.arrays is None and source.rows <= self._hand_over_rows:
            source.arrays = self._fetched(source)
        return source

    def _cheapest(self, transformation: Transformation) -> _RollUp:
        """The kept roll-up of the fewest rows that is fine enough."""
        finer = [r for r in self._kept if all(a <= t for a, t in zip(r.at, transformation, strict=True))]
        return min(finer, key=lambda roll_up: roll_up.rows)

    def _roll_up(self, source: _RollUp, at: Transformation) -> _RollUp:
        if source.at == at:
            return source
        layout = self._layout(at)
        grouped = self._grouped(source, at, layout).subquery("grouped")
        codes = [alias(unpacked(layout, j), f"c{j}") for j in range(len(at))]
        name = f"roll_up_{len(self._kept)}"
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

    def _choose_anchor(self) -> Transformation:
        # Every so many rows of the base histogram, in whatever order they are: an estimate needs no more.
        every = max(1, self._base.combinations // SAMPLE_ROWS)
        chosen = exp.EQ(this=exp.Mod(this=column("rowid", "base"), expression=number(every)), expression=number(0))
        found = self._session.arrays(self._base.searchable().select(*self._code_columns()).where(chosen))
        sample = [found[f"c{j}"] for j in range(len(self._levels))]
        return choose_anchor(self._levels, sample, self._base.combinations, self._hand_over_rows)

    def _code_columns(self) -> list[exp.Column]:
        return [column(f"c{j}") for j in range(len(self._levels))]

    def _layout(self, transformation: Transformation) -> KeyLayout:
        levels = zip(self._levels, transformation, strict=True)
        return KeyLayout.of([len(attribute.leaves[level]) for attribute, level in levels])

    def _grouped(self, source: _RollUp, transformation: Transformation, layout: KeyLayout) -> exp.Select:
        """The classes at the transformation: key words `w0`, `w1`, … and `n`."""
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
        total = alias(cast(exp.Sum(this=column("n", "r")), "BIGINT"), "n")
        select = [alias(word, f"w{w}") for w, word in enumerate(words)]
        return query.select(*select, total).group_by(*(number(w + 1) for w in range(len(words))))

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
