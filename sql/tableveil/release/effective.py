"""How many records a released column leaves for each person: the effective k of columns released unchanged.

An attacker who knows a person's own value of a quasi-identifier looks for it among the released rows of the person's
class. The attacker leaves out rows with a value of the column that never occurs in the source together with that own
value. The remaining rows are counted; the least count over quasi-identifiers and records is the column's effective k.

A rare own value occurs with few values of any column, which says nothing if the column is independent. So a column that
is shown to be independent of the values under a label leaves out only what is missing in spite of chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    conjunction,
    number,
    row_hash,
    table,
)
from tableveil.counting.base import code_type, joined_code, joined_value, summed
from tableveil.dictionary import AggregatedDictionary
from tableveil.policy import AttributePolicy, Role, Scale
from tableveil.release.aggregated import split
from tableveil.release.own_levels import label_at_own_level
from tableveil.release.plan import Members, ReleasedColumn, ReleasePlan
from tableveil.release.write import clustered_rows
from tableveil.verification.written import MEMBERS, OWN_LEVELS

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

_ROWS = "effective_rows"
_SIZES = "effective_sizes"
_KEPT, _POOL = range(2)

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


def _independent(share: int) -> str:
    """Whether the column is shown to be independent, by one of `share` values.

    An own value that most records of its label have cannot be left half of the values: it is no power.
    """
    return (
        f"WITH {_PAIRS}, alike AS ("
        "SELECT l, own, size, count(*) AS times, sum(seen) AS seen FROM effective_own JOIN labels USING (l) "
        f"LEFT JOIN (SELECT l, p, count(*) AS seen FROM effective_pairs WHERE v % {share} = 0 GROUP BY ALL) "
        "USING (l, p) GROUP BY ALL), "
        f"cells AS (SELECT sum(times) AS times, {_present('total')} AS chance, "
        f"if(2 * own <= size, {_present('total')} - {_present('2 * total')} / 2, 0) AS power "
        f"FROM alike JOIN of_value USING (l) WHERE v % {share} = 0 GROUP BY size, own, total), "
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


def effective_ks(
    rows: WarehouseSession, plan: ReleasePlan, hides: Sequence[bool]
) -> tuple[list[EffectiveK], EffectiveK | None] | None:
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
        return [], None
    if rows.most_collected is not None and _bytes(rows, plan, measured) > rows.most_collected:
        return None
    records = _stage_rows(rows, plan, measured)
    session.stage(_SIZES, f"SELECT class, shown, {records} AS size FROM {_ROWS} GROUP BY ALL")
    joint = [i for i, a in enumerate(measured) if a.role is Role.INSENSITIVE and not a.acknowledged]
    singly: dict[int, EffectiveK] = {}
    together: EffectiveK | None = None
    for j, (released, hidden) in enumerate(zip(plan.quasi_identifiers(), hides, strict=True)):
        if not hidden and not pool:
            continue
        # Suppressed records that are shown have no label: every quasi-identifier of theirs is hidden.
        shown = f"({_KEPT}, {_POOL})" if hidden and pool else f"({_KEPT})" if hidden else f"({_POOL})"
        share = _stage_people(session, records, j, shown, "(max(p) - min(p))" if _ordered(released) else "0")
        fits = {i: _stage_fits(session, records, j, i, shown, share, _ordered(released)) for i in range(len(measured))}
        for i, attribute in enumerate(measured):
            singly[i] = _lesser(singly.get(i), EffectiveK((attribute,), fits[i].least, released.name))
        if len(joint) > 1:
            telling = {i: fits[i] for i in joint if fits[i].tells}
            least = (
                _jointly(session, records, shown, telling) if len(telling) > 1 else min(fits[i].least for i in joint)
            )
            together = _lesser(together, EffectiveK(tuple(measured[i] for i in joint), least, released.name))
        for made in ("people", "own", *(f"fits_{i}" for i in range(len(measured)))):
            session.execute(f"DROP TABLE temp.main.effective_{made}")
    for made in (_ROWS, _SIZES):
        session.execute(f"DROP TABLE temp.main.{made}")
    return list(singly.values()), together


def _bytes(rows: WarehouseSession, plan: ReleasePlan, measured: Sequence[AttributePolicy]) -> int:
    """The bytes that the different rows take, by the engine's estimate of their number."""
    labelled = [dictionary.column.name for dictionary in plan.dictionaries]
    columns = [column(name) for name in (*labelled, *(attribute.column for attribute in measured))]
    different = rows.value(exp.select(exp.ApproxDistinct(this=row_hash(*columns))).from_(plan.source.table()))
    return int(different) * (BYTES_PER_ROW + BYTES_PER_CODES * len(labelled) + BYTES_PER_HASH * len(measured))


