"""How many records a released column leaves for each person: the effective k of columns released unchanged.

An attacker who knows a person's own value of a quasi-identifier looks for it among the released rows of the person's
class. The attacker leaves out rows with a value of the column that never occurs in the source together with that own
value. The remaining rows are counted; the least count over quasi-identifiers and records is the column's effective k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, conjunction, number, row_hash, table
from tableveil.counting.base import joined_code, joined_value, summed
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

MOST_TRIPLES = 20_000_000
"""The most triples of class, own value and value of the column; beyond it, only an even part of the records is used."""

_ROWS = "effective_rows"
_KEPT, _POOL = range(2)

_FITTING_VALUES = (
    "SELECT people.class, people.p, fitting.v, held.n FROM fitting JOIN held USING (v) "
    "JOIN effective_people AS people ON people.class = held.class AND people.p = fitting.p"
)
"""The rows of a class that fit an own value `p`.

Pairs that never occur are not looked at, so that a column of many values costs no more than its rows.
"""

# Running totals: the number of records with an own value in a range is the difference of two.
_FITTING_RANGES = (
    "own AS (SELECT p, sum(sum(n)) OVER (ORDER BY p) AS upto FROM pairs GROUP BY p), "
    "of_value AS (SELECT v, p, sum(n) OVER (PARTITION BY v ORDER BY p) AS upto, sum(n) OVER (PARTITION BY v) AS total "
    "FROM pairs), "
    "ranged AS (SELECT people.*, upper.upto - coalesce(lower.upto, 0) AS own FROM effective_people AS people "
    "ASOF JOIN own AS upper ON people.high >= upper.p ASOF LEFT JOIN own AS lower ON people.low > lower.p), "
    "triples AS (SELECT ranged.*, held.v, held.n FROM ranged JOIN held USING (class)), "
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
    session: Session, plan: ReleasePlan, hides: Sequence[bool]
) -> tuple[list[EffectiveK], EffectiveK | None]:
    """The effective k of every sensitive and insensitive column, and of all unacknowledged insensitive ones together.

    `hides` says for each of the plan's quasi-identifiers whether its labels hide anything; call it after the plan is
    staged. An empty release has none, nor one that hides nothing.
    """
    roles = (Role.INSENSITIVE, Role.SENSITIVE)
    measured = [attribute for attribute in plan.policy.attributes if attribute.role in roles]
    pool = plan.shows_suppressed
    if not measured or not plan.kept_records + pool or not (any(hides) or pool):
        return [], None
    _stage_rows(session, plan, measured)
    joint = [i for i, a in enumerate(measured) if a.role is Role.INSENSITIVE and not a.acknowledged]
    singly: dict[int, EffectiveK] = {}
    together: EffectiveK | None = None
    for j, (released, hidden) in enumerate(zip(plan.quasi_identifiers(), hides, strict=True)):
        if not hidden and not pool:
            continue
        # Suppressed records that are shown have no label: every quasi-identifier of theirs is hidden.
        shown = f"({_KEPT}, {_POOL})" if hidden and pool else f"({_KEPT})" if hidden else f"({_POOL})"
        _stage_people(session, j, shown, "(max(p) - min(p))" if _ordered(released) else "0")
        leasts, telling = {}, []
        for i, attribute in enumerate(measured):
            leasts[i], excluded = _stage_fits(session, j, i, shown, _ordered(released))
            singly[i] = _lesser(singly.get(i), EffectiveK((attribute,), leasts[i], released.name))
            telling += [i] if excluded and i in joint else []
        if len(joint) > 1:
            least = _jointly(session, shown, telling) if len(telling) > 1 else min(leasts[i] for i in joint)
            together = _lesser(together, EffectiveK(tuple(measured[i] for i in joint), least, released.name))
        for made in ("people", *(f"fits_{i}" for i in range(len(measured)))):
            session.execute(f"DROP TABLE temp.main.effective_{made}")
    session.execute(f"DROP TABLE temp.main.{_ROWS}")
    return list(singly.values()), together


def _lesser(found: EffectiveK | None, other: EffectiveK) -> EffectiveK:
    return other if found is None or other.least < found.least else found


def _ordered(released: ReleasedColumn) -> bool:
    """Whether its values are aggregated and have places on a scale."""
    return released.aggregated is not None and released.aggregated.values.aggregation.scale is not Scale.NOMINAL


# --- the rows by class, own values and values of the columns --------------------------------------------------------


def _stage_rows(session: Session, plan: ReleasePlan, measured: Sequence[AttributePolicy]) -> None:
    """A table of the source's rows: `class`, how it is `shown`, own values `q<j>` and hashed values `v<i>`."""
    values = [alias(row_hash(column(a.column, "source")), f"v{i}") for i, a in enumerate(measured)]
    if plan.aggregated is not None and plan.aggregated.members is not None:
        query = _clustered(session, plan, plan.aggregated.members, measured)
    else:
        query = _labelled(session, plan).select(*values)
    session.stage(_ROWS, query)
    session.execute("DROP TABLE IF EXISTS temp.main.effective_kept")
    for j, released in enumerate(plan.quasi_identifiers()):
        if released.aggregated is not None and _ordered(released):
            _place(session, j, released.aggregated)


