"""Checks columns that are released unchanged: what they determine, and how many rows of a class they leave.

The classes are those of the written rows; whose labels these are, and which values go together, the source shows. Where
people have several records, the rows have to be those of enough different people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tableveil.policy import Role
from tableveil.verification.coded import (
    Codes,
    Held,
    HeldRows,
    OwnCodes,
    Records,
    ValueCodes,
    encoded,
    mixed,
    places_in,
    ranks,
)
from tableveil.verification.derived import least_of_two
from tableveil.verification.left import determines, least_of_one, rule_of, share_among_few
from tableveil.verification.owners import stage_records
from tableveil.verification.text import near, quoted
from tableveil.verification.written import OWN_LEVELS, Judged, Labels, Written

MOST_CODED = 1_000_000
"""Up to so many records show what goes together; in a larger table, the first ones, and a part of the classes."""

WHOLE = 0.6
"""A sensitive column follows as a whole, beyond doubt, if it leaves this share of the people among few."""

POOL = -1

_EXACT = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE")
"""Types whose numbers are those of their texts, which are found in longer time."""


def check_unchanged(judged: Judged, *, own_levels: bool = False) -> list[str]:
    """Whether unacknowledged columns determine nothing, and leave k rows: a sensitive one for most people at least.

    Where people have several records, these have to be rows of k people. `judged_classes` has the classes. The
    different rows of a warehouse are collected, with hashes of these columns' values. With `own_levels`, it needs the
    tables of `read_own_levels`. Aggregated columns are not looked at again.
    """
    policy, written, k = judged.policy, judged.written, judged.policy.k
    shown = [a for a in policy.attributes if not a.acknowledged and a.role in (Role.INSENSITIVE, Role.SENSITIVE)]
    names = [a.column for a in sorted(shown, key=lambda a: a.role is Role.SENSITIVE)]
    insensitive = sum(a.role is Role.INSENSITIVE for a in shown) if k is not None else 0
    labels = ", ".join(f"hash(q{j}::VARCHAR) AS q{j}" for j, _ in enumerate(written.labels))
    classes = judged.session.embedded.arrays(f"SELECT class, pool, {labels} FROM judged_classes")
    pooled = bool(classes["pool"].any())
    hiding = [j for j, labels in enumerate(written.labels) if labels.level or pooled or own_levels]
    if not names or not hiding:
        return []
    records, held = _read(judged, names, classes, pooled=pooled, own_levels=own_levels, numbers=insensitive > 0)
    determined = sum(any(determines(records, j, i) for j in hiding) for i, _ in enumerate(names))
    problems = [f"{determined} columns determine what labels hide"] if determined else []
    if k is None:
        return problems
    rules = [rule for j in hiding for i, _ in enumerate(names) if (rule := rule_of(records, j, i)) is not None]
    if insensitive:
        first = replace(records, values=records.values[:insensitive])
        told, owned = [rule for rule in rules if rule.i < insensitive], None
        if told and written.person:
            owned = _owned(judged, first, held().numbers[held().sizes > 0], names[:insensitive], own_levels)
        of_each = ([rule for rule in told if rule.j == j] for j in {rule.j for rule in told})
        least = min((least_of_one(first, held(), some, k, owned) for some in of_each), default=k)
        least = min(least, least_of_two(first, held, hiding, k))
        left = f"rows of {least} people" if written.person else f"{least} rows"
        problems += [f"unchanged columns leave {left} of a class, fewer than k = {k}"] if least < k else []
    sensitive = (rule for rule in rules if rule.i >= insensitive)
    whole = {rule.i for rule in sensitive if share_among_few(records, held(), rule, k) >= WHOLE}
    return [
        *problems,
        *([f"{len(whole)} sensitive columns follow from quasi-identifiers, for most people"] * bool(whole)),
    ]


def _owned(judged: Judged, records: Records, classes: Codes, names: Sequence[str], own_levels: bool) -> HeldRows:
    """The different rows of the source in the classes that are looked at, with their people."""
    session, written = judged.session.embedded, judged.written
    columns = {"w": f"hash(p.{quoted(written.person)})"}
    columns |= {f"v{i}": _value(name, f"p.{quoted(name)}", written) for i, name in enumerate(names)}
    stage_records(session, judged.policy, "held_by", columns, written, own_levels=own_levels)
    with session.relation("looked_at", pa.table({"class": classes})):
        rows = f"SELECT DISTINCT class, {', '.join(columns)} FROM held_by SEMI JOIN looked_at USING (class)"
        arrays = session.arrays(rows)
    session.execute("DROP TABLE temp.main.held_by")
    return HeldRows.of(np.unique(arrays["class"]), arrays, records.values)


def _read(
    judged: Judged,
    names: Sequence[str],
    classes: Mapping[str, NDArray[Any]],
    *,
    pooled: bool,
    own_levels: bool,
    numbers: bool,
) -> tuple[Records, Held]:
    """The source's records; and, for rules that hold, the written rows of all classes, or of some of a large table.

    `classes` have hashes `q<j>` of their labels. With `numbers`, records of a small table have those of values.
    """
    rows, written, session = judged.session, judged.written, judged.session.embedded
    parts = 1 + (judged.source_records - 1) // MOST_CODED
    # More records are not looked at for numbers, which take a third of the time to stage.
    numbers = numbers and parts == 1 and not rows.traits.collects
    types = dict(written.source_types)
    # Equal values of other types, such as ENUM members and texts, have other hashes.
    of_record = {f"k{j}": quoted(labels.column) for j, labels in enumerate(written.labels)}
    of_record |= {f"v{i}": _value(name, quoted(name), written) for i, name in enumerate(names)}
    of_record |= {"w": f"hash({quoted(written.person)})"} if written.person else {}
    # Rows are nearly all different: to count equal ones pays only where they are collected.
    times, grouped = ({"n": "count(*)"}, " GROUP BY ALL") if rows.traits.collects else ({}, "")
    numbers_of = {f"y{i}": _number(quoted(name), types[name]) for i, name in enumerate(names) if numbers}
    selected = ", ".join(f"{of} AS {name}" for name, of in (of_record | numbers_of | times).items())
    source = near(rows, "unchanged_source", f"SELECT {selected} FROM {written.source_rows} AS source{grouped}")
    # Own values are read as hashes: to join small numbers of all takes twice the time.
    shown = [f"hash({name}) AS {name}" if name.startswith("k") else name for name in (*of_record, *times)]
    shown += [f"coalesce({name}, 'nan'::DOUBLE) AS {name}" for name in numbers_of]
    class_, joins = _by_own_levels(written) if own_levels else ("", "")
    # A limit that all are within would still take three times as long.
    some = f" LIMIT {MOST_CODED}" if parts > 1 else ""
    read = session.arrays(f"SELECT {', '.join(shown)}{class_} FROM {source} AS p{joins}{some}", many=True)
    place = mixed(read[name] for name in of_record if name != "w")
    of_values = [ValueCodes.of(read.pop(f"v{i}"), read.pop(f"y{i}", None)) for i, _ in enumerate(names)]
    all_classes, released = np.sort(classes["class"]), ~classes["pool"]

    @cache
    def held() -> HeldRows:
        return HeldRows.of(all_classes, session.arrays(_held(judged, names, parts), many=True), of_values)

    own = [_details(labels, j, source, written, own_levels, numbers) for j, labels in enumerate(written.labels)]
    details, of_own, said = session.arrays(" UNION ALL ".join(own)), list[OwnCodes](), list[NDArray[np.uint64]]()
    missing = list[tuple[Codes, NDArray[np.bool_]]]()
    for j, labels in enumerate(written.labels):
        codes, hashes = encoded(read.pop(f"k{j}"))
        at = np.flatnonzero(details["j"] == j)
        mine = {name: of[at[places_in(details["own"][at], hashes, -1)]] for name, of in details.items()}
        of_own.append(OwnCodes(codes, ranks(mine["label"]) * (not pooled), ranks(mine["finer"]), mine["x"]))
        said.append(mine["label"])
        missing += [(codes, mine["missing"])] * labels.withholds
    if own_levels:
        class_of = places_in(all_classes, read["class"], -1)
    else:
        known = mixed(classes[f"q{j}"][released] for j, _ in enumerate(said))
        found = places_in(known, mixed(label[own.code] for label, own in zip(said, of_own, strict=True)), -1)
        class_of = np.append(places_in(all_classes, classes["class"][released], -1), -1)[found]
    if parts > 1:
        class_of[~np.isin(class_of, held().classes)] = -1
    for codes, none in missing:
        class_of[none[codes]] = -1
    people = ranks(read["w"]) if written.person else None
    times_of = read["n"].astype(np.int64) if times else None
    return Records(class_of, times_of, of_own, of_values, people, place), held


def _details(labels: Labels, j: int, source: str, written: Written, own_levels: bool, numbers: bool) -> str:
    """A query for the different own values of a quasi-identifier: hashes of each, its label and what that hides."""
    own, join = f"k{j}", ""
    label = written.label(labels, labels.level, "d") if labels.level else written.shown(labels.column, own)
    # Levels of its own hide more of some records than of others.
    below = labels.level - 1 if labels.level and not own_levels else 0
    if labels.level or own_levels:
        join = f" LEFT JOIN {quoted(labels.table)} AS d ON d.value IS NOT DISTINCT FROM {own}"
    number = _number(own, dict(written.source_types)[labels.column]) if numbers else "NULL"
    return (
        f"SELECT {j} AS j, hash({own}) AS own, {own} IS NULL AS missing, hash({label}::VARCHAR) AS label, "
        f"hash({written.label(labels, below, 'd') if below else own}) AS finer, "
        f"coalesce({number}, 'nan'::DOUBLE) AS x FROM (SELECT DISTINCT {own} FROM {source}){join}"
    )


def _by_own_levels(written: Written) -> tuple[str, str]:
    """The class of a record `p` by the levels of its combination of own values, and the joins that find it."""
    joins, chosen, same = "", list[str](), ["NOT c.pool"]
    for j, labels in enumerate(written.labels):
        joins += f" LEFT JOIN {quoted(labels.table)} AS d{j} ON d{j}.value IS NOT DISTINCT FROM p.k{j}"
        joins += f" LEFT JOIN meanings_{j} AS m{j} ON m{j}.code = d{j}.code"
        chosen.append(f"chosen.c{labels.position} = d{j}.code")
        same.append(f"c.i{j} = m{j}.ids[chosen.l{labels.position}]")
    joins += f" LEFT JOIN temp.main.{OWN_LEVELS} AS chosen ON {' AND '.join(chosen)}"
    return f", coalesce(c.class, {POOL}) AS class", f"{joins} LEFT JOIN said AS c ON {' AND '.join(same)}"


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