def _lesser(found: EffectiveK | None, other: EffectiveK) -> EffectiveK:
    return other if found is None or other.least < found.least else found


def _ordered(released: ReleasedColumn) -> bool:
    """Whether its values are aggregated and have places on a scale."""
    return released.aggregated is not None and released.aggregated.values.aggregation.scale is not Scale.NOMINAL


# --- the rows by class, own values and values of the columns --------------------------------------------------------


def _stage_rows(rows: WarehouseSession, plan: ReleasePlan, measured: Sequence[AttributePolicy]) -> str:
    """A table of rows: `class`, how it is `shown`, own values `q<j>` under labels `l<j>`, hashed values `v<i>`.

    Rows of a warehouse are different ones, and `n` is their number of records. Returns the aggregate that counts
    records.
    """
    session = rows.embedded
    values = [alias(row_hash(column(a.column, "source")), f"v{i}") for i, a in enumerate(measured)]
    if plan.aggregated is not None and plan.aggregated.members is not None:
        query = _clustered(session, plan, plan.aggregated.members, measured)
    else:
        query = _labelled(rows, plan).select(*values)
    found: exp.Expr
    names, found, records = [named.alias for named in query.expressions], query.subquery("rows"), "count(*)"
    if session is not rows:
        columns = [column(name) for name in names]
        counted = exp.select(*columns, alias(exp.Count(this=exp.Star()), "n")).from_(found)
        counted = counted.group_by(*(each.copy() for each in columns))
        names, found, records = [*names, "n"], collected(rows, "effective_collected", counted), "sum(n)::BIGINT"
    # Suppressed records are one more class. Only here: no type of Spark's has all hashes of DuckDB's.
    class_ = exp.Coalesce(this=column("class"), expressions=[number(0)])
    session.stage(
        _ROWS, exp.select(alias(class_, "class"), *(column(name) for name in names if name != "class")).from_(found)
    )
    session.execute("DROP TABLE IF EXISTS temp.main.effective_kept")
    for j, released in enumerate(plan.quasi_identifiers()):
        if released.aggregated is not None and _ordered(released):
            _place(session, j, released.aggregated)
    return records


def _labelled(session: WarehouseSession, plan: ReleasePlan) -> exp.Select:
    query = exp.select().from_(plan.source.table("source"))
    own, labels, under = {}, [], {}
    words: list[list[exp.Expr]] = [[cast(number(0), "BIGINT")] for _ in range(plan.classes.layout.words)]
    for j, dictionary in enumerate(plan.dictionaries):
        query, own[dictionary.column.name] = joined_code(query, dictionary, "source", f"d{j}", 0)
        groups = {
            level: joined_code(exp.select(), dictionary, "source", f"d{j}", level)[1]
            for level in {*plan.levels_of(j), plan.classes.at[j], plan.transformation[j]}
        }
        # Suppressed records that are shown have no label.
        if not plan.shows_suppressed:
            under[dictionary.column.name] = groups[plan.transformation[j]].copy()
        part = exp.Mul(
            this=cast(groups[plan.classes.at[j]], "BIGINT"), expression=number(plan.classes.layout.stride[j])
        )
        words[plan.classes.layout.word[j]].append(part)
        labels.append(label_at_own_level(groups, j) if plan.own_levels is not None else groups[plan.classes.at[j]])
    if plan.earlier is not None:
        # Rows are told apart by their earlier classes, too.
        attribute, layout = len(plan.dictionaries), plan.classes.layout
        query, combination = plan.earlier.joined(query, "source", "earlier")
        words[layout.word[attribute]].append(
            exp.Mul(this=cast(combination, "BIGINT"), expression=number(layout.stride[attribute]))
        )
        labels.append(combination.copy())
    for j, aggregated in enumerate(plan.aggregated_columns):
        query, own[aggregated.column.name] = joined_value(query, aggregated, "source", f"a{j}")
    if plan.own_levels is not None:
        same = (
            exp.EQ(this=column(f"c{j}", OWN_LEVELS), expression=own[d.column.name].copy())
            for j, d in enumerate(plan.dictionaries)
        )
        query = query.join(table(OWN_LEVELS), on=conjunction(same), join_type="LEFT")
        # Each level reads its group numbers from another column.
        labels = [part for j, label in enumerate(labels) for part in (column(f"l{j}", OWN_LEVELS), label)]
        kept = column("l0", OWN_LEVELS).is_(exp.null()).not_()
    else:
        keys = {f"w{w}": pa.array(found[plan.kept]) for w, found in enumerate(plan.classes.words)}
        with session.embedded.relation("keys", pa.table(keys)):
            session.embedded.stage("effective_kept", "SELECT * FROM keys")
        session.lend("effective_kept")
        same = (exp.EQ(this=column(f"w{w}", "effective_kept"), expression=summed(word)) for w, word in enumerate(words))
        query = query.join(table("effective_kept"), on=conjunction(same), join_type="LEFT")
        kept = column("w0", "effective_kept").is_(exp.null()).not_()
    withheld = [column(d.column.name, "source").is_(exp.null()) for d in plan.dictionaries if d.withholds]
    released = conjunction([kept, *(exp.Not(this=condition) for condition in withheld)])
    class_ = exp.Case(ifs=[exp.If(this=released, true=row_hash(*labels))])
    shown = cast(exp.Case(ifs=[exp.If(this=released.copy(), true=number(_KEPT))], default=number(_POOL)), "UTINYINT")
    return query.select(alias(class_, "class"), alias(shown, "shown"), *_own(plan, own, under))


