"""Checks columns that are released unchanged: counts again how many rows of a class they leave for everybody.

The classes are those of the written rows; whose labels these are, and which values go together, the source shows. Where
people have several records, the rows have to be those of enough different people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from tableveil.backend import Session, WarehouseSession
from tableveil.policy import Role
from tableveil.risk.unchanged import ACCIDENT, EXPECTED, MOST_CELLS, OF_CHANCE
from tableveil.verification.chance import Alike, independent
from tableveil.verification.coded import Codes, HeldRows, held_rows, read_rows
from tableveil.verification.derived import least_of_two
from tableveil.verification.judged import Judged
from tableveil.verification.left import ClassPeople, LeftLimits, least_of_one
from tableveil.verification.owners import stage_records
from tableveil.verification.text import near, quoted, spelled
from tableveil.verification.written import OWN_LEVELS, Labels, Written

MOST_COMPARED = MOST_CELLS
"""The most own values times rows of their class; beyond it, the release itself looked at a part of the own values."""

AT_ONCE = 2_000_000
"""How many of these are compared: an even part of the own values, if there are more."""

FIRST = 2_000_000
"""The first records of a source, which mostly show that a column's own values are too many to compare."""

MOST_TRIED = 500_000
"""How many pairs of own values and values are tried; beyond them, this takes longer than to compare own values."""

MOST_CODED = 1_000_000
"""Up to so many records are read at once, and looked at for pairs; more are grouped in the database, which spills."""

POOL = -1


def check_unchanged(judged: Judged, *, own_levels: bool = False) -> list[str]:
    """Whether the unacknowledged insensitive columns together leave k rows; `judged_classes` has the classes.

    Where people have several records, these have to be rows of k people; `owned` has the people of classes.

    The different rows of a warehouse are collected, with hashes of these columns' values. With
    `own_levels`, it needs the tables of `read_own_levels`. Aggregated columns are not looked at again.
    """
    rows, policy, written = judged.session, judged.policy, judged.written
    names = [a.column for a in policy.attributes if a.role is Role.INSENSITIVE and not a.acknowledged]
    k = policy.k
    if k is None or not names:
        return []
    session = rows.embedded
    pooled = bool(session.value("SELECT count(*) FROM judged_classes WHERE pool"))
    hiding = [j for j, label_table in enumerate(written.labels) if label_table.level or pooled or own_levels]
    # More records are not looked at for numbers, which take a third of the time to stage.
    numbers = not rows.traits.collects and judged.source_records < MOST_CODED
    records = _records(rows, names, written, pooled=pooled, own_levels=own_levels, numbers=numbers)
    looked_at = session.stage("unchanged", f"{records} LIMIT {FIRST}")

    @cache
    def hold() -> None:
        columns = {"w": f"hash(p.{quoted(written.person)})"}
        columns |= {f"v{i}": _value(name, f"p.{quoted(name)}", written) for i, name in enumerate(names)}
        stage_records(session, policy, "held_by", columns, written, own_levels=own_levels)

    asked, left = _Asked(len(names), k, hold), list[int | None]()
    if looked_at < min(FIRST, MOST_CODED):
        session.stage("held", _held(rows, names, judged.marker, written))
        left = _least_by_codes(session, written, hiding, asked, numbers=numbers)
        session.execute("DROP TABLE temp.main.held")
    elif few := _comparable(session, hiding, all_records=looked_at < FIRST):
        if looked_at == FIRST:
            session.execute("DROP TABLE temp.main.unchanged")
            session.stage("unchanged", records)
        session.stage("held", _held(rows, names, judged.marker, written))
        owned = written.owned_classes
        left = [_least(session, j, asked, owned, minorities=not written.person) for j in few]
        session.execute("DROP TABLE temp.main.held")
    session.execute("DROP TABLE IF EXISTS temp.main.held_by")
    session.execute("DROP TABLE temp.main.unchanged")
    least = min((rows for rows in left if rows is not None), default=k)
    left_of_class = f"rows of {least} people" if written.person else f"{least} rows"
    return [f"unchanged columns leave {left_of_class} of a class, fewer than k = {k}"] if least < k else []


@dataclass(frozen=True, slots=True)
class _Asked:
    """The question of all quasi-identifiers: whether so many `columns` leave k rows. `hold` stages who has which."""

    columns: int
    k: int
    hold: Callable[[], None]


