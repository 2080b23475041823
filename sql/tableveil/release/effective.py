"""How many rows a released column leaves for each person: the effective k of columns released unchanged.

An attacker who knows a person's own value of a quasi-identifier looks for it among the released rows of the person's
class. The attacker leaves out rows with a value of the column that never occurs in the source together with that own
value. The remaining rows are counted; the least count over quasi-identifiers and records is the column's effective k.
Where people have several records, it is the least number of different people who have these rows.

A rare own value occurs with few values of any column, which says nothing if the column is independent. So a column that
is shown to be independent of the values under a label leaves out only what is missing in spite of chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, column, row_hash
from tableveil.policy import AttributePolicy, Role
from tableveil.release.effective_owners import OWNED_SIZES, SIZES, fitting, least_owners
from tableveil.release.effective_rows import ROWS, CountedColumn, drop_rows, ordered, stage_rows
from tableveil.release.plan import ReleasedColumn, ReleasePlan

ACCIDENT, OF_CHANCE = 0.01, 0.1
"""A pair of values does not count if it is below both of these shares.

The first is a share of the records with the quasi-identifier's own value, the second a share of the number expected for
independent columns. So a mistyped year does not make a pair look possible, and a column of many rare values does not
look informative.
"""

ERRORS, POWER = 2.0, 4.0
"""A column is shown to be independent if its pairs are as many as expected, but for so many standard errors.

The table has to be large enough to tell: columns that leave each own value half of their values must be expected to
have fewer pairs, by `POWER` standard errors.
"""

EXPECTED = 5
"""A pair that chance would make so often, and that does not occur, cannot occur."""

MOST_TRIPLES = 20_000_000
"""The most triples of class, own value and row; beyond it, only an even part of the classes is looked at."""

BYTES_PER_ROW, BYTES_PER_CODES, BYTES_PER_HASH = 24, 8, 8
"""The bytes that a different row takes while it is collected: by itself, per quasi-identifier, and per value."""

_LABELS = "effective_labels"
_KEPT, _POOL, _ALL = "class > 0", "class = 0", "TRUE"
"""The classes that an own value is looked for in: the released ones, the suppressed records that are shown, or both."""

_PAIRS = (
    "of_value AS (SELECT l, v, sum(n) AS total FROM effective_pairs GROUP BY ALL), "
    "labels AS (SELECT l, sum(own) AS size, max(own) AS most FROM effective_own GROUP BY l)"
)
"""The records with each value of the column, by the label `l` of the own value, and those with each label."""


def _present(total: str) -> str:
    """The probability that some of `total` records of a label are among the `own` ones, if chance assigns them."""
    left = f"(size - {total})"
    absent = f"exp(lgamma({left} + 1) + lgamma(size - own + 1) - lgamma({left} - own + 1) - lgamma(size + 1))"
    return f"CASE WHEN {left} < own THEN 1 ELSE greatest(0, 1 - {absent}) END"


def _independent(every: str) -> str:
    """Whether the column is shown to be independent, by the values `v` that the condition chooses.

    An own value that most records of its label have cannot be left half of the values: it is no power.
    """
    return (
        f"WITH {_PAIRS}, alike AS ("
        "SELECT l, own, size, count(*) AS times, sum(seen) AS seen FROM effective_own JOIN labels USING (l) "
        f"LEFT JOIN (SELECT l, p, count(*) AS seen FROM effective_pairs WHERE {every} GROUP BY ALL) "
        "USING (l, p) GROUP BY ALL), "
        f"cells AS (SELECT sum(times) AS times, {_present('total')} AS chance, "
        f"if(2 * own <= size, {_present('total')} - {_present('2 * total')} / 2, 0) AS power "
        f"FROM alike JOIN of_value USING (l) WHERE {every} GROUP BY size, own, total), "
        "sums AS (SELECT (SELECT sum(seen) FROM alike) AS seen, sum(times * chance) AS expected, "
        "sum(times * power) AS power, sqrt(sum(times * chance * (1 - chance))) AS error FROM cells) "
        f"SELECT coalesce(seen >= expected - {ERRORS} * error AND power > 0 AND power >= {POWER} * error, false) "
        "FROM sums"
    )


_FITTING_VALUES = (
    "SELECT people.class, people.p, fitting.v, held.n FROM effective_fitting AS fitting "
    "JOIN effective_held AS held USING (v) "
    "JOIN effective_people AS people ON people.class = held.class AND people.p = fitting.p"
)
"""The rows of a class that fit an own value `p`, or do not.