def _own(plan: ReleasePlan, own: Mapping[str, exp.Expr], under: Mapping[str, exp.Expr]) -> Iterator[exp.Expr]:
    """The own values, and the labels that they are under in the release; 0 where they are under none."""
    for j, released in enumerate(plan.quasi_identifiers()):
        type_ = "DOUBLE" if _ordered(released) else "INTEGER"
        if released.dictionary is not None:
            # The table of rows spills: wide codes would be most of it.
            type_ = code_type(len(released.dictionary.levels.groups[0]))
        yield alias(cast(own[released.name].copy(), type_), f"q{j}")
        yield alias(cast(under.get(released.name, number(0)), type_), f"l{j}")


def _clustered(
    session: Session, plan: ReleasePlan, members: Members, measured: Sequence[AttributePolicy]
) -> exp.Select:
    query, positions = clustered_rows(plan, members, split(session))
    own = {found.column.name: column(f"c{i}", "rows") for i, found in enumerate(plan.aggregated_columns)}
    values = [row_hash(column(f"v{positions[a.column]}", "rows")) for a in measured]
    return query.select(
        alias(row_hash(column("class", MEMBERS)), "class"),
        alias(number(_KEPT), "shown"),
        *_own(plan, own, {}),
        *(alias(value, f"v{i}") for i, value in enumerate(values)),
    )


def _place(session: Session, j: int, aggregated: AggregatedDictionary) -> None:
    """Codes of ordered values are replaced by their positions, which give a class its width."""
    positions = aggregated.values.positions
    codes = pa.table({"code": pa.array(range(len(positions))), "position": pa.array(positions)})
    with session.relation("positions", codes):
        session.execute(f"UPDATE temp.main.{_ROWS} SET q{j} = position FROM positions WHERE q{j} = code")


def _stage_people(session: Session, records: str, j: int, shown: str, width: str) -> int:
    """The own values to look for: a row per class and own value, with the range that the value stands for.

    Returns the number of values of a column of which one has to be looked at, so that work is bounded.
    """
    session.stage("effective_own", f"SELECT l{j} AS l, q{j} AS p, {records} AS own FROM {_ROWS} GROUP BY ALL")
    # A class has at least as many triples as rows, or half of the most: no part goes beyond these classes.
    before = f"sum(least(size, {MOST_TRIPLES // 2})) OVER (ORDER BY class ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW)"
    session.stage(
        "effective_first",
        f"SELECT class, size FROM {_SIZES} WHERE shown IN {shown} QUALIFY coalesce({before}, 0) <= {MOST_TRIPLES}",
    )
    session.stage(
        "effective_everybody",
        f"SELECT class, q{j} AS p, {records} AS n FROM {_ROWS} SEMI JOIN effective_first USING (class) "
        f"WHERE shown IN {shown} GROUP BY ALL",
    )
    session.stage(
        "effective_people",
        f"WITH classes AS (SELECT class, {width} / 2 AS half, count(*) * sum(n)::BIGINT AS triples "
        "FROM effective_everybody GROUP BY class), "
        # Classes are hashes: their order is random. The first one is always looked at, however large it is.
        f"part AS (SELECT *, triples // {MOST_TRIPLES} + 1 AS share FROM classes "
        f"QUALIFY sum(triples // share) OVER (ORDER BY class) - triples // share <= {MOST_TRIPLES}) "
        "SELECT class, p, p - half AS low, p + half AS high FROM effective_everybody JOIN part USING (class) "
        "WHERE hash(class, p) % share::UBIGINT = 0",
    )
    triples, looked_at, size = session.row(
        "SELECT coalesce(sum(triples), 0), (SELECT coalesce(sum(size), 0) FROM effective_first), "
        f"(SELECT coalesce(sum(size), 0) FROM {_SIZES} WHERE shown IN {shown}) FROM "
        "(SELECT count(*) * sum(n) AS triples FROM effective_everybody GROUP BY class)"
    )
    for made in ("first", "everybody"):
        session.execute(f"DROP TABLE temp.main.effective_{made}")
    # All classes have about as many triples per row as the first ones.
    return 1 + int(triples) * int(size) // max(int(looked_at), 1) // MOST_TRIPLES