def _least_by_codes(
    session: Session, written: Written, hiding: Sequence[int], asked: _Asked, *, numbers: bool
) -> list[int | None]:
    """The least numbers of rows, or people, that quasi-identifiers leave if below k: of rows that are read once."""
    records, held = read_rows(session, len(written.labels), asked.columns, numbers=numbers)
    owned = None
    if written.person and len(held.numbers):
        counted_arrays = session.arrays("SELECT class, size, people, most FROM owned ORDER BY class")
        at = np.searchsorted(counted_arrays["class"], held.numbers)
        owned = ClassPeople(*(counted_arrays[name][at].astype(np.int64) for name in ("size", "people", "most")))

    def held_by(classes: Codes) -> tuple[HeldRows, Codes]:
        asked.hold()
        values = ", ".join(f"v{i}" for i in range(asked.columns))
        with session.relation("few", pa.table({"class": classes})):
            arrays = session.arrays(
                f"SELECT DISTINCT class, w, {values} FROM held_by WHERE class IN (SELECT class FROM few) ORDER BY class"
            )
        arrays["n"] = np.ones(len(arrays["class"]), np.int64)
        return held_rows(arrays, records.values), np.unique(arrays["w"], return_inverse=True)[1].astype(np.int64)

    limits = LeftLimits(asked.k, MOST_COMPARED, AT_ONCE)
    left = [least_of_one(records, held, j, limits, owned, held_by) for j in hiding]
    return [*left, least_of_two(records, held, hiding)]


def _comparable(session: Session, hiding: Sequence[int], *, all_records: bool) -> list[int]:
    """The quasi-identifiers that have several own values in a class, and not too many to compare.

    If not `all_records` are staged, one that has a single own value in these may have several.
    """
    comparable = []
    for j in hiding:
        compared = session.value(
            f"SELECT coalesce(sum(size::HUGEINT * different), 0) FROM judged_classes JOIN ("
            f"SELECT class, count(DISTINCT o{j}) AS different FROM unchanged GROUP BY class) USING (class) "
            "WHERE different > 1"
        )
        if compared <= MOST_COMPARED and (compared or not all_records):
            comparable.append(j)
    return comparable


def _records(
    rows: WarehouseSession, names: list[str], written: Written, *, pooled: bool, own_levels: bool, numbers: bool
) -> str:
    """The source's records: their `class`, own values `o<j>` under labels `l<j>`, and values `v<i>` of the columns.

    `n` is how often one occurs. With `numbers`, `x<j>` and `y<i>` are those of own values and values, NULL where they
    have none.
    """
    keys = range(len(written.labels))
    # Equal values of other types, such as ENUM members and texts, have other hashes.
    own_and_values = [
        *(f"{quoted(label_table.column)} AS k{j}" for j, label_table in enumerate(written.labels)),
        *(f"{_value(name, quoted(name), written)} AS v{i}" for i, name in enumerate(names)),
    ]
    types = dict(written.source_types)
    if numbers:
        own_and_values += [f"{_number(quoted(name), types[name])} AS y{i}" for i, name in enumerate(names)]
    counted, grouped = ("count(*)", " GROUP BY ALL") if rows.traits.collects else ("1::BIGINT", "")
    source = near(
        rows,
        "unchanged_source",
        f"SELECT {', '.join(own_and_values)}, {counted} AS n FROM {written.source_rows} AS source{grouped}",
    )
    joins, selected, withheld = [], [], ["FALSE"]
    for j, label_table in enumerate(written.labels):
        own = f"p.k{j}"
        if label_table.level or own_levels:
            joins.append(f"LEFT JOIN {quoted(label_table.table)} AS d{j} ON d{j}.value IS NOT DISTINCT FROM {own}")
        label = _label(j, label_table, written)
        selected += [
            f"hash({own}) AS o{j}",
            f"{'0::UBIGINT' if pooled else f'hash({label})'} AS l{j}",
            f"{label} AS q{j}",
        ]
        if label_table.withholds:
            withheld.append(f"{own} IS NULL")
        if numbers:
            selected.append(f"{_number(own, types[label_table.column])} AS x{j}")
    selected += [f"p.v{i}" for i in range(len(names))]
    selected += [f"p.y{i}" for i in range(len(names)) if numbers]
    if not own_levels:
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
    if numbers:
        values += "".join((*(f", s.x{j}" for j in keys), *(f", s.y{i}" for i in range(len(names)))))
    return (
        f"SELECT coalesce(c.class, {POOL}) AS class, s.n, {kept}{values} FROM ({query} {' '.join(joins)}) AS s "
        f"LEFT JOIN {classes} AS c ON NOT c.pool AND NOT s.withheld AND {' AND '.join(same)}"
    )


