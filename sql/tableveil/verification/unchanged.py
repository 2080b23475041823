"""Checks columns that are released unchanged: counts again how many rows of a class they leave for everybody.

The classes are those of the written rows; whose labels these are, and which values go together, the source shows. Where
people have several records, the rows have to be those of enough different people.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Session, WarehouseSession
from tableveil.policy import Policy, Role
from tableveil.verification.owners import stage_records
from tableveil.verification.text import near, quoted, spelled
from tableveil.verification.written import OWN_LEVELS, Labels, Written

MOST_COMPARED = 20_000_000
"""The most own values times rows of their class; beyond it, the release itself looked at a part of the own values."""

AT_ONCE = 2_000_000
"""How many of these are compared: an even part of the own values, if there are more."""

FIRST = 2_000_000
"""The first records of a source, which mostly show that a column's own values are too many to compare."""

POOL = -1


def check_unchanged(rows: WarehouseSession, policy: Policy, marker: str, written: Written) -> list[str]:
    """Whether the unacknowledged insensitive columns together leave k rows; `judged_classes` has the classes.

    Where people have several records, these have to be rows of k people; `owned` has the people of classes.

    The different rows of a warehouse are collected, with hashes of these columns' values. For local recoding it needs
    the tables of `read_own_levels`. Aggregated columns are not looked at again.
    """
    names = [a.column for a in policy.attributes if a.role is Role.INSENSITIVE and not a.acknowledged]
    k = policy.k
    if k is None or not names or written.members is not None or policy.record_level is not None:
        return []
    session = rows.embedded
    pooled = bool(session.value("SELECT count(*) FROM judged_classes WHERE pool"))
    hiding = [j for j, known in enumerate(written.labels) if known.level or pooled or policy.has_own_levels]
    records = _records(rows, policy, names, written, pooled=pooled)
    looked_at = session.stage("unchanged", f"{records} LIMIT {FIRST}")
    few = [j for j in hiding if _compared(session, j) <= MOST_COMPARED]
    left: list[int | None] = []
    if few:
        if looked_at == FIRST:
            session.execute("DROP TABLE temp.main.unchanged")
            session.stage("unchanged", records)
        session.stage("held", _held(rows, names, marker, written))

        @cache
        def hold() -> None:
            columns = {"w": f"hash(p.{quoted(written.person)})"}
            columns |= {f"v{i}": _value(name, f"p.{quoted(name)}", written) for i, name in enumerate(names)}
            stage_records(session, policy, "held_by", columns, written, own_levels=policy.local_recoding is not None)

        left = [_least(session, j, len(names), k, hold) for j in few]
        session.execute("DROP TABLE temp.main.held")
        session.execute("DROP TABLE IF EXISTS temp.main.held_by")
    session.execute("DROP TABLE temp.main.unchanged")
    least = min((rows for rows in left if rows is not None), default=k)
    left_of_class = f"rows of {least} people" if written.person else f"{least} rows"
    return [f"unchanged columns leave {left_of_class} of a class, fewer than k = {k}"] if least < k else []


def _compared(session: Session, j: int) -> int:
    """At least how many own values times rows there are: those of the staged records, which may be the first few."""
    compared: int = session.value(
        f"SELECT coalesce(sum(size::HUGEINT * different), 0) FROM judged_classes JOIN ("
        f"SELECT class, count(DISTINCT o{j}) AS different FROM unchanged GROUP BY class) USING (class) "
        "WHERE different > 1"
    )
    return compared