@dataclass(frozen=True, slots=True)
class _Fits:
    """A staged table of the rows of a class that fit an own value, or, if `excluding`, of those that do not.

    `least` is the least number of fitting rows; `tells` if some row does not fit.
    """

    least: int
    tells: bool
    excluding: bool


def _stage_fits(session: Session, records: str, j: int, i: int, shown: str, share: int, ordered: bool) -> _Fits:
    """Finds which rows of a class fit which own values."""
    session.stage(
        "effective_held",
        f"SELECT class, v{i} AS v, {records} AS n FROM {_ROWS} SEMI JOIN effective_people USING (class) "
        f"WHERE shown IN {shown} GROUP BY ALL",
    )
    session.stage(
        "effective_pairs",
        f"SELECT l{j} AS l, q{j} AS p, v{i} AS v, {records} AS n FROM {_ROWS} "
        + (f"WHERE v % {share} = 0 OR v IN (SELECT v FROM effective_held) " if share > 1 else "")
        + "GROUP BY ALL",
    )
    fits = (
        f"paired > 0 AND (paired >= {ACCIDENT} * own OR "
        f"paired >= {OF_CHANCE} * own * total / (SELECT {records} FROM {_ROWS}))"
    )
    independent = not ordered and bool(session.value(_independent(share)))
    if ordered:
        session.stage(f"effective_fits_{i}", f"WITH {_FITTING_RANGES}{fits}")
    else:
        # Often few pairs are left: DuckDB joins them well if it knows how many.
        session.stage("effective_fitting", f"WITH {_PAIRS} {_telling_pairs(fits, independent=independent)}")
        session.stage(f"effective_fits_{i}", _FITTING_VALUES)
        session.execute("DROP TABLE temp.main.effective_fitting")
    for made in ("held", "pairs"):
        session.execute(f"DROP TABLE temp.main.effective_{made}")
    left = "size - coalesce(found, 0)" if independent else "coalesce(found, 0)"
    least, tells = session.row(
        f"SELECT min(greatest(1, {left})), bool_or({left} < size) "
        f"FROM effective_people LEFT JOIN (SELECT class, p, sum(n) AS found FROM effective_fits_{i} GROUP BY ALL) "
        f"USING (class, p) JOIN (SELECT class, size FROM {_SIZES} WHERE shown IN {shown}) USING (class)"
    )
    return _Fits(int(least or 1), bool(tells), independent)


def _telling_pairs(fits: str, *, independent: bool) -> str:
    """The pairs of own values and values of the column that fit, or, of independent columns, that do not."""
    pairs = (
        "SELECT p, v FROM (SELECT p, v, n AS paired, own, total FROM effective_pairs "
        "JOIN (SELECT p, own FROM effective_own) USING (p) "
        "JOIN (SELECT v, sum(total) AS total FROM of_value GROUP BY v) USING (v))"
    )
    return f"{pairs} WHERE NOT ({fits}) UNION ALL ({_MISSING})" if independent else f"{pairs} WHERE {fits}"


def _jointly(session: Session, records: str, shown: str, telling: Mapping[int, _Fits]) -> int:
    """The least number of rows that fit in all of these columns."""
    values = ", ".join(f"v{i}" for i in telling)
    fits = " ".join(
        f"{'ANTI' if found.excluding else ''} JOIN effective_fits_{i} AS f{i} "
        f"ON f{i}.class = people.class AND f{i}.p = people.p AND f{i}.v = held.v{i}"
        for i, found in telling.items()
    )
    least: int = session.value(
        "SELECT greatest(1, coalesce(min(coalesce(rows_left, 0)), 0)) FROM effective_people LEFT JOIN ("
        "SELECT people.class, people.p, sum(held.n) AS rows_left FROM effective_people AS people "
        f"JOIN (SELECT class, {values}, {records} AS n FROM {_ROWS} WHERE shown IN {shown} GROUP BY ALL) AS held "
        f"USING (class) {fits} GROUP BY ALL) USING (class, p)"
    )
    return int(least)
