"""Joins the rows of two releases by the columns that both show alike, as their reader would, and counts joint classes.

A joint class is made here of the rows of the new release in one class for which the earlier one has a row of one class
with the same values: these could be the row of somebody who has these classes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, alias, cast, column, expression, row_hash
from tableveil.source.facts import KEY

MOST_COLUMNS = 8
"""The most columns that rows are joined by: those with the most values."""

MOSTLY_THERE = 0.9
"""If so many of the rows have their values in the earlier release, fewer columns tell less of them."""

ALIKE = 0.8
"""A column is another under a new name if so much of its rows have values that the other has as often."""

MOST_POSSIBLE = 50_000_000
"""The most pairs of an uncertain row and a class that are looked at; beyond, only rows of a certain class count."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The rows of a release, its columns of labels, and those by which rows join: by a key, their names and types."""

    rows: exp.Expr
    labels: tuple[str, ...]
    alike: dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Joined:
    """The rows of a new release whose class in an earlier one follows from the values of `columns`.

    There are `rows` of them, in joint classes of at least `smallest` rows; `below` are in joint classes of fewer than
    k.
    """

    columns: tuple[str, ...]
    rows: int
    smallest: int
    below: int


def stage_rows(session: WarehouseSession, name: str, shown: Shown, by: Sequence[tuple[str, str]]) -> None:
    """Collects the rows under a name: their `class` and, as `u0`, `u1`, …, the columns `by`, all as hashes or NULL.

    Columns are compared in the types beside them.
    """
    wanted: list[exp.Expr] = [alias(row_hash(*map(column, shown.labels)), "class")]
    for i, (key, type_) in enumerate(by):
        own, own_type = shown.alike[key]
        value = column(own) if own_type == type_ else cast(column(own), type_)
        there = f"CASE WHEN NOT $own IS NULL THEN $hash END AS u{i}"
        wanted.append(expression(there, own=column(own), hash=row_hash(value)))
    session.collect(name, exp.select(*wanted).from_(shown.rows))


def join_columns(earlier: Shown, new: Shown) -> list[tuple[str, str]]:
    """The keys of columns that both have, with the type to compare them in: text if they are of different types."""
    both = [name for name in new.alike if name in earlier.alike]
    types = [(new.alike[name][1], earlier.alike[name][1]) for name in both]
    return [(name, mine if mine == theirs else "VARCHAR") for name, (mine, theirs) in zip(both, types, strict=True)]


def renamed(session: Session, earlier: str, theirs: Sequence[int], new: str, mine: Sequence[int]) -> dict[int, int]:
    """The columns of new staged rows that are columns of the earlier ones under other names, by their values.

    Somebody who has both releases sees that a column has the same values as often. Columns of fewer than `KEY` values
    say too little for that.
    """
    if not theirs or not mine:
        return {}
    counted = (
        "(SELECT own, value, count(*) AS n FROM (UNPIVOT (SELECT {0} FROM {1}) ON {0} INTO NAME own VALUE value) "
        "GROUP BY ALL)"
    )
    then, now = (
        counted.format(", ".join(f"u{i}" for i in columns), rows) for columns, rows in ((theirs, earlier), (mine, new))
    )
    found = session.rows(
        f"WITH o AS MATERIALIZED {then}, n AS MATERIALIZED {now}, "
        "totals AS (SELECT own, sum(n) AS n FROM n GROUP BY own) "
        "SELECT o.own[2:]::INTEGER AS there, n.own[2:]::INTEGER AS here, sum(least(o.n, n.n)) AS alike "
        "FROM o JOIN n USING (value) JOIN totals ON totals.own = n.own GROUP BY there, here, totals.n "
        f"HAVING count(*) >= {KEY} AND alike >= {ALIKE} * totals.n ORDER BY alike DESC, there, here"
    )
    same: dict[int, int] = {}
    for there, here, _ in found:
        if there not in same.values() and here not in same:
            same[here] = there
    return same


