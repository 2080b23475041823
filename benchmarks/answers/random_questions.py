"""Random questions, as conditions and aggregates in SQL, of a table with generalized and other columns."""

from dataclasses import dataclass
from random import Random
from typing import Any

import duckdb

Rows = list[tuple[Any, ...]]

LEAST_COUNTED = 20
LEAST_IN_GROUP = 30
_MOST_COUNTED = 0.9
"""A share of all rows: counts of nearly everybody are right whatever is estimated."""

_AT_ONCE = 300
"""More counts in one statement take DuckDB minutes."""

_TRIES = 200
AGGREGATES = {
    "mean": "avg({})",
    "median": "quantile_cont({}, 0.5)",
    "lower quarter": "quantile_cont({}, 0.25)",
    "upper quarter": "quantile_cont({}, 0.75)",
    "p90": "quantile_cont({}, 0.9)",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The columns of a table that questions are about: generalized ones, and others beside them.

    Dates are in conditions only: no error of a mean date is large in proportion to it.
    """

    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    dates: tuple[str, ...] = ()
    plain_numbers: tuple[str, ...] = ()
    plain_texts: tuple[str, ...] = ()

    @property
    def generalized(self) -> tuple[str, ...]:
        """The columns that may be wrong."""
        return self.numbers + self.texts + self.dates

    @property
    def all(self) -> tuple[str, ...]:
        """All columns."""
        return self.generalized + self.plain_numbers + self.plain_texts


@dataclass(frozen=True, slots=True)
class GroupQuestion:
    """An aggregate of a number by groups of a text, where a condition holds."""

    group: str
    of: str
    aggregate: str
    where: str


class RandomQuestions:
    """Draws questions whose true answers are not small; `truth` is the table of true values."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, truth: str, asked: Asked, seed: int = 1) -> None:
        self._connection, self._truth, self._asked, self._random = connection, truth, asked, Random(seed)
        self._values = {name: self._sample(name) for name in asked.all}
        ((self._rows,),) = connection.execute(f"SELECT count(*) FROM {truth}").fetchall()

    def counts(self, number: int) -> list[str]:
        """Conditions on two or three columns, of which at least one is generalized."""
        found: list[str] = []
        for _ in range(_TRIES):
            drawn = [self._condition(self._random.choice((2, 3))) for _ in range(number)]
            true = counts(self._connection, self._truth, drawn)
            most = _MOST_COUNTED * self._rows
            found += [one for one, of in zip(drawn, true, strict=True) if LEAST_COUNTED <= of < most]
            if len(found) >= number:
                break
        return found[:number]

    def groups(self, number: int) -> list[GroupQuestion]:
        """Aggregates by group, of which half have a condition; each has a generalized column in it."""
        found: list[GroupQuestion] = []
        while len(found) < number:
            group = self._random.choice(self._asked.texts + self._asked.plain_texts)
            of = self._random.choice(self._asked.numbers + self._asked.plain_numbers)
            others = [name for name in self._asked.all if name not in (group, of)]
            chosen = [self._random.choice(others)] if others and self._random.random() < 0.5 else []
            if any(name in self._asked.generalized for name in (group, of, *chosen)):
                where = self._on(chosen[0]) if chosen else "TRUE"
                found.append(GroupQuestion(group, of, self._random.choice(list(AGGREGATES)), where))
        return found

    def _condition(self, columns: int) -> str:
        while True:
            chosen = self._random.sample(self._asked.all, min(columns, len(self._asked.all)))
            if any(name in self._asked.generalized for name in chosen):
                return " AND ".join(map(self._on, chosen))

    def _on(self, name: str) -> str:
        values = self._values[name]
        if name in self._asked.texts + self._asked.plain_texts:
            some = dict.fromkeys(self._random.choice(values) for _ in range(self._random.randint(1, 3)))
            return f'"{name}" IN ({", ".join(map(literal, some))})'
        low, high = sorted(self._random.random() for _ in range(2))
        high = 1.0 if self._random.random() < 0.25 else high
        ends = (values[min(int(share * len(values)), len(values) - 1)] for share in (low, high))
        return f'"{name}" BETWEEN ' + " AND ".join(map(literal, ends))

    def _sample(self, name: str) -> list[Any]:
        rows = self._connection.execute(
            f'SELECT "{name}" FROM {self._truth} WHERE "{name}" IS NOT NULL ORDER BY hash(rid)'
        ).fetchmany(20_000)
        values = [value for (value,) in rows]
        return values if name in self._asked.texts + self._asked.plain_texts else sorted(values)


def counts(connection: duckdb.DuckDBPyConnection, table: str, conditions: list[str]) -> list[int]:
    """The rows of a table that meet each condition."""
    found: list[int] = []
    for first in range(0, len(conditions), _AT_ONCE):
        listed = ", ".join(f"count(*) FILTER ({condition})" for condition in conditions[first : first + _AT_ONCE])
        found += connection.execute(f"SELECT {listed} FROM {table}").fetchall()[0]
    return found


def groups(connection: duckdb.DuckDBPyConnection, table: str, asked: GroupQuestion) -> dict[str, tuple[float, int]]:
    """The aggregate of each group, and its rows."""
    value = AGGREGATES[asked.aggregate].format(f'"{asked.of}"')
    rows = connection.execute(
        f'SELECT "{asked.group}", {value}::DOUBLE, count("{asked.of}") FROM {table} WHERE {asked.where} '
        f'AND "{asked.group}" IS NOT NULL GROUP BY 1'
    ).fetchall()
    return {group: (of, number) for group, of, number in rows if of is not None}


def literal(value: object) -> str:
    """A value as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"DATE '{value}'" if hasattr(value, "isoformat") else str(value)
