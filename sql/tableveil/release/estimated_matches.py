"""The rows of an estimated table that look like somebody: how often the only one of them is that person's.

Estimates follow from the release alone, so nobody finds more by them than by a class; but a column that follows an
unchanged one closely would make matches right more often than a member of the class that is picked by chance.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, conjunction, drop, identifier, number, row_hash, sql, table
from tableveil.release.label_columns import CLASS_ID
from tableveil.release.plan import ReleasePlan

MOST_LIFTED = 1.1
"""How much oftener than a member of the class a match may be right, before a column keeps its labels."""

ENOUGH_MATCHES = 100
"""Fewer matches speak against a column only where chance explains so many right ones hardly ever."""

_TARGETS = "estimated_targets"


@dataclass(frozen=True, slots=True)
class MatchedEstimates:
    """People whose values a single estimated row has: how often it is theirs, and would be if a class chose it."""

    number: int
    right: float
    by_class: float

    @property
    def lifted(self) -> bool:
        """Whether matches are right too often."""
        right, by_chance = self.number * self.right, self.number * self.by_class
        # Right matches by chance are nearly Poisson: three standard deviations, and three for the smallest means.
        doubt = 0 if self.number >= ENOUGH_MATCHES else 3 * math.sqrt(by_chance) + 3
        return right > max(MOST_LIFTED * by_chance, by_chance + doubt)


class EstimatedMatches:
    """Compares the source's records with the rows of the estimated table; the plan is staged."""

    def __init__(self, session: Session, plan: ReleasePlan, classes: exp.Table, id_: str) -> None:
        """`id_` is the column of `classes` that numbers them. Makes a temporary table of the records."""
        self._session, self._plan = session, plan
        self._names = [released.name for released in plan.generalized()]
        self._unchanged = [released.name for released in plan.columns() if released.name not in self._names]
        rows = plan.recoding.rows(session, plan)
        rows = rows.select(*(alias(column(name, "source"), f"own{i}") for i, name in enumerate(self._names)))
        same = [exp.NullSafeEQ(this=column(name, "t"), expression=column(name, "c")) for name in self._names]
        hidden = [
            exp.NEQ(this=cast(column(f"own{i}", "t"), "VARCHAR"), expression=cast(column(name, "t"), "VARCHAR"))
            for i, name in enumerate(self._names)
        ]
        query = exp.select(
            alias(column(id_, "c"), "class"),
            alias(self._hash("t"), "u"),
            *(alias(column(f"own{i}", "t"), f"own{i}") for i, _ in enumerate(self._names)),
            *(alias(cast(column(name, "t"), "VARCHAR"), f"label{i}") for i, name in enumerate(self._names)),
            alias(exp.or_(*hidden), "hidden"),
        )
        query = query.from_(table("t")).join(exp.alias_(classes, "c", table=True), on=conjunction(same))
        # Else DuckDB may join classes with the levels of a dictionary first, which have many values for a label.
        query = query.with_("t", as_=rows, materialized=True)
        session.stage(_TARGETS, query)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Drops the table of the records."""
        if exception[0] is None:
            self._session.execute(drop("TABLE", table(_TARGETS)))

    def _hash(self, of: str) -> exp.Expr:
        return row_hash(*(column(name, of) for name in self._unchanged)) if self._unchanged else number(0)

    def lifting(self, estimated: exp.Table, by_value: frozenset[str]) -> str:
        """The column without whose values matches are right least often."""
        return min(sorted(by_value), key=lambda name: self.count(estimated, by_value - {name}).right)

    def count(self, estimated: exp.Table, by_value: Iterable[str]) -> MatchedEstimates:
        """The matches of these columns by their values, and of all others by their labels."""
        values = set(by_value)
        # Nobody compares a column of which no row tells anything.
        counted = [exp.Count(this=column(name)) for name in self._names]
        told = self._session.row(exp.select(*counted).from_(estimated)) if counted else ()
        named = [(name, f"own{i}", f"label{i}") for i, name in enumerate(self._names) if told[i]]
        if not named:
            return MatchedEstimates(0, 0.0, 0.0)
        own = [column(own if name in values else label) for name, own, label in named]
        # Columns that keep their labels show them in the table; those of others are the classes'.
        shown = [column(name, "e") if name in values else column(label, "s") for name, _, label in named]
        # One number for all values of a row is compared many times faster than these, and rows of one number are equal.
        query = sql(
            "WITH s AS (SELECT class, $counted FROM $targets GROUP BY class), "
            "a AS (SELECT class, u, count(*) AS n FROM $targets GROUP BY class, u), "
            "k (class, u, found, $names) AS (SELECT e.$id, $hash, 1, $shown FROM $estimated AS e "
            "JOIN s ON s.class = e.$id UNION ALL SELECT class, u, 0, $own FROM $targets WHERE hidden AND $known), "
            "h AS (SELECT class, u, found, $key AS k FROM k), o AS (SELECT k, max(class) AS class, max(u) AS u FROM h "
            "WHERE found = 1 GROUP BY k HAVING count(*) = 1) "
            "SELECT count(*), avg(CASE WHEN o.class = h.class AND o.u = h.u THEN CAST(1 AS DOUBLE) / a.n ELSE 0 END), "
            "avg(CAST(1 AS DOUBLE) / s.n) FROM h JOIN o ON o.k = h.k JOIN a ON a.class = h.class AND a.u = h.u "
            "JOIN s ON s.class = h.class WHERE h.found = 0",
            targets=table(_TARGETS),
            counted=[
                alias(exp.Count(this=exp.Star()), "n"),
                *(alias(exp.Min(this=column(label)), label) for name, _, label in named if name not in values),
            ],
            names=[identifier(f"k{i}") for i, _ in enumerate(named)],
            shown=shown,
            own=own,
            known=conjunction([one.is_(exp.null()).not_() for one in own]),
            key=row_hash(*(column(f"k{i}") for i, _ in enumerate(named))),
            id=identifier(CLASS_ID),
            hash=self._hash("e"),
            estimated=estimated,
        )
        matches, right_share, by_class = self._session.row(query)
        return MatchedEstimates(matches, right_share or 0.0, by_class or 0.0)