def joined(session: Session, earlier: str, new: str, columns: Sequence[str], k: int) -> Joined | None:
    """The worst joint classes of staged rows, by all of the columns, all but one, or one; None if nothing joins.

    Two releases may show other values of one column; the others join all the same.
    """
    worst: Joined | None = None
    for some in _sets(session, earlier, new, len(columns)):
        rows, smallest, below = session.row(_figures(earlier, new, some, k))
        if rows and (worst is None or (below, rows) > (worst.below, worst.rows)):
            worst = Joined(tuple(columns[i] for i in some), rows, smallest, below)
    return worst


def _sets(session: Session, earlier: str, new: str, number: int) -> Iterator[tuple[int, ...]]:
    every = tuple(range(number))
    if number > MOST_COLUMNS:
        counts = session.row(f"SELECT {', '.join(f'approx_count_distinct(u{i})' for i in every)} FROM {new}")
        every = tuple(sorted(sorted(every, key=lambda i: -counts[i])[:MOST_COLUMNS]))
    yield every
    values = ", ".join(f"u{i}" for i in every)
    there = f"SELECT count(*) FROM {new} WHERE hash({values}) IN (SELECT hash({values}) FROM {earlier})"
    if len(every) == 1 or session.value(there) >= MOSTLY_THERE * session.value(f"SELECT count(*) FROM {new}"):
        return
    if len(every) > 2:
        yield from (tuple(i for i in every if i != left) for left in every)
    yield from ((i,) for i in every)


def _figures(earlier: str, new: str, columns: Sequence[int], k: int) -> str:
    """The rows of certain classes, the least size of their joint classes, and those in joint classes of fewer than k.

    A row is certain if all rows of the earlier release with its values are of one class. Uncertain ones are looked at
    only for joint classes that have fewer than k certain rows, from whichever side has fewer values.
    """
    key = f"hash({', '.join(f'u{i}' for i in columns)})"
    return f"""
        WITH o AS MATERIALIZED (SELECT class AS a, {key} AS u FROM {earlier} GROUP BY ALL),
        n AS MATERIALIZED (SELECT class AS b, {key} AS u, count(*) AS rows FROM {new} GROUP BY ALL),
        values_there AS MATERIALIZED (SELECT u, min(a) AS a, count(*) = 1 AS certain FROM o GROUP BY u),
        pairs AS MATERIALIZED (
            SELECT a, b, sum(rows) AS rows FROM n JOIN values_there USING (u) WHERE certain GROUP BY a, b),
        uncertain_n AS MATERIALIZED (
            SELECT b, u, rows FROM n SEMI JOIN (FROM values_there WHERE NOT certain) USING (u)),
        uncertain_o AS MATERIALIZED (SELECT a, u FROM o SEMI JOIN uncertain_n USING (u)),
        few AS MATERIALIZED (
            SELECT a, b, of_a, of_b FROM pairs
            JOIN (SELECT a, count(*) AS of_a FROM uncertain_o GROUP BY a) USING (a)
            JOIN (SELECT b, count(*) AS of_b FROM uncertain_n GROUP BY b) USING (b) WHERE rows < {int(k)}),
        looked AS MATERIALIZED (
            SELECT * FROM few WHERE (SELECT sum(least(of_a, of_b)) FROM few) <= {MOST_POSSIBLE}),
        from_o AS MATERIALIZED (SELECT a, b, u FROM looked JOIN uncertain_o USING (a) WHERE of_a <= of_b),
        from_n AS MATERIALIZED (SELECT a, b, u, rows FROM looked JOIN uncertain_n USING (b) WHERE of_a > of_b),
        possible AS (
            SELECT a, b, rows FROM from_o JOIN uncertain_n USING (b, u)
            UNION ALL SELECT a, b, rows FROM from_n SEMI JOIN uncertain_o USING (a, u)),
        more AS (SELECT a, b, sum(rows) AS more FROM possible GROUP BY a, b),
        sizes AS (SELECT rows, rows + coalesce(more, 0) AS size FROM pairs LEFT JOIN more USING (a, b))
        SELECT coalesce(sum(rows), 0)::BIGINT, coalesce(min(size), 0)::BIGINT,
        coalesce(sum(rows) FILTER (size < {int(k)}), 0)::BIGINT FROM sizes"""