def _value(name: str, of: str, written: Written) -> str:
    """The hash of a record's value as it is released."""
    return f"hash(CAST({spelled(of, written.type_of(name))} AS {written.type_of(name)}))"


def _number(of: str, type_: str) -> str:
    """The number of a value, times in days."""
    if type_ == "DATE" or type_.startswith("TIMESTAMP"):
        # DuckDB 2.0.1 would take seconds for nanoseconds, of which a year 9999 has too many.
        return (
            f"epoch({of}::TIMESTAMP) / 86400.0"
            if type_ in ("TIMESTAMP_S", "TIMESTAMP_MS")
            else f"epoch({of}) / 86400.0"
        )
    return f"TRY_CAST({of}::VARCHAR AS DOUBLE)"


def _label(j: int, labels: Labels, written: Written) -> str:
    if labels.level:
        return written.label(labels, labels.level, f"d{j}")
    return written.shown(labels.column, f"p.k{j}")


def _held(rows: WarehouseSession, names: list[str], marker: str, written: Written) -> str:
    """How often each class has each combination of the columns' values, by the written rows."""
    pool = quoted(marker) if marker else "FALSE"
    keys = ", ".join(f"{quoted(label_table.column)} AS q{j}" for j, label_table in enumerate(written.labels))
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


def _least(session: Session, j: int, asked: _Asked, owned: str, *, minorities: bool) -> int | None:
    """The least number of rows that one quasi-identifier's values leave; None if it hides nothing, or too much.

    It is that of people, if their rows do not show that they are k: `asked.hold` stages who has which values. It is
    None, too, if the classes have k and every value fits every own value: then nobody leaves out any row.
    """
    pairs = [_stage_pairs(session, j, i, minorities=minorities) for i in range(asked.columns)]
    all_left = _all_fit(session, pairs) and not session.value(
        f"SELECT count(*) FROM (SELECT class, sum(n) AS rows FROM held GROUP BY class) LEFT JOIN {owned} USING (class) "
        f"WHERE rows < {asked.k} OR {_UNDECIDED.format(k=asked.k)}"
    )
    left = None if all_left else _least_left(session, j, asked, owned, pairs)
    for i in range(asked.columns):
        session.execute(f"DROP TABLE temp.main.pairs_{i}")
    return left


@dataclass(frozen=True, slots=True)
class _Pairs:
    """When a value of a column `fits` an own value, in SQL, and the `joins` of the staged pairs that say so."""

    fits: str
    joins: str


_BESIDE = (
    "JOIN (SELECT o, sum(n) AS own FROM pairs_0 GROUP BY o) USING (o) "
    "JOIN (SELECT l, sum(n) AS size FROM pairs_0 GROUP BY l) USING (l)"
)
"""The numbers of records of own values and labels."""

_UNDECIDED = "(most > 1 AND greatest(people - (size - rows), ceil(rows / most)) < {k})"
"""Whether rows may be of fewer than k people.

A row takes away one person at most; and so many rows are of at least as many people as have the most each. Where nobody
has several, the rows are the people.
"""


def _stage_pairs(session: Session, j: int, i: int, *, minorities: bool) -> _Pairs:
    """Stages how often the records have an own value together with a value of a column, as `pairs_<i>`."""
    session.stage(
        f"pairs_{i}", f"SELECT l{j} AS l, o{j} AS o, v{i} AS v, sum(n)::BIGINT AS n FROM unchanged GROUP BY ALL"
    )
    by_chance, apart, alike = _independent(session, i)
    few = (apart, alike) if minorities and by_chance else ([], [])
    joins = (
        f"LEFT JOIN pairs_{i} AS p{i} ON p{i}.o = known.o AND p{i}.v = held.v{i} "
        f"LEFT JOIN (SELECT v, sum(n) AS n FROM pairs_{i} GROUP BY v) AS t{i} ON t{i}.v = held.v{i} "
        f"LEFT JOIN (SELECT l, v, sum(n) AS n FROM pairs_{i} GROUP BY ALL) AS u{i} "
        f"ON u{i}.l = known.l AND u{i}.v = held.v{i}"
    )
    if few[1]:
        of_own = f"SELECT o, count(*) AS of_own FROM pairs_{i} GROUP BY o"
        joins = f"JOIN ({of_own}) AS s{i} ON s{i}.o = known.o {joins}"
    return _Pairs(_fits(i, *few, independent=by_chance), joins)


