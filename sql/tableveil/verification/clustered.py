"""Finds anew which class each of the source's records is in, where clusters replace labels and people have several.

The rows do not say whose they are, and clusters have no labels by which the source's records could be found. So the
records are numbered here as the members of clusters are, by a query of its own over the source; and the rows must be
the records of the classes that result.
"""

from collections.abc import Sequence

from tableveil.backend import Session
from tableveil.policy import Policy, Role
from tableveil.verification.text import differing, quoted, spelled
from tableveil.verification.written import AGGREGATES, MEMBERS, Written

CLUSTERED = "clustered"
"""The temporary table of the source's records: `class`, the person `w`, and the other released values `v0`, `v1`, …."""


def stage_clustered(
    session: Session, policy: Policy, quasi_identifiers: Sequence[str], marker: str, written: Written
) -> list[str]:
    """Makes the table `CLUSTERED`; `judged_classes` has the classes. Returns the faults of the rows."""
    types = dict(written.source_types)
    others = _others(policy, written)
    *valued, _ = written.identifying
    keys = [spelled(f"p.{quoted(name)}", types[name]) for name, _ in valued]
    keys.append(f"p.{quoted(written.person)}")
    shown = [written.shown(name, f"p.{quoted(name)}") for name in others]
    order = f" ORDER BY {', '.join(shown)}" if shown else ""
    place = f"row_number() OVER (PARTITION BY {', '.join(keys)}{order})"
    columns = [f"{key} AS k{i}" for i, key in enumerate(keys)] + [f"{value} AS v{i}" for i, value in enumerate(shown)]
    tables = [table for _, table in written.identifying]
    values = ", ".join(f"d{i}.value AS k{i}" for i in range(len(tables)))
    joins = " ".join(f"JOIN {quoted(table)} AS d{i} ON d{i}.code = m.c{i}" for i, table in enumerate(tables))
    same = " AND ".join(f"o.k{i} IS NOT DISTINCT FROM m.k{i}" for i in range(len(tables)))
    released = " AND ".join(
        f"c.q{quasi_identifiers.index(attribute.column)} IS NOT DISTINCT FROM a.a{j}"
        for j, attribute in enumerate(policy.recognizing)
    )
    actual = "".join(f", o.v{i}" for i in range(len(others)))
    session.stage(
        CLUSTERED,
        f"SELECT c.class, o.k{len(keys) - 1} AS w{actual} "
        f"FROM (SELECT {', '.join(columns)}, {place} AS place FROM {written.source_rows} AS p) AS o "
        f"ASOF JOIN (SELECT m.class, m.first, m.last, {values} FROM temp.main.{MEMBERS} AS m {joins}) AS m "
        f"ON {same} AND o.place >= m.first "
        f"JOIN temp.main.{AGGREGATES} AS a ON a.class = m.class JOIN judged_classes AS c ON {released} "
        "WHERE o.place <= m.last",
    )
    names = ", ".join(quoted(name) for name in (*quasi_identifiers, *others))
    kept = f"NOT {quoted(marker)}" if marker else "TRUE"
    labels = ", ".join(f"c.q{i}" for i in range(len(quasi_identifiers)))
    rows = f"SELECT {names} FROM {quoted(*written.rows)} WHERE {kept}"
    recounted = (
        f"SELECT {labels}{''.join(f', r.v{i}' for i in range(len(others)))} "
        f"FROM {CLUSTERED} AS r JOIN judged_classes AS c USING (class)"
    )
    differ = session.value(differing(recounted, rows))
    return ["the rows are not the records of the people in the clusters"] if differ else []


def clustered_records(policy: Policy, written: Written) -> tuple[str, str]:
    """The records of `CLUSTERED` under the source's names, in a FROM clause; and the name there of their class."""
    names = {written.person: "w"} | {name: f"v{i}" for i, name in enumerate(_others(policy, written))}
    shown = ", ".join(f"{value} AS {quoted(name)}" for name, value in names.items())
    # No column has this name.
    class_ = f"class{max(map(len, names)) * '_'}"
    return f"(SELECT class AS {class_}, {shown} FROM {CLUSTERED})", class_


def _others(policy: Policy, written: Written) -> list[str]:
    """The released columns that are not aggregated, in the order of the rows' columns."""
    roles = {attribute.column: attribute.role for attribute in policy.attributes}
    return [name for name, _ in written.types if roles.get(name) in (Role.SENSITIVE, Role.INSENSITIVE)]