Pairs that never occur are not looked at, so that a column of many values costs no more than its rows.
"""

_MISSING = (
    "SELECT p, v FROM effective_own JOIN (SELECT l, v, total, size FROM of_value JOIN labels USING (l) "
    f"WHERE most * total >= {EXPECTED} * size) USING (l) WHERE own * total >= {EXPECTED} * size "
    "EXCEPT SELECT p, v FROM effective_pairs"
)
"""The pairs that are missing in spite of chance.

Values too rare for the most frequent own value are left out first. Else every value meets every own one.
"""

# Running totals: the number of records with an own value in a range is the difference of two.
_FITTING_RANGES = (
    "own AS (SELECT p, sum(sum(own)) OVER (ORDER BY p) AS upto FROM effective_own GROUP BY p), "
    "of_value AS (SELECT v, p, sum(n) OVER (PARTITION BY v ORDER BY p) AS upto, sum(n) OVER (PARTITION BY v) AS total "
    "FROM effective_pairs), "
    "ranged AS (SELECT people.*, upper.upto - coalesce(lower.upto, 0) AS own FROM effective_people AS people "
    "ASOF JOIN own AS upper ON people.high >= upper.p ASOF LEFT JOIN own AS lower ON people.low > lower.p), "
    "triples AS (SELECT ranged.*, held.v, held.n FROM ranged JOIN effective_held AS held USING (class)), "
    "found AS (SELECT triples.*, upper.upto - coalesce(lower.upto, 0) AS paired, upper.total FROM triples "
    "ASOF LEFT JOIN of_value AS upper ON triples.v = upper.v AND triples.high >= upper.p "
    "ASOF LEFT JOIN of_value AS lower ON triples.v = lower.v AND triples.low > lower.p) "
    "SELECT class, p, v, n FROM found WHERE "
)
"""These queries are for own values that stand for all from `low` to `high`."""


@dataclass(frozen=True, slots=True)
class EffectiveK:
    """The effective k of released columns, with the quasi-identifier `by` that they reveal most about."""

    columns: tuple[AttributePolicy, ...]
    least: int
    by: str


@dataclass(frozen=True, slots=True)
class EffectiveKs:
    """The effective k of columns `singly` and `together`.

    Where people have several records, they are counted: `people` is the least number of different ones in a class.
    """

    singly: tuple[EffectiveK, ...] = ()
    together: EffectiveK | None = None
    people: int | None = None


def effective_ks(rows: WarehouseSession, plan: ReleasePlan, hides: Sequence[bool]) -> EffectiveKs | None:
    """The effective k of every sensitive and insensitive column, and of all unacknowledged insensitive ones together.

    `hides` says for each of the plan's quasi-identifiers whether its labels hide anything; call it after the plan is
    staged. An empty release has none, nor one that hides nothing.

    The different rows of a warehouse are collected: codes, hashes of values, and their numbers of records. If they
    clearly take more than may be collected, nothing is, and the result is None.
    """
    session = rows.embedded
    roles = (Role.INSENSITIVE, Role.SENSITIVE)
    measured = [attribute for attribute in plan.policy.attributes if attribute.role in roles]
    pool = plan.shows_suppressed
    if not measured or not plan.kept_records + pool or not (any(hides) or pool):
        return EffectiveKs()
    if rows.most_collected is not None and _bytes(rows, plan, measured) > rows.most_collected:
        return None
    quasi_identifiers = plan.quasi_identifiers()
    wanted = [j for j, hidden in enumerate(hides) if hidden or pool]
    counted = stage_rows(rows, plan, measured, wanted)
    sizes = OWNED_SIZES if plan.repeating else f"SELECT class, {counted.records} AS size FROM {ROWS} GROUP BY ALL"
    session.stage(SIZES, sizes)
    joint = [i for i, a in enumerate(measured) if a.role is Role.INSENSITIVE and not a.acknowledged]
    singly: dict[int, EffectiveK] = {}
    together: EffectiveK | None = None
    for j in wanted:
        # Suppressed records that are shown have no label: every quasi-identifier of theirs is hidden.
        shown = _ALL if hides[j] and pool else _KEPT if hides[j] else _POOL
        people = _stage_people(session, plan, counted.records, j, shown)
        fits = {i: _stage_fits(session, people, found, i) for i, found in enumerate(counted.columns)}
        for i, attribute in enumerate(measured):
            singly[i] = _lesser(singly.get(i), EffectiveK((attribute,), fits[i].least, quasi_identifiers[j].name))
        if len(joint) > 1:
            telling = {i: fits[i] for i in joint if fits[i].tells}
            least = _jointly(session, people, telling) if len(telling) > 1 else min(fits[i].least for i in joint)
            together = _lesser(
                together, EffectiveK(tuple(measured[i] for i in joint), least, quasi_identifiers[j].name)
            )
        for made in (_LABELS, *(f"effective_{name}" for name in ("people", "own", *(f"fits_{i}" for i in fits)))):
            session.execute(f"DROP TABLE IF EXISTS temp.main.{made}")
    owners = session.value(f"SELECT min(owners) FROM {SIZES} WHERE {_KEPT}") if plan.repeating else None
    drop_rows(session, counted)
    session.execute(f"DROP TABLE temp.main.{SIZES}")
    return EffectiveKs(tuple(singly.values()), together, owners)


def _bytes(rows: WarehouseSession, plan: ReleasePlan, measured: Sequence[AttributePolicy]) -> int:
    """The bytes that the different rows take, by the engine's estimate of their number."""
    labelled = [dictionary.column.name for dictionary in plan.dictionaries]
    columns = [column(name) for name in (*labelled, *(attribute.column for attribute in measured))]
    different = rows.value(exp.select(exp.ApproxDistinct(this=row_hash(*columns))).from_(plan.source.table()))
    return int(different) * (BYTES_PER_ROW + BYTES_PER_CODES * len(labelled) + BYTES_PER_HASH * len(measured))