def _labelled(session: Session, plan: ReleasePlan) -> exp.Select:
    query = exp.select().from_(plan.source.table("source"))
    own, labels = {}, []
    words: list[list[exp.Expr]] = [[cast(number(0), "BIGINT")] for _ in range(plan.classes.layout.words)]
    for j, dictionary in enumerate(plan.dictionaries):
        query, own[dictionary.column.name] = joined_code(query, dictionary, "source", f"d{j}", 0)
        groups = {
            level: joined_code(exp.select(), dictionary, "source", f"d{j}", level)[1]
            for level in {*plan.levels_of(j), plan.classes.at[j]}
        }
        part = exp.Mul(
            this=cast(groups[plan.classes.at[j]], "BIGINT"), expression=number(plan.classes.layout.stride[j])
        )
        words[plan.classes.layout.word[j]].append(part)
        labels.append(label_at_own_level(groups, j) if plan.own_levels is not None else groups[plan.classes.at[j]])
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
        with session.relation("keys", pa.table(keys)):
            session.stage("effective_kept", "SELECT * FROM keys")
        same = (exp.EQ(this=column(f"w{w}", "effective_kept"), expression=summed(word)) for w, word in enumerate(words))
        query = query.join(table("effective_kept"), on=conjunction(same), join_type="LEFT")
        kept = column("w0", "effective_kept").is_(exp.null()).not_()
    withheld = [column(d.column.name, "source").is_(exp.null()) for d in plan.dictionaries if d.withholds]
    released = conjunction([kept, *(exp.Not(this=condition) for condition in withheld)])
    # Suppressed records are one more class.
    class_ = exp.Case(ifs=[exp.If(this=released, true=row_hash(*labels))], default=cast(number(0), "UBIGINT"))
    shown = exp.Case(ifs=[exp.If(this=released.copy(), true=number(_KEPT))], default=number(_POOL))
    return query.select(alias(class_, "class"), alias(shown, "shown"), *_own(plan, own))


def _own(plan: ReleasePlan, own: Mapping[str, exp.Expr]) -> list[exp.Expr]:
    names = [released.name for released in plan.quasi_identifiers()]
    return [alias(cast(own[name].copy(), "DOUBLE"), f"q{j}") for j, name in enumerate(names)]


def _clustered(
    session: Session, plan: ReleasePlan, members: Members, measured: Sequence[AttributePolicy]
) -> exp.Select:
    query, positions = clustered_rows(plan, members, split(session))
    own = {found.column.name: column(f"c{i}", "rows") for i, found in enumerate(plan.aggregated_columns)}
    values = [row_hash(column(f"v{positions[a.column]}", "rows")) for a in measured]
    return query.select(
        alias(row_hash(column("class", MEMBERS)), "class"),
        alias(number(_KEPT), "shown"),
        *_own(plan, own),
        *(alias(value, f"v{i}") for i, value in enumerate(values)),
    )


