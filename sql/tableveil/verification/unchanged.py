"""Checks columns that are released unchanged: what they determine, and how many rows of a class they leave.

The classes are those of the written rows; whose labels these are, and which values go together, the source shows. Where
people have several records, the rows have to be those of enough different people.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

from tableveil.policy import Role
from tableveil.verification.coded import Codes, HeldRows, OwnCodes, Records, ValueCodes, places_in, ranks
from tableveil.verification.derived import least_of_two
from tableveil.verification.left import ClassPeople, Rule, determines, least_of_one, rule_of, share_among_few
from tableveil.verification.owners import stage_records
from tableveil.verification.text import near, quoted
from tableveil.verification.written import OWN_LEVELS, Judged, Written

MOST_CODED = 1_000_000
"""Up to so many records show what goes together; in a larger table, the first ones, and a part of the classes."""

WHOLE = 0.6
"""A sensitive column follows as a whole, beyond doubt, if it leaves this share of the people among few."""

POOL = -1

_EXACT = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE")
"""Types whose numbers are those of their texts, which are found in longer time."""


def check_unchanged(judged: Judged, *, own_levels: bool = False) -> list[str]:
    """Whether unacknowledged columns determine nothing, and leave k rows: a sensitive one for most people at least.

    Where people have several records, these have to be rows of k people. `judged_classes` has the classes, `owned`
    their people. The different rows of a warehouse are collected, with hashes of these columns' values. With
    `own_levels`, it needs the tables of `read_own_levels`. Aggregated columns are not looked at again.
    """
    policy, written, k = judged.policy, judged.written, judged.policy.k
    shown = [a for a in policy.attributes if not a.acknowledged and a.role in (Role.INSENSITIVE, Role.SENSITIVE)]
    names = [a.column for a in sorted(shown, key=lambda a: a.role is Role.SENSITIVE)]
    insensitive = sum(a.role is Role.INSENSITIVE for a in shown) if k is not None else 0
    pooled = bool(judged.session.embedded.value("SELECT count(*) FROM judged_classes WHERE pool"))
    hiding = [j for j, labels in enumerate(written.labels) if labels.level or pooled or own_levels]
    if not names or not hiding:
        return []
    parts = 1 + (judged.source_records - 1) // MOST_CODED
    # More records are not looked at for numbers, which take a third of the time to stage.
    numbers = not judged.session.traits.collects and parts == 1 and insensitive > 0
    records, held = _read(judged, names, parts, pooled=pooled, own_levels=own_levels, numbers=numbers)
    determined = sum(any(determines(records, j, i) for j in hiding) for i, _ in enumerate(names))
    problems = [f"{determined} columns determine what labels hide"] if determined else []
    if k is None:
        return problems
    rules = [rule for j in hiding for i, _ in enumerate(names) if (rule := rule_of(records, j, i)) is not None]
    if insensitive:
        first = replace(records, values=records.values[:insensitive])
        least = _least_of_one(judged, first, held, [rule for rule in rules if rule.i < insensitive], names, own_levels)
        least = min(least, least_of_two(first, held, hiding, k))
        left = f"rows of {least} people" if written.person else f"{least} rows"
        problems += [f"unchanged columns leave {left} of a class, fewer than k = {k}"] if least < k else []
    sensitive = (rule for rule in rules if rule.i >= insensitive)
    whole = {rule.i for rule in sensitive if share_among_few(records, held, rule, k) >= WHOLE}
    return [
        *problems,
        *([f"{len(whole)} sensitive columns follow from quasi-identifiers, for most people"] * bool(whole)),
    ]


def _least_of_one(
    judged: Judged, records: Records, held: HeldRows, rules: Sequence[Rule], names: Sequence[str], own_levels: bool
) -> int:
    """The least number of rows of a class, or people whose they are, that one quasi-identifier leaves, up to k."""
    session, written, k, owned = judged.session.embedded, judged.written, judged.policy.k or 0, None
    names = names[: len(records.values)]
    if rules and written.person and len(held.numbers):
        arrays = session.arrays("SELECT class, size, people, most FROM owned ORDER BY class")
        at = np.searchsorted(arrays["class"], held.numbers)
        owned = ClassPeople(*(arrays[name][at].astype(np.int64) for name in ("size", "people", "most")))

    @cache
    def hold() -> None:
        columns = {"w": f"hash(p.{quoted(written.person)})"}
        columns |= {f"v{i}": _value(name, f"p.{quoted(name)}", written) for i, name in enumerate(names)}
        stage_records(session, judged.policy, "held_by", columns, written, own_levels=own_levels)

    def held_by(classes: Codes) -> tuple[HeldRows, Codes]:
        hold()
        values = ", ".join(f"v{i}" for i, _ in enumerate(names))
        with session.relation("few", pa.table({"class": classes})):
            arrays = session.arrays(
                f"SELECT DISTINCT class, w, {values} FROM held_by WHERE class IN (SELECT class FROM few) ORDER BY class"
            )
        return HeldRows.of(arrays, records.values), ranks(arrays["w"])

    of_each = ([rule for rule in rules if rule.j == j] for j in sorted({rule.j for rule in rules}))
    least = min((least_of_one(records, held, some, k, owned, held_by) for some in of_each), default=k)
    session.execute("DROP TABLE IF EXISTS temp.main.held_by")
    return least


def _read(
    judged: Judged, names: Sequence[str], parts: int, *, pooled: bool, own_levels: bool, numbers: bool
) -> tuple[Records, HeldRows]:
    """The source's records, and the rows of one of so many parts of the classes.

    With `numbers`, records have those of values.
    """
    rows, written, session = judged.session, judged.written, judged.session.embedded
    types, keys = dict(written.source_types), range(len(written.labels))
    # Equal values of other types, such as ENUM members and texts, have other hashes.
    of_record = {f"k{j}": quoted(labels.column) for j, labels in enumerate(written.labels)}
    hashed = {f"v{i}": _value(name, quoted(name), written) for i, name in enumerate(names)}
    hashed |= {"w": f"hash({quoted(written.person)})"} if written.person else {}
    numbers_of = {f"y{i}": _number(quoted(name), types[name]) for i, name in enumerate(names) if numbers}
    # Rows are nearly all different: to count equal ones pays only where they are collected.
    times, grouped = ({"n": "count(*)"}, " GROUP BY ALL") if rows.traits.collects else ({}, "")
    selected = ", ".join(f"{of} AS {name}" for name, of in (of_record | hashed | numbers_of | times).items())
    source = near(rows, "unchanged_source", f"SELECT {selected} FROM {written.source_rows} AS source{grouped}")
    own, same, joins = [], ["NOT c.pool"], []
    for j, labels in enumerate(written.labels):
        label = written.label(labels, labels.level, "d") if labels.level else written.shown(labels.column, f"k{j}")
        # Levels of its own hide more of some records than of others.
        below = labels.level - 1 if labels.level and not own_levels else 0
        query = (
            f"SELECT k{j}, (row_number() OVER (ORDER BY hash(k{j})) - 1)::INTEGER AS code, "
            f"hash({label}::VARCHAR) AS label, {written.label(labels, below, 'd') if below else f'k{j}'} AS finer"
            f"{', d.code AS listed' if own_levels else ''} FROM (SELECT DISTINCT k{j} FROM {source})"
        )
        if labels.level or own_levels:
            query += f" LEFT JOIN {quoted(labels.table)} AS d ON d.value IS NOT DISTINCT FROM k{j}"
        joins.append(f"LEFT JOIN ({query}) AS o{j} ON o{j}.k{j} IS NOT DISTINCT FROM p.k{j}")
        own.append(
            f"SELECT {j} AS j, code, {'0::UBIGINT' if pooled else 'label'} AS label, hash(finer) AS finer, "
            f"coalesce({_number(f'k{j}', types[labels.column]) if numbers else 'NULL'}, 'nan'::DOUBLE) AS x "
            f"FROM ({query})"
        )
        same += [f"p.k{j} IS NOT NULL"] * labels.withholds
    if own_levels:
        classes, each = "said", list(enumerate(written.labels))
        chosen = " AND ".join(f"chosen.c{labels.position} = o{j}.listed" for j, labels in each)
        joins += [f"LEFT JOIN meanings_{j} AS m{j} ON m{j}.code = o{j}.listed" for j in keys]
        joins.append(f"LEFT JOIN temp.main.{OWN_LEVELS} AS chosen ON {chosen}")
        same += [f"c.i{j} = m{j}.ids[chosen.l{labels.position}]" for j, labels in each]
    else:
        # To join one hash of all labels takes half the time.
        hashed_labels = ", ".join(f"hash(q{j}::VARCHAR)" for j in keys)
        classes = f"(SELECT class, pool, hash({hashed_labels}) AS labels FROM judged_classes)"
        same.append(f"c.labels = hash({', '.join(f'o{j}.label' for j in keys)})")
    codes, values = [f"o{j}.code AS o{j}" for j in keys], [f"p.{name}" for name in (*hashed, *times)]
    hashes = ", ".join((*(f"o{j}.code" for j in keys), *(f"p.v{i}" for i, _ in enumerate(names))))
    read = session.arrays(
        f"SELECT coalesce(c.class, {POOL}) AS class, hash({hashes}) AS place, {', '.join((*codes, *values))}"
        + "".join(f", coalesce(p.{name}, 'nan'::DOUBLE) AS {name}" for name in numbers_of)
        + f" FROM {source} AS p {' '.join(joins)} LEFT JOIN {classes} AS c "
        f"ON {' AND '.join(same)} LIMIT {MOST_CODED}"
    )
    of_values = [ValueCodes.of(read[f"v{i}"], read.get(f"y{i}")) for i, _ in enumerate(names)]
    held = HeldRows.of(session.arrays(_held(judged, names, parts)), of_values)
    details = session.arrays(f"{' UNION ALL '.join(own)} ORDER BY j, code")
    of_own = []
    for j in keys:
        label, finer, x = (details[name][details["j"] == j] for name in ("label", "finer", "x"))
        of_own.append(OwnCodes(read[f"o{j}"].astype(np.int64), ranks(label), ranks(finer), x))
    people = ranks(read["w"]) if written.person else None
    times_of = read["n"].astype(np.int64) if times else None
    return Records(places_in(held.numbers, read["class"], -1), times_of, of_own, of_values, people, read["place"]), held


def _value(name: str, of: str, written: Written) -> str:
    """The hash of a record's value as it is released."""
    return f"hash({written.shown(name, of)})"


