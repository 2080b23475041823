"""Checks columns that are released unchanged: what they determine, and how many rows of a class they leave.

The classes are those of the written rows; whose labels these are, and which values go together, the source shows. Where
people have several records, the rows have to be those of enough different people.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

from tableveil.backend import WarehouseSession
from tableveil.policy import Role
from tableveil.risk.unchanged import MOST_CELLS
from tableveil.verification.coded import Codes, HeldRows, Records, held_rows, read_rows
from tableveil.verification.derived import least_of_two
from tableveil.verification.judged import Judged
from tableveil.verification.left import ClassPeople, LeftLimits, determines, follows, least_of_one, share_among_few
from tableveil.verification.owners import stage_records
from tableveil.verification.text import near, quoted, spelled
from tableveil.verification.written import OWN_LEVELS, Labels, Written

MOST_COMPARED = MOST_CELLS
"""The most own values times rows of their class; beyond it, the release itself looked at a part of the own values."""

AT_ONCE = 2_000_000
"""How many of these are compared: an even part of the own values, if there are more."""

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
    rows, policy, written = judged.session, judged.policy, judged.written
    shown = [a for a in policy.attributes if not a.acknowledged and a.role in (Role.INSENSITIVE, Role.SENSITIVE)]
    insensitive = [a.column for a in shown if a.role is Role.INSENSITIVE] if policy.k is not None else []
    names = [*insensitive, *(a.column for a in shown if a.column not in insensitive)]
    session = rows.embedded
    pooled = bool(session.value("SELECT count(*) FROM judged_classes WHERE pool"))
    hiding = [j for j, label_table in enumerate(written.labels) if label_table.level or pooled or own_levels]
    if not names or not hiding:
        return []
    parts = 1 + (judged.source_records - 1) // MOST_CODED
    # More records are not looked at for numbers, which take a third of the time to stage.
    numbers = not rows.traits.collects and parts == 1 and bool(insensitive)
    records, own_values = _records(rows, names, written, pooled=pooled, own_levels=own_levels, numbers=numbers)
    queries = (
        f"{records} LIMIT {MOST_CODED}",
        own_values,
        _held(rows, names, judged.marker, written, parts) if insensitive else "",
    )
    coded = read_rows(session, queries, len(written.labels), len(names), numbers=numbers, people=bool(written.person))
    determined = [names[i] for i, _ in enumerate(names) if any(determines(coded[0], j, i) for j in hiding)]
    problems = [f"{len(determined)} columns determine what labels hide"] if determined else []
    if insensitive:
        problems += _few_left(judged, *coded, hiding, insensitive, own_levels=own_levels)
    sensitive = range(len(insensitive), len(names)) if policy.k is not None else ()
    following = [(j, i) for i in sensitive for j in hiding if follows(coded[0], j, i)]
    if following and not insensitive:
        queries = *queries[:2], _held(rows, names, judged.marker, written, parts)
        coded = read_rows(session, queries, len(written.labels), len(names), numbers=False, people=bool(written.person))
    limits = LeftLimits(policy.k or 0, 1, MOST_COMPARED, AT_ONCE)
    whole = {i for j, i in following if share_among_few(*coded, j, i, limits) >= WHOLE}
    if whole:
        problems.append(f"{len(whole)} sensitive columns follow from quasi-identifiers, for most people")
    return problems


def _few_left(
    judged: Judged, records: Records, held: HeldRows, hiding: Sequence[int], names: Sequence[str], *, own_levels: bool
) -> list[str]:
    """Whether the columns, which are the first ones, leave rows of k, or rows of k people."""
    session, policy, written = judged.session.embedded, judged.policy, judged.written
    k, owned = policy.k or 0, None
    if written.person and len(held.numbers):
        counted_arrays = session.arrays("SELECT class, size, people, most FROM owned ORDER BY class")
        at = np.searchsorted(counted_arrays["class"], held.numbers)
        owned = ClassPeople(*(counted_arrays[name][at].astype(np.int64) for name in ("size", "people", "most")))

    @cache
    def hold() -> None:
        columns = {"w": f"hash(p.{quoted(written.person)})"}
        columns |= {f"v{i}": _value(name, f"p.{quoted(name)}", written) for i, name in enumerate(names)}
        stage_records(session, policy, "held_by", columns, written, own_levels=own_levels)

    def held_by(classes: Codes) -> tuple[HeldRows, Codes]:
        hold()
        values = ", ".join(f"v{i}" for i, _ in enumerate(names))
        with session.relation("few", pa.table({"class": classes})):
            arrays = session.arrays(
                f"SELECT DISTINCT class, w, {values} FROM held_by WHERE class IN (SELECT class FROM few) ORDER BY class"
            )
        arrays["n"] = np.ones(len(arrays["class"]), np.int64)
        of_columns = records.values[: len(names)]
        return held_rows(arrays, of_columns), np.unique(arrays["w"], return_inverse=True)[1].astype(np.int64)

    limits = LeftLimits(k, len(names), MOST_COMPARED, AT_ONCE)
    left = [least_of_one(records, held, j, limits, owned, held_by) for j in hiding]
    session.execute("DROP TABLE IF EXISTS temp.main.held_by")
    left.append(least_of_two(replace(records, values=records.values[: len(names)]), held, hiding))
    least = min((rows for rows in left if rows is not None), default=k)
    left_of_class = f"rows of {least} people" if written.person else f"{least} rows"
    return [f"unchanged columns leave {left_of_class} of a class, fewer than k = {k}"] if least < k else []


def _records(
    rows: WarehouseSession, names: list[str], written: Written, *, pooled: bool, own_levels: bool, numbers: bool
) -> tuple[str, str]:
    """Queries of the source's records: their `class`, own values `o<j>`, and values `v<i>` of the columns.

    `n` is how often one occurs. The other query has for each `j` the different own values `o`, their labels `l`, what
    is least finely hidden `g`, and their numbers `x`. With `numbers`, `y<i>` are those of values. Numbers are NULL
    where there is none.
    """
    keys = range(len(written.labels))
    # Equal values of other types, such as ENUM members and texts, have other hashes.
    own_and_values = [
        *(f"{quoted(label_table.column)} AS k{j}" for j, label_table in enumerate(written.labels)),
        *(f"{_value(name, quoted(name), written)} AS v{i}" for i, name in enumerate(names)),
    ]
    types = dict(written.source_types)
    if written.person:
        own_and_values.append(f"hash({quoted(written.person)}) AS w")
    if numbers:
        own_and_values += [f"{_number(quoted(name), types[name])} AS y{i}" for i, name in enumerate(names)]
    counted, grouped = ("count(*)", " GROUP BY ALL") if rows.traits.collects else ("1::BIGINT", "")
    source = near(
        rows,
        "unchanged_source",
        f"SELECT {', '.join(own_and_values)}, {counted} AS n FROM {written.source_rows} AS source{grouped}",
    )
    joins, selected, withheld, details = [], [], ["FALSE"], []
    for j, label_table in enumerate(written.labels):
        own, join = f"p.k{j}", ""
        if label_table.level or own_levels:
            join = f"LEFT JOIN {quoted(label_table.table)} AS d{j} ON d{j}.value IS NOT DISTINCT FROM {own}"
            joins.append(join)
        label = _label(j, label_table, written)
        # Levels of its own hide more of some records than of others.
        below = label_table.level - 1 if label_table.level and not own_levels else 0
        finer = written.label(label_table, below, f"d{j}") if below else own
        selected += [f"hash({own}) AS o{j}", f"{label} AS q{j}"]
        number = _number(own, types[label_table.column]) if numbers else "NULL"
        details.append(
            f"SELECT {j} AS j, hash({own}) AS o, {'0::UBIGINT' if pooled else f'hash({label})'} AS l, "
            f"hash({finer}) AS g, coalesce({number}, 'nan'::DOUBLE) AS x "
            f"FROM (SELECT DISTINCT k{j} FROM {source}) AS p {join}"
        )
        if label_table.withholds:
            withheld.append(f"{own} IS NULL")
    selected += [*(f"p.v{i}" for i in range(len(names))), *(["p.w"] if written.person else [])]
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
    kept = ", ".join(f"s.o{j}" for j in keys) + (", s.w" if written.person else "")
    values = "".join(f", s.v{i}" for i in range(len(names)))
    if numbers:
        values += "".join(f", s.y{i}" for i in range(len(names)))
    records = (
        f"SELECT coalesce(c.class, {POOL}) AS class, s.n, {kept}{values} FROM ({query} {' '.join(joins)}) AS s "
        f"LEFT JOIN {classes} AS c ON NOT c.pool AND NOT s.withheld AND {' AND '.join(same)}"
    )
    return records, " UNION ALL ".join(details)


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
    # A FLOAT is as near to its text as a DOUBLE is.
    return f"{of}::DOUBLE" if type_ in _EXACT else f"TRY_CAST({of}::VARCHAR AS DOUBLE)"


def _label(j: int, labels: Labels, written: Written) -> str:
    if labels.level:
        return written.label(labels, labels.level, f"d{j}")
    return written.shown(labels.column, f"p.k{j}")


def _held(rows: WarehouseSession, names: list[str], marker: str, written: Written, parts: int = 1) -> str:
    """How often each class of one of so many parts has each combination of the columns' values, by the written rows."""
    pool = quoted(marker) if marker else "FALSE"
    keys = ", ".join(f"{quoted(label_table.column)} AS q{j}" for j, label_table in enumerate(written.labels))
    same = " AND ".join(f"c.q{j} IS NOT DISTINCT FROM s.q{j}" for j in range(len(written.labels)))
    values = ", ".join(f"hash({quoted(name)}) AS v{i}" for i, name in enumerate(names))
    held = ", ".join(f"s.v{i}" for i in range(len(names)))
    # Suppressed rows are blank, and so is their class: with a condition of its own for it, DuckDB would compare every
    # row with every class.
    labels = ", ".join(quoted(label_table.column) for label_table in written.labels)
    some = f" WHERE {pool} OR hash({labels}) % {parts} = 0" if parts > 1 else ""
    # Rows are nearly all different: to count equal ones pays only where they are collected.
    counted, grouped = ("count(*)", " GROUP BY ALL") if rows.traits.collects else ("1::BIGINT", "")
    query = f"SELECT {keys}, {pool} AS pool, {values}, {counted} AS n FROM {quoted(*written.rows)}{some}{grouped}"
    return (
        f"SELECT c.class, {held}, s.n FROM {near(rows, 'unchanged_rows', query)} AS s "
        f"JOIN judged_classes AS c ON c.pool = s.pool AND {same}"
    )