def _place(session: Session, j: int, aggregated: AggregatedDictionary) -> None:
    """Codes of ordered values are replaced by their positions, which give a class its width."""
    positions = aggregated.values.positions
    codes = pa.table({"code": pa.array(range(len(positions))), "position": pa.array(positions)})
    with session.relation("positions", codes):
        session.execute(f"UPDATE temp.main.{_ROWS} SET q{j} = position FROM positions WHERE q{j} = code")


def _stage_people(session: Session, j: int, shown: str, width: str) -> None:
    """The own values to look for: a row per class and own value, with the range that the value stands for."""
    session.stage(
        "effective_people",
        "WITH people AS ("
        f"SELECT class, q{j} AS p, count(*) AS n FROM {_ROWS} WHERE shown IN {shown} GROUP BY ALL), "
        f"classes AS (SELECT class, {width} / 2 AS half, count(*) * sum(n) AS triples FROM people GROUP BY class) "
        "SELECT class, p, p - half AS low, p + half AS high FROM people JOIN classes USING (class) "
        f"WHERE hash(class, p) % (1 + (SELECT sum(triples) FROM classes) // {MOST_TRIPLES})::UBIGINT = 0",
    )


def _stage_fits(session: Session, j: int, i: int, shown: str, ordered: bool) -> tuple[int, bool]:
    """Which rows of a class fit which own values; the least number of fitting rows, and whether any do not fit."""
    fits = (
        f"paired > 0 AND (paired >= {ACCIDENT} * own OR "
        f"paired >= {OF_CHANCE} * own * total / (SELECT count(*) FROM {_ROWS}))"
    )
    counted = (
        "fitting AS (SELECT p, v FROM (SELECT p, v, n AS paired, sum(n) OVER (PARTITION BY p) AS own, "
        f"sum(n) OVER (PARTITION BY v) AS total FROM pairs) WHERE {fits}) "
    )
    session.stage(
        f"effective_fits_{i}",
        f"WITH pairs AS (SELECT q{j} AS p, v{i} AS v, count(*) AS n FROM {_ROWS} GROUP BY ALL), "
        f"held AS (SELECT class, v{i} AS v, count(*) AS n FROM {_ROWS} WHERE shown IN {shown} GROUP BY ALL), "
        + (f"{_FITTING_RANGES}{fits}" if ordered else f"{counted}{_FITTING_VALUES}"),
    )
    least, excluded = session.row(
        "SELECT min(greatest(1, coalesce(rows_left, 0))), bool_or(coalesce(rows_left, 0) < size) "
        f"FROM effective_people LEFT JOIN (SELECT class, p, sum(n) AS rows_left FROM effective_fits_{i} GROUP BY ALL) "
        f"USING (class, p) JOIN (SELECT class, count(*) AS size FROM {_ROWS} WHERE shown IN {shown} GROUP BY class) "
        "USING (class)"
    )
    return int(least or 1), bool(excluded)


def _jointly(session: Session, shown: str, telling: Sequence[int]) -> int:
    """The least number of rows that fit in all of these columns."""
    values = ", ".join(f"v{i}" for i in telling)
    fits = " ".join(
        f"JOIN effective_fits_{i} AS f{i} ON f{i}.class = people.class AND f{i}.p = people.p AND f{i}.v = held.v{i}"
        for i in telling
    )
    least: int = session.value(
        "SELECT greatest(1, coalesce(min(coalesce(rows_left, 0)), 0)) FROM effective_people LEFT JOIN ("
        "SELECT people.class, people.p, sum(held.n) AS rows_left FROM effective_people AS people "
        f"JOIN (SELECT class, {values}, count(*) AS n FROM {_ROWS} WHERE shown IN {shown} GROUP BY ALL) AS held "
        f"USING (class) {fits} GROUP BY ALL) USING (class, p)"
    )
    return int(least)