def _records(rows: WarehouseSession, policy: Policy, names: list[str], written: Written, *, pooled: bool) -> str:
    """The source's records: their `class`, own values `o<j>` under labels `l<j>`, and values `v<i>` of the columns.

    `n` is how often one occurs.
    """
    keys = range(len(written.labels))
    # Equal values of other types, such as ENUM members and texts, have other hashes.
    own_and_values = [
        *(f"{quoted(known.column)} AS k{j}" for j, known in enumerate(written.labels)),
        *(f"{_value(name, quoted(name), written)} AS v{i}" for i, name in enumerate(names)),
    ]
    elsewhere = rows.embedded is not rows
    counted, grouped = ("count(*)", " GROUP BY ALL") if elsewhere else ("1::BIGINT", "")
    source = near(
        rows,
        "unchanged_source",
        f"SELECT {', '.join(own_and_values)}, {counted} AS n FROM {written.source_rows} AS source{grouped}",
    )
    joins, selected, withheld = [], [], ["FALSE"]
    for j, known in enumerate(written.labels):
        own = f"p.k{j}"
        joins.append(f"LEFT JOIN {quoted(known.table)} AS d{j} ON d{j}.value IS NOT DISTINCT FROM {own}")
        label = _label(j, known, written)
        selected += [
            f"hash({own}) AS o{j}",
            f"{'0::UBIGINT' if pooled else f'hash({label})'} AS l{j}",
            f"{label} AS q{j}",
        ]
        if known.withholds:
            withheld.append(f"{own} IS NULL")
    selected += [f"p.v{i}" for i in range(len(names))]
    if policy.local_recoding is None:
        classes, same = "judged_classes", [f"c.q{j} IS NOT DISTINCT FROM s.q{j}" for j in keys]
    else:
        classes, same = "said", [f"c.i{j} = s.i{j}" for j in keys]
        chosen = " AND ".join(f"o.c{labels.position} = d{j}.code" for j, labels in enumerate(written.labels))
        joins += [f"LEFT JOIN meanings_{j} AS m{j} ON m{j}.code = d{j}.code" for j in keys]
        joins.append(f"LEFT JOIN temp.main.{OWN_LEVELS} AS o ON {chosen}")
        selected += [f"m{j}.ids[o.l{labels.position}] AS i{j}" for j, labels in enumerate(written.labels)]
    query = f"SELECT {', '.join(selected)}, {' OR '.join(withheld)} AS withheld, p.n FROM {source} AS p"
    kept = ", ".join(f"s.{part}{j}" for j in keys for part in "ol")
    values = "".join(f", s.v{i}" for i in range(len(names)))
    return (
        f"SELECT coalesce(c.class, {POOL}) AS class, s.n, {kept}{values} FROM ({query} {' '.join(joins)}) AS s "
        f"LEFT JOIN {classes} AS c ON NOT c.pool AND NOT s.withheld AND {' AND '.join(same)}"
    )


def _value(name: str, of: str, written: Written) -> str:
    """The hash of a record's value as it is released."""
    return f"hash(CAST({spelled(of, written.type_of(name))} AS {written.type_of(name)}))"


def _label(j: int, known: Labels, written: Written) -> str:
    if known.level:
        return written.label(known, known.level, f"d{j}")
    return written.shown(known.column, f"p.k{j}")


def _held(rows: WarehouseSession, names: list[str], marker: str, written: Written) -> str:
    """How often each class has each combination of the columns' values, by the written rows."""
    pool = quoted(marker) if marker else "FALSE"
    keys = ", ".join(f"{quoted(known.column)} AS q{j}" for j, known in enumerate(written.labels))
    same = " AND ".join(f"c.q{j} IS NOT DISTINCT FROM s.q{j}" for j in range(len(written.labels)))
    values = ", ".join(f"hash({quoted(name)}) AS v{i}" for i, name in enumerate(names))
    held = ", ".join(f"s.v{i}" for i in range(len(names)))
    # Suppressed rows are blank, and so is their class: with a condition of its own for it, DuckDB would compare every
    # row with every class.
    query = f"SELECT {keys}, {pool} AS pool, {values}, count(*) AS n FROM {quoted(*written.rows)} GROUP BY ALL"
    return (
        f"SELECT c.class, {held}, s.n FROM {near(rows, 'unchanged_rows', query)} AS s "
        f"JOIN judged_classes AS c ON c.pool = s.pool AND {same}"
    )