def _all_fit(session: Session, pairs: Sequence[_Pairs]) -> bool:
    """Whether all released values fit all own values; False if there are too many to try."""
    own_values = "(SELECT DISTINCT l, o FROM pairs_0)"
    for i, column in enumerate(pairs):
        values = f"(SELECT DISTINCT v{i} FROM held)"
        tried = session.value(f"SELECT (SELECT count(*) FROM {own_values}) * (SELECT count(*) FROM {values})")
        if tried > MOST_TRIED or session.value(
            f"SELECT count(*) FROM {own_values} AS known {_BESIDE} CROSS JOIN {values} AS held {column.joins} "
            f"WHERE ({column.fits}) IS NOT TRUE"
        ):
            return False
    return True


def _least_left(session: Session, j: int, asked: _Asked, owned: str, pairs: Sequence[_Pairs]) -> int | None:
    """The least number, by comparing the own values of each class with its rows."""
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
        fitting = f"FILTER ({' AND '.join(column.fits for column in pairs)})"
        joins = " ".join(column.joins for column in pairs)
        session.stage(
            "rows_left",
            f"SELECT class, known.o, coalesce(sum(held.n) {fitting}, 0) AS rows FROM known {_BESIDE} "
            f"JOIN held USING (class) {joins} WHERE different > 1 AND known.o % {parts} = 0 "
            "GROUP BY class, known.o",
        )
        left = session.value("SELECT min(rows) FROM rows_left")
        undecided = session.stage(
            "undecided",
            f"SELECT class, o, l FROM known JOIN rows_left USING (class, o) JOIN {owned} USING (class) "
            f"WHERE {_UNDECIDED.format(k=asked.k)}",
        )
        if undecided:
            asked.hold()
            held = f"(SELECT DISTINCT class, w, {', '.join(f'v{i}' for i in range(asked.columns))} FROM held_by)"
            owners = session.value(
                f"SELECT min(owners) FROM (SELECT count(DISTINCT held.w) {fitting} AS owners FROM undecided AS known "
                f"{_BESIDE} JOIN {held} AS held USING (class) {joins} GROUP BY class, known.o)"
            )
            left = min(left, owners)
        session.execute("DROP TABLE temp.main.undecided")
        session.execute("DROP TABLE temp.main.rows_left")
    session.execute("DROP TABLE temp.main.known")
    return left


def _fits(i: int, apart: list[int], alike: list[int], *, independent: bool) -> str:
    """Whether a value of a column fits an own value: their pair is no accident, or missing by chance.

    Chance is nothing to own values whose numbers of records are far `apart` from it; nor to those of a single value
    where too many are `alike` in that.
    """
    often = (
        f"(p{i}.n >= {ACCIDENT} * own OR "
        f"p{i}.n * (SELECT sum(n) FROM pairs_{i}) >= {OF_CHANCE} * own::HUGEINT * t{i}.n)"
    )
    missing = f"coalesce(own::HUGEINT * u{i}.n, 0) < {EXPECTED} * size" if independent else "FALSE"
    order = "floor(log2(own))::INTEGER"
    if apart:
        missing += f" AND {order} NOT IN ({', '.join(map(str, apart))})"
    if alike:
        missing += f" AND NOT (s{i}.of_own = 1 AND {order} IN ({', '.join(map(str, alike))}))"
    return f"CASE WHEN p{i}.n IS NULL THEN {missing} ELSE {often} END"


def _independent(session: Session, i: int) -> tuple[bool, list[int], list[int]]:
    """Whether own values go with as many values as chance would make, and half of these would be too few to be chance.

    And the binary orders of numbers of records whose own values are far from chance: all of them, or those of a single
    value.
    """
    own = session.arrays(
        "SELECT l, size, own, count(*) AS times, sum(seen)::BIGINT AS seen, "
        "count(*) FILTER (seen = 1)::BIGINT AS single FROM (SELECT l, o, sum(n)::BIGINT AS own, "
        f"count(*) AS seen, sum(sum(n)) OVER (PARTITION BY l)::BIGINT AS size FROM pairs_{i} GROUP BY l, o) "
        "GROUP BY ALL"
    )
    values = session.arrays(
        f"SELECT l, n, count(*) AS times FROM (SELECT l, sum(n)::BIGINT AS n FROM pairs_{i} GROUP BY l, v) GROUP BY ALL"
    )
    nothing = np.zeros(len(values["l"]))
    different, first, label = np.unique(own["l"], return_index=True, return_inverse=True)
    return independent(
        Alike(label.astype(np.int64), own["own"], own["times"], own["seen"], own["single"]),
        Alike(np.searchsorted(different, values["l"]), values["n"], values["times"], nothing, nothing),
        own["size"][first],
    )