def _lesser(found: EffectiveK | None, other: EffectiveK) -> EffectiveK:
    return other if found is None or other.least < found.least else found


# --- own values and values of the columns ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _People:
    """The staged own values of quasi-identifier `j`: those of classes for which the condition `looked_at` holds.

    `records` is the aggregate that counts records. Work is bounded by looking at one value of `share` of a column.
    `labelled` adds the label `l` to rows with an own value `p`. Own values are `ordered` or not. `owned`: people have
    several records, and are counted.
    """

    j: int
    records: str
    looked_at: str
    share: int
    labelled: str
    ordered: bool
    owned: bool


def _stage_people(session: Session, plan: ReleasePlan, records: str, j: int, shown: str) -> _People:
    """The own values to look for: a row per class and own value, with the range that the value stands for."""
    released = plan.quasi_identifiers()[j]
    labelled = _stage_labels(session, plan, released)
    session.stage(
        "effective_own",
        f"SELECT l, p, own FROM (SELECT q{j} AS p, {records} AS own FROM {ROWS} GROUP BY ALL) AS counted {labelled}",
    )
    # A class has at least as many triples as rows, or half of the most: no part goes beyond these classes.
    before = f"sum(least(size, {MOST_TRIPLES // 2})) OVER (ORDER BY class ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW)"
    last, looked_at = session.row(
        "SELECT coalesce(max(class), 0), coalesce(sum(size), 0) FROM ("
        f"SELECT class, size FROM {SIZES} WHERE {shown} QUALIFY coalesce({before}, 0) <= {MOST_TRIPLES})"
    )
    session.stage(
        "effective_everybody", f"SELECT DISTINCT class, q{j} AS p FROM {ROWS} WHERE {shown} AND class <= {last}"
    )
    width = "(max(p) - min(p))" if ordered(released) else "0"
    session.stage(
        "effective_people",
        f"WITH classes AS (SELECT class, {width} / 2 AS half, count(*) * any_value(size)::BIGINT AS triples "
        f"FROM effective_everybody JOIN {SIZES} USING (class) GROUP BY class), "
        # The numbers of classes are random. The first one is always looked at, however large it is.
        f"part AS (SELECT *, triples // {MOST_TRIPLES} + 1 AS share FROM classes "
        f"QUALIFY sum(triples // share) OVER (ORDER BY class) - triples // share <= {MOST_TRIPLES}) "
        "SELECT class, p, p - half AS low, p + half AS high FROM effective_everybody JOIN part USING (class) "
        "WHERE hash(class, p) % share::UBIGINT = 0",
    )
    triples, size = session.row(
        f"SELECT (SELECT coalesce(sum(size), 0) FROM effective_everybody JOIN {SIZES} USING (class)), "
        f"(SELECT coalesce(sum(size), 0) FROM {SIZES} WHERE {shown})"
    )
    session.execute("DROP TABLE temp.main.effective_everybody")
    last = session.value("SELECT coalesce(max(class), 0) FROM effective_people")
    # All classes have about as many triples per row as the first ones.
    share = 1 + int(triples) * int(size) // max(int(looked_at), 1) // MOST_TRIPLES
    return _People(j, records, f"{shown} AND class <= {last}", share, labelled, ordered(released), plan.repeating)