def _number(of: str, type_: str) -> str:
    """The number of a value, times in days."""
    if type_ in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        # DuckDB 2.0.1 would take seconds for nanoseconds, of which a year 9999 has too many.
        of = f"{of}::TIMESTAMP"
    if type_ == "DATE" or type_.startswith("TIMESTAMP"):
        return f"epoch({of}) / 86400.0"
    # A FLOAT is as near to its text as a DOUBLE is.
    return f"{of}::DOUBLE" if type_ in _EXACT else f"TRY_CAST({of}::VARCHAR AS DOUBLE)"


def _held(judged: Judged, names: Sequence[str], parts: int) -> str:
    """The written rows of one of so many parts of the classes: their `class`, and the hashes `v<i>` of values."""
    rows, labels = judged.session, judged.written.labels
    pool = quoted(judged.marker) if judged.marker else "FALSE"
    keys = ", ".join(f"{quoted(label.column)} AS q{j}" for j, label in enumerate(labels))
    same = " AND ".join(f"c.q{j} IS NOT DISTINCT FROM s.q{j}" for j, _ in enumerate(labels))
    values, times = ", ".join(f"hash({quoted(name)}) AS v{i}" for i, name in enumerate(names)), rows.traits.collects
    # Suppressed rows are blank, and so is their class: with a condition of its own for it, DuckDB would compare every
    # row with every class.
    hashed = f"hash({', '.join(quoted(label.column) for label in labels)})"
    some = f" WHERE {pool} OR {hashed} % {parts} = 0" if parts > 1 else ""
    counted, grouped = (", count(*) AS n", " GROUP BY ALL") if times else ("", "")
    query = f"SELECT {keys}, {pool} AS pool, {values}{counted} FROM {quoted(*judged.written.rows)}{some}{grouped}"
    shown = ", ".join((*(f"s.v{i}" for i, _ in enumerate(names)), *(["s.n"] * times)))
    return (
        f"SELECT c.class, {shown} FROM {near(rows, 'unchanged_rows', query)} AS s "
        f"JOIN judged_classes AS c ON c.pool = s.pool AND {same}"
    )