def _least(session: Session, j: int, columns: int, k: int, hold: Callable[[], None]) -> int | None:
    """The least number of rows that one quasi-identifier's values leave; None if it hides nothing, or too much.

    It is that of people, if their rows do not show that they are k: `hold` makes the table of who has which values.
    """
    session.stage(
        "known",
        f"SELECT class, o{j} AS o, any_value(l{j}) AS l, sum(n)::BIGINT AS n, "
        "count(*) OVER (PARTITION BY class) AS different FROM unchanged WHERE class IN (SELECT class FROM held) "
        "GROUP BY class, o",
    )
    compared = session.value(
        "SELECT coalesce(sum(size * different), 0) FROM ("
        "SELECT sum(n) AS size, count(*) AS different FROM known WHERE different > 1 GROUP BY class)"
    )
    left = None
    if 0 < compared <= MOST_COMPARED:
        parts = 1 + compared // AT_ONCE
        fits, joins = [], []
        for i in range(columns):
            session.stage(
                f"pairs_{i}", f"SELECT l{j} AS l, o{j} AS o, v{i} AS v, sum(n)::BIGINT AS n FROM unchanged GROUP BY ALL"
            )
            fits.append(_fits(i, independent=_independent(session, i)))
            joins.append(
                f"LEFT JOIN pairs_{i} AS p{i} ON p{i}.o = known.o AND p{i}.v = held.v{i} "
                f"LEFT JOIN (SELECT v, sum(n) AS n FROM pairs_{i} GROUP BY v) AS t{i} ON t{i}.v = held.v{i} "
                f"LEFT JOIN (SELECT l, v, sum(n) AS n FROM pairs_{i} GROUP BY ALL) AS u{i} "
                f"ON u{i}.l = known.l AND u{i}.v = held.v{i}"
            )
        fitting = f"FILTER ({' AND '.join(fits)})"
        beside = (
            "JOIN (SELECT o, sum(n) AS own FROM pairs_0 GROUP BY o) USING (o) "
            "JOIN (SELECT l, sum(n) AS size FROM pairs_0 GROUP BY l) USING (l)"
        )
        session.stage(
            "rows_left",
            f"SELECT class, known.o, coalesce(sum(held.n) {fitting}, 0) AS rows FROM known {beside} "
            f"JOIN held USING (class) {' '.join(joins)} WHERE different > 1 AND known.o % {parts} = 0 "
            "GROUP BY class, known.o",
        )
        left = session.value("SELECT min(rows) FROM rows_left")
        # A row takes away one person at most; and so many rows are of at least as many people as have the most each.
        # Where nobody has several, the rows are the people.
        undecided = session.stage(
            "undecided",
            "SELECT class, o, l FROM known JOIN rows_left USING (class, o) JOIN owned USING (class) "
            f"WHERE most > 1 AND greatest(people - (size - rows), ceil(rows / most)) < {k}",
        )
        if undecided:
            hold()
            held = f"(SELECT DISTINCT class, w, {', '.join(f'v{i}' for i in range(columns))} FROM held_by)"
            owners = session.value(
                f"SELECT min(owners) FROM (SELECT count(DISTINCT held.w) {fitting} AS owners FROM undecided AS known "
                f"{beside} JOIN {held} AS held USING (class) {' '.join(joins)} GROUP BY class, known.o)"
            )
            left = min(left, owners)
        session.execute("DROP TABLE temp.main.undecided")
        session.execute("DROP TABLE temp.main.rows_left")
        for i in range(columns):
            session.execute(f"DROP TABLE temp.main.pairs_{i}")
    session.execute("DROP TABLE temp.main.known")
    return left


def _fits(i: int, *, independent: bool) -> str:
    """Whether a value of a column fits an own value: their pair is no accident, or missing by chance."""
    often = f"(p{i}.n * 100 >= own OR p{i}.n * 10 * (SELECT sum(n) FROM pairs_{i}) >= own::HUGEINT * t{i}.n)"
    missing = f"coalesce(own::HUGEINT * u{i}.n, 0) < 5 * size" if independent else "FALSE"
    return f"CASE WHEN p{i}.n IS NULL THEN {missing} ELSE {often} END"


def _independent(session: Session, i: int) -> bool:
    """Whether own values go with as many values as chance would make, and half of these would be too few to be chance.

    Source: hypergeometric probabilities of a value among the records with an own value, under each label.
    """
    found = session.arrays(
        f"SELECT l, size, own, count(*) AS times, sum(seen) AS seen FROM (SELECT l, o, sum(n)::BIGINT AS own, "
        f"count(*) AS seen, sum(sum(n)) OVER (PARTITION BY l)::BIGINT AS size FROM pairs_{i} GROUP BY l, o) "
        "GROUP BY ALL"
    )
    totals = session.arrays(
        f"SELECT l, n, count(*) AS times FROM (SELECT l, sum(n)::BIGINT AS n FROM pairs_{i} GROUP BY l, v) GROUP BY ALL"
    )
    expected, power, variance = 0.0, 0.0, 0.0
    for label in np.unique(found["l"]):
        here, there = found["l"] == label, totals["l"] == label
        own, total = found["own"][here][:, None], totals["n"][there][None, :]
        size = int(found["size"][here][0])
        weight = found["times"][here][:, None] * totals["times"][there][None, :]
        chance = _present(own, total, size)
        expected += float((weight * chance).sum())
        variance += float((weight * chance * (1 - chance)).sum())
        power += float((weight * (chance - _present(own, 2 * total, size) / 2) * (own <= size - own)).sum())
    error = float(np.sqrt(variance))
    return bool(found["seen"].sum() >= expected - 2 * error and power > 0 and power >= 4 * error)


def _present(own: NDArray[np.int64], total: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """The probability that some of the `own` records have the value of `total` ones."""
    others = np.maximum(size - total, 0)
    left = np.maximum(others - own, 0)
    absent = np.exp(_factorial(others) - _factorial(left) + _factorial(size - own) - _factorial(np.array([size])))
    present: NDArray[np.float64] = np.where(others < own, 1.0, np.clip(1 - absent, 0, 1))
    return present


def _factorial(n: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithms of factorials: of small numbers as sums, else by Stirling's series."""
    small = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 100)))])
    m = np.maximum(n, 1).astype(np.float64)
    series = m * np.log(m) - m + np.log(2 * np.pi * m) / 2 + 1 / (12 * m) - 1 / (360 * m**3) + 1 / (1260 * m**5)
    return np.where(n < len(small), small[np.minimum(n, len(small) - 1)], series)
