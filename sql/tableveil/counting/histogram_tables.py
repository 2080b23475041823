"""Histograms as tables of the database: grouped at a transformation, estimated, rolled up, dropped."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, drop, expression, number, row_hash, sql, table
from tableveil.classes import EquivalenceClasses, KeyLayout, LevelMaps, PartCount
from tableveil.counting.base import unpacked
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


class HistogramTables:
    """Operations on tables with columns `c<j>` (the groups of attribute j at some level) and `n`.

    Tables are temporary and go with the session. `name` distinguishes the tables of one histogram from those of
    another.
    """

    def __init__(self, session: Session, name: str, levels: Sequence[AttributeLevels]) -> None:
        self._session = session
        self._name = name
        self._levels = tuple(levels)
        self._maps = LevelMaps(levels)
        self._level_tables: dict[tuple[int, int], str] = {}
        self._numbers = itertools.count(1)

    def classes(self, name: str, at: Transformation, transformation: Transformation) -> EquivalenceClasses:
        """The classes at the transformation, in the order of their keys, from the table of the histogram at `at`."""
        layout = self._layout(transformation)
        grouped = self._grouped(name, at, transformation, layout)
        # DuckDB's order changes from run to run, and with it the last digits of sums of floats over classes.
        arrays = self._session.arrays(grouped.order_by(*(number(word + 1) for word in range(layout.words))))
        words = tuple(arrays[f"w{word}"].astype(np.int64) for word in range(layout.words))
        return EquivalenceClasses(layout, words, arrays["n"].astype(np.int64), transformation)

    def count_part(
        self,
        name: str,
        at: Transformation,
        transformation: Transformation,
        size: int,
        part: tuple[int, NDArray[np.bool_]],
    ) -> PartCount:
        """Counts the classes that have some groups of a quasi-identifier: its position, and a mask of its groups."""
        attribute, groups = part
        query, words = self._keyed(name, at, transformation, self._layout(transformation))
        among = np.flatnonzero(groups[self._maps.between(attribute, at[attribute], transformation[attribute])])
        chosen = exp.In(this=column(f"c{attribute}", "r"), expressions=[number(int(group)) for group in among])
        counted = query.where(chosen).select(expression("sum(r.n) AS n"), expression("count(*) AS of"))
        totals = (
            "SELECT CAST(sum(of) AS BIGINT), count(*), CAST(sum(n) FILTER (WHERE n < $size) AS BIGINT) FROM $counted"
        )
        classes = counted.group_by(*words).subquery("counted")
        row = self._session.row(sql(totals, size=number(size), counted=classes))
        return PartCount(*(int(total or 0) for total in row))

    def estimated_rows(self, name: str, at: Transformation, transformation: Transformation) -> int:
        """An estimate of the number of classes at the transformation, in less than half of the time of counting."""
        query, words = self._keyed(name, at, transformation, self._layout(transformation))
        key = words[0] if len(words) == 1 else row_hash(*words)
        return int(self._session.value(query.select(exp.ApproxDistinct(this=key))))

    def roll_up(self, name: str, at: Transformation, transformation: Transformation) -> tuple[str, int]:
        """A new table, the histogram at the transformation: its name and its number of rows."""
        layout = self._layout(transformation)
        grouped = self._grouped(name, at, transformation, layout).subquery("grouped")
        codes = [alias(unpacked(layout, j), f"c{j}") for j in range(len(transformation))]
        # Counted before it is made: a roll-up that was stopped half-way must not block the name.
        made = f"roll_up_{self._name}_{next(self._numbers)}"
        self._session.stage(made, exp.select(*codes, column("n")).from_(grouped))
        return made, self._session.value(sql("SELECT count(*) FROM $made", made=table(made)))

    def size(self, at: Transformation, rows: int) -> int:
        """Bytes of a histogram's columns, uncompressed."""
        layout = self._layout(at)
        return rows * (8 + sum(1 if radix <= 2**8 else 2 if radix <= 2**16 else 4 for radix in layout.radices))

    def drop(self, name: str) -> None:
        """Drops the table."""
        self._session.execute(drop("TABLE", table(name)))

    def columns(self, name: str) -> tuple[list[NDArray[np.integer[Any]]], NDArray[np.int64]]:
        """The whole table: the groups of each quasi-identifier, and `n`."""
        names = [f"c{j}" for j in range(len(self._levels))]
        arrays = self._session.arrays(exp.select(*map(column, names), column("n")).from_(table(name)))
        return [arrays[name] for name in names], arrays["n"].astype(np.int64)

    def marginal(self, name: str, attribute: int) -> NDArray[np.int64]:
        """Records per code of a quasi-identifier, from a table at level 0."""
        query = "SELECT $code AS code, CAST(sum(n) AS BIGINT) AS records FROM $rows GROUP BY $code"
        arrays = self._session.arrays(sql(query, code=column(f"c{attribute}"), rows=table(name)))
        counts = np.zeros(len(self._levels[attribute].groups[0]), np.int64)
        counts[arrays["code"]] = arrays["records"]
        return counts

    def _layout(self, transformation: Transformation) -> KeyLayout:
        return KeyLayout.of([self._maps.size(j, level) for j, level in enumerate(transformation)])

    def _grouped(self, name: str, at: Transformation, transformation: Transformation, layout: KeyLayout) -> exp.Select:
        """The classes at the transformation: key words `w0`, `w1`, … and `n`."""
        query, words = self._keyed(name, at, transformation, layout)
        total = alias(cast(exp.Sum(this=column("n", "r")), "BIGINT"), "n")
        select = [alias(word, f"w{w}") for w, word in enumerate(words)]
        return query.select(*select, total).group_by(*(number(w + 1) for w in range(len(words))))

    def _keyed(
        self, name: str, at: Transformation, transformation: Transformation, layout: KeyLayout
    ) -> tuple[exp.Select, list[exp.Expr]]:
        """The table under the alias `r`, joined to the tables that its key words need; and the key words."""
        query = exp.select().from_(table(name, alias="r"))
        words: list[exp.Expr] = [cast(number(0), "BIGINT") for _ in range(layout.words)]
        for j, (low, high) in enumerate(zip(at, transformation, strict=True)):
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
            name = f"levels_{self._name}_{attribute}_{low}"
            above = range(low, self._levels[attribute].top + 1)
            groups = {f"g{high}": pa.array(self._maps.between(attribute, low, high)) for high in above}
            with self._session.relation("level_groups", pa.table(groups)):
                self._session.stage(name, sql("SELECT * FROM level_groups"))
            self._level_tables[attribute, low] = name
        return self._level_tables[attribute, low]
