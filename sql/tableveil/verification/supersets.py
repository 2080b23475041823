"""Checks (n,t)-closeness: every class has a natural superset of n records that is within t of it.

The supersets are counted again from the source: the classes of all more general transformations, suppressed records
included. They are tried from the least general on, until no class is left that needs one.
"""

import itertools
from collections.abc import Iterator

from tableveil.backend import Session, WarehouseSession
from tableveil.policy import NTCloseness, Policy
from tableveil.verification.text import at_most, near, quoted
from tableveil.verification.written import Written


def beyond_all_supersets(
    rows: WarehouseSession, policy: Policy, model: NTCloseness, distances: str, written: Written
) -> int:
    """Number of classes without a superset within t.

    Reads `judged_classes`, `spread`, `distribution` and the source; `distances` is the query of distances.
    """
    session = rows.embedded
    # A class of n records is a superset of itself.
    session.stage("open_classes", f"SELECT * FROM judged_classes WHERE size < {model.n}")
    _against_the_whole_source(session, model, distances, written)
    if session.value("SELECT count(*) FROM open_classes WHERE NOT pool"):
        _make_labelled(rows, model, written)
        for levels in _more_general(written):
            _against_classes(session, model, distances, levels)
            if not session.value("SELECT count(*) FROM open_classes WHERE NOT pool"):
                break
    left: int = session.value("SELECT count(*) FROM open_classes")
    for made in ("open_classes", "labelled_source", "labelled_classes", "keys", "reference", "pairs"):
        session.execute(f"DROP TABLE IF EXISTS temp.main.{made}")
    return left


def _more_general(written: Written) -> Iterator[tuple[int, ...]]:
    """All transformations above the released one, by their sum of levels."""
    ranges = [range(labels.level, len(labels.columns)) for labels in written.labels]
    yield from sorted(itertools.product(*ranges), key=lambda levels: (sum(levels), levels))[1:]


def _against_the_whole_source(session: Session, model: NTCloseness, distances: str, written: Written) -> None:
    """Compares with the only superset of the pool of suppressed records; classes have it if no records are withheld."""
    of = "pool" if any(labels.withholds for labels in written.labels) else "TRUE"
    session.stage("reference", "SELECT 0 AS superset, position, records FROM distribution")
    session.stage(
        "pairs",
        "SELECT class, 0 AS superset, size, superset_size "
        "FROM open_classes, (SELECT sum(records)::BIGINT AS superset_size FROM reference) "
        f"WHERE superset_size >= {model.n} AND {of}",
    )
    _close(session, model, distances)


def _against_classes(session: Session, model: NTCloseness, distances: str, levels: tuple[int, ...]) -> None:
    keys = [f"q{j}_{level}" for j, level in enumerate(levels)]
    same = " AND ".join(f"s.{key} = k.{key}" for key in keys)
    session.execute(
        f"CREATE OR REPLACE TEMPORARY TABLE keys AS SELECT class, size, {', '.join(f's.{key}' for key in keys)}, "
        f"dense_rank() OVER (ORDER BY {', '.join(f's.{key}' for key in keys)}) AS superset "
        "FROM labelled_classes AS s JOIN open_classes USING (class)"
    )
    session.execute(
        "CREATE OR REPLACE TEMPORARY TABLE reference AS SELECT k.superset, s.position, sum(s.records)::BIGINT "
        f"AS records FROM labelled_source AS s JOIN (SELECT DISTINCT * EXCLUDE (class, size) FROM keys) AS k ON {same} "
        f"GROUP BY k.superset, s.position QUALIFY sum(sum(s.records)) OVER (PARTITION BY k.superset) >= {model.n}"
    )
    session.execute(
        "CREATE OR REPLACE TEMPORARY TABLE pairs AS SELECT class, superset, size, superset_size FROM keys JOIN "
        "(SELECT superset, sum(records)::BIGINT AS superset_size FROM reference GROUP BY superset) USING (superset)"
    )
    _close(session, model, distances)


def _close(session: Session, model: NTCloseness, distances: str) -> None:
    """Closes the classes that are within t of their pairs' supersets."""
    numerator, denominator = at_most(model.t)
    session.execute(
        f"DELETE FROM open_classes WHERE class IN (SELECT class FROM ({distances}) "
        f"WHERE distance * {denominator} <= one * {numerator})"
    )


def _make_labelled(rows: WarehouseSession, model: NTCloseness, written: Written) -> None:
    """The source and the open classes with numbers for their labels at the released level and at all above it."""
    session = rows.embedded
    for j, labels in enumerate(written.labels):
        # NULL is a label of its own below the top; dense_rank counts it as one.
        numbers = ", ".join(
            f"dense_rank() OVER (ORDER BY {written.label(labels, level, 'd')}) AS q{j}_{level}"
            for level in range(labels.level, len(labels.columns))
        )
        label = written.label(labels, labels.level, "d")
        session.stage(f"numbered_{j}", f"SELECT value, {label} AS label, {numbers} FROM {quoted(labels.table)} AS d")
    positions = range(len(written.labels))
    numbered = ", ".join(f"d{j}.* EXCLUDE (value, label)" for j in positions)
    joined = " ".join(f"JOIN numbered_{j} AS d{j} ON d{j}.value IS NOT DISTINCT FROM s.c{j}" for j in positions)
    withheld = [f"{quoted(labels.column)} IS NOT NULL" for labels in written.labels if labels.withholds]
    columns = ", ".join(quoted(labels.column) for labels in written.labels)
    value = quoted(model.column)
    if written.type_of(model.column) in ("FLOAT", "DOUBLE"):
        value = f"CASE WHEN {value} = 0 THEN 0 ELSE {value} END"
    counted = (
        f"SELECT * FROM (SELECT {columns}, {value}, count(*) FROM {written.source_rows} AS s "
        f"WHERE {' AND '.join(withheld) or 'TRUE'} GROUP BY ALL) AS s({', '.join(f'c{j}' for j in positions)}, v, n)"
    )
    session.stage(
        "labelled_source",
        f"SELECT {numbered}, v.position, sum(s.n)::BIGINT AS records "
        f"FROM {near(rows, 'source_combinations', counted)} AS s {joined} "
        "JOIN distribution AS v ON v.value IS NOT DISTINCT FROM CAST(s.v AS VARCHAR) GROUP BY ALL",
    )
    # Equal labels at the released level have equal labels at all above it.
    above = " ".join(
        f"JOIN (SELECT DISTINCT * EXCLUDE (value) FROM numbered_{j}) AS d{j} ON d{j}.label IS NOT DISTINCT FROM c.q{j}"
        for j in positions
    )
    numbered = ", ".join(f"d{j}.* EXCLUDE (label)" for j in positions)
    session.stage("labelled_classes", f"SELECT c.class, {numbered} FROM open_classes AS c {above} WHERE NOT c.pool")
    for j in positions:
        session.execute(f"DROP TABLE temp.main.numbered_{j}")