def _stage_labels(session: Session, plan: ReleasePlan, released: ReleasedColumn) -> str:
    """The clause that adds to rows with an own value `p` the label `l` that it is under; 0 where it is under none."""
    # Suppressed records that are shown have no label.
    if released.dictionary is None or plan.shows_suppressed:
        return "CROSS JOIN (SELECT 0 AS l)"
    groups = released.dictionary.levels.groups[released.level]
    with session.relation("labels", pa.table({"p": np.arange(len(groups)), "l": groups})):
        session.stage(_LABELS, "SELECT p, l FROM labels")
    return f"JOIN {_LABELS} USING (p)"


@dataclass(frozen=True, slots=True)
class _Fits:
    """A staged table of the rows of a class that fit an own value, or, if `excluding`, of those that do not.

    `least` is the least number of fitting rows, or of people who have them; `tells` if some row does not fit.
    """

    least: int
    tells: bool
    excluding: bool


def _stage_fits(session: Session, people: _People, counted: CountedColumn, i: int) -> _Fits:
    """Finds which rows of a class fit which own values."""
    session.stage(
        "effective_held",
        f"SELECT class, {counted.name} AS v, {people.records} AS n FROM {ROWS} WHERE {people.looked_at} GROUP BY ALL",
    )
    every = counted.every(people.share)
    # Numbered values are few.
    part = f"WHERE {every} OR v IN (SELECT v FROM effective_held)" if people.share > 1 and not counted.codes else ""
    session.stage(
        "effective_pairs",
        f"SELECT l, p, v, n FROM (SELECT q{people.j} AS p, {counted.name} AS v, {people.records} AS n FROM {ROWS} "
        f"{part} GROUP BY ALL) AS counted {people.labelled}",
    )
    fits = (
        f"paired > 0 AND (paired >= {ACCIDENT} * own OR "
        f"paired >= {OF_CHANCE} * own * total / (SELECT {people.records} FROM {ROWS}))"
    )
    independent = not people.ordered and bool(session.value(_independent(every)))
    if people.ordered:
        session.stage(f"effective_fits_{i}", f"WITH {_FITTING_RANGES}{fits}")
    else:
        # Often few pairs are left: DuckDB joins them well if it knows how many.
        session.stage("effective_fitting", f"WITH {_PAIRS} {_telling_pairs(fits, independent=independent)}")
        session.stage(f"effective_fits_{i}", _FITTING_VALUES)
        session.execute("DROP TABLE temp.main.effective_fitting")
    for made in ("held", "pairs"):
        session.execute(f"DROP TABLE temp.main.effective_{made}")
    left = "size - coalesce(found, 0)" if independent else "coalesce(found, 0)"
    found = f"SELECT class, p, sum(n) AS found FROM effective_fits_{i} GROUP BY ALL"
    return _Fits(*_left(session, people, found, left, {i: independent}), independent)


def _left(session: Session, people: _People, found: str, left: str, excluding: Mapping[int, bool]) -> tuple[int, bool]:
    """The least number of rows, or of their people, that are left of a class, and whether any row ever is not.

    `left` is the number of rows by what was `found` of class and own value.
    """
    rows = (
        f"SELECT class, p, size, {left} AS rows_left FROM effective_people LEFT JOIN ({found}) USING (class, p) "
        f"JOIN {SIZES} USING (class)"
    )
    if people.owned:
        return least_owners(session, rows, excluding)
    least, tells = session.row(f"SELECT min(greatest(1, rows_left)), bool_or(rows_left < size) FROM ({rows})")
    return int(least or 1), bool(tells)


def _telling_pairs(fits: str, *, independent: bool) -> str:
    """The pairs of own values and values of the column that fit, or, of independent columns, that do not."""
    pairs = (
        "SELECT p, v FROM (SELECT p, v, n AS paired, own, total FROM effective_pairs "
        "JOIN (SELECT p, own FROM effective_own) USING (p) "
        "JOIN (SELECT v, sum(total) AS total FROM of_value GROUP BY v) USING (v))"
    )
    return f"{pairs} WHERE NOT ({fits}) UNION ALL ({_MISSING})" if independent else f"{pairs} WHERE {fits}"


def _jointly(session: Session, people: _People, telling: Mapping[int, _Fits]) -> int:
    """The least number of rows, or of their people, that fit in all of these columns."""
    values = ", ".join(f"v{i}" for i in telling)
    excluding = {i: fits.excluding for i, fits in telling.items()}
    found = (
        "SELECT people.class, people.p, sum(held.n) AS found FROM effective_people AS people "
        f"JOIN (SELECT class, {values}, {people.records} AS n FROM {ROWS} WHERE {people.looked_at} GROUP BY ALL) "
        f"AS held USING (class) {fitting(excluding)} GROUP BY ALL"
    )
    return _left(session, people, found, "coalesce(found, 0)", excluding)[0]
