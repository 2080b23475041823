"""Checks aggregated columns: recomputes, from the source, the aggregates that replace their values in every class.

Where labels define the classes, the source's records are labelled again. Clusters leave no trace in the
rows: their members are read from the staged table, once the check has shown that it uses every record of the source
exactly once; then the aggregates are recomputed from the values, and compared with the rows as a whole.
"""

from collections.abc import Sequence

from tableveil.backend import Session
from tableveil.policy import AggregateFunction, AttributePolicy, KAnonymity, Policy, Role
from tableveil.verification.aggregates import check_aggregate
from tableveil.verification.text import SLACK, quoted, spelled
from tableveil.verification.written import AGGREGATES, MEMBERS, Judged, Written, WrittenAggregate

_Columns = Sequence[tuple[WrittenAggregate, AttributePolicy]]
"""The aggregated columns in policy order, as they are written and as the policy asks for them."""


def check_aggregated(judged: Judged) -> list[str]:
    """Faults of the aggregated columns; `judged_classes` has the classes."""
    session, policy, marker, written = judged.session.embedded, judged.policy, judged.marker, judged.written
    columns = list(zip(written.aggregated, policy.aggregated, strict=True))
    if written.members is None:
        problems = _read_labelled(session, judged.quasi_identifiers, columns, written)
    else:
        problems = _read_members(session, policy, marker, columns, written)
    for j, (aggregate, attribute) in enumerate(columns):
        problems += check_aggregate(session, j, attribute, aggregate, written)
    session.execute("DROP TABLE temp.main.membership")
    session.execute("DROP TABLE temp.main.replaced")
    return problems


# --- classes that labels define -------------------------------------------------------------------------------------


def _read_labelled(
    session: Session, quasi_identifiers: Sequence[str], columns: _Columns, written: Written
) -> list[str]:
    """`membership` has how often each value is in each class, `replaced` the aggregates of each class."""
    labels, joins, condition = written.released_labels("p")
    same = " AND ".join(f"c.q{j} IS NOT DISTINCT FROM s.q{j}" for j in range(len(labels)))
    session.stage(
        "membership",
        f"SELECT c.class, {', '.join(f's.x{j}' for j in range(len(columns)))}, count(*) AS n FROM ("
        f"SELECT {', '.join(labels)}, {_values('p', columns, written)} FROM {written.source_rows} AS p {joins} "
        f"WHERE {condition}) AS s JOIN judged_classes AS c ON {same} WHERE NOT c.pool GROUP BY ALL",
    )
    positions = [quasi_identifiers.index(aggregate.column) for aggregate, _ in columns]
    aggregates = ", ".join(f"q{position} AS a{j}" for j, position in enumerate(positions))
    session.stage("replaced", f"SELECT class, {aggregates} FROM judged_classes WHERE NOT pool")
    other = session.value(
        "SELECT count(*) FROM judged_classes LEFT JOIN ("
        "SELECT class, sum(n) AS records FROM membership GROUP BY class) USING (class) "
        "WHERE NOT pool AND size IS DISTINCT FROM records"
    )
    return [f"{other} classes do not have the records of the source with their labels"] if other else []


# --- clusters -------------------------------------------------------------------------------------------------------


def _read_members(session: Session, policy: Policy, marker: str, columns: _Columns, written: Written) -> list[str]:
    """Reads clusters, with the values `s0`, `s1`, … of sensitive columns; returns all faults of them."""
    values = [f"d{i}.value AS {name}" for i, name in enumerate(_identifying(columns, written))]
    tables = enumerate(table for _, table in written.identifying)
    joins = " ".join(f"JOIN {quoted(table)} AS d{i} ON d{i}.code = m.c{i}" for i, table in tables)
    session.stage(
        "membership",
        f"SELECT m.class, {', '.join(values)}, sum(m.last - m.first + 1)::BIGINT "
        f"AS n FROM temp.main.{MEMBERS} AS m {joins} GROUP BY ALL",
    )
    session.stage("replaced", f"FROM temp.main.{AGGREGATES}")
    return [
        *_check_every_record(session, columns, written),
        *_check_sizes(session, policy),
        *_check_rows(session, marker, columns, written),
        *_check_others(session, policy, marker, written),
    ]


def _check_every_record(session: Session, columns: _Columns, written: Written) -> list[str]:
    """Whether the clusters have every record once: equal records are numbered from 1 to their number."""
    names = _identifying(columns, written)
    codes = ", ".join(f"c{i}" for i in range(len(names)))
    gaps = session.value(
        "SELECT count(*) FROM (SELECT first, last, lag(last, 1, 0) OVER (PARTITION BY "
        f"{codes} ORDER BY first) AS before FROM temp.main.{MEMBERS}) WHERE first <> before + 1 OR last < first"
    )
    others = "".join(
        f", {spelled(f'p.{quoted(name)}', written.type_of(name))} AS s{i}"
        for i, (name, _) in enumerate(written.members or ())
    )
    others += f", p.{quoted(written.person)} AS w" if written.people else ""
    clustered = f"SELECT {', '.join(names)}, n FROM membership"
    source = f"SELECT {_values('p', columns, written)}{others}, -1 FROM {written.source_rows} AS p"
    problems = [f"{gaps} parts of clusters do not follow each other"] if gaps else []
    if _differ(session, len(names), clustered, source):
        problems.append("the clusters do not have every record of the source once")
    return problems


def _check_sizes(session: Session, policy: Policy) -> list[str]:
    """Whether clusters have k records: a class of the rows may consist of several clusters that look alike."""
    k = max((model.k for model in policy.privacy_models if isinstance(model, KAnonymity)), default=1)
    small = session.value(f"SELECT count(*) FROM (SELECT 1 FROM membership GROUP BY class HAVING sum(n) < {k})")
    return [f"{small} clusters have fewer than {k} records"] if small else []


def _check_rows(session: Session, marker: str, columns: _Columns, written: Written) -> list[str]:
    """Whether the rows are the records of the clusters, with their aggregates and their sensitive values."""
    sensitive = [name for name, _ in written.members or ()]
    names = ", ".join(quoted(name) for name in [*(aggregate.column for aggregate, _ in columns), *sensitive])
    aggregates = ", ".join(f"r.a{j}" for j in range(len(columns)))
    values = "".join(f", CAST(m.s{i} AS {written.type_of(name)}) AS s{i}" for i, name in enumerate(sensitive))
    rows = f"SELECT {names}, -1 FROM {quoted(*written.rows)} WHERE {_kept(marker)}"
    clustered = f"SELECT {aggregates}{values}, m.n FROM membership AS m JOIN replaced AS r USING (class)"
    differ = _differ(session, len(columns) + len(sensitive), clustered, rows)
    problems = ["the rows are not the records of the clusters"] if differ else []
    for aggregate, attribute in columns:
        aggregation = attribute.aggregation
        assert aggregation is not None
        coded = aggregation.bottom_coding or aggregation.top_coding
        if (
            aggregation.function is AggregateFunction.MEAN
            and not coded
            and written.type_of(aggregate.column) == "DOUBLE"
        ):
            problems += _check_total(session, aggregate.column, marker, written)
    return problems


def _check_total(session: Session, name: str, marker: str, written: Written) -> list[str]:
    """Whether the mean of means is the source's: this check uses no staged table."""
    value = f"CAST({quoted(name)} AS DOUBLE)"
    kept, mean, spread, largest = session.row(
        f"SELECT (SELECT fsum({quoted(name)}) / count(*) FROM {quoted(*written.rows)} WHERE {_kept(marker)}), "
        f"fsum({value}) / count(*), max({value}) - min({value}), max(abs({value})) FROM {written.source_rows}"
    )
    if mean is None or (kept is not None and abs(kept - mean) <= SLACK * spread + 1e-12 * largest):
        return []
    return ["the mean of a column's means is not that of the source"]


def _check_others(session: Session, policy: Policy, marker: str, written: Written) -> list[str]:
    """Whether the columns that are not aggregated have the source's values, equally often."""
    roles = {attribute.column: attribute.role for attribute in policy.attributes}
    others = [name for name, _ in written.types if roles.get(name) in (Role.SENSITIVE, Role.INSENSITIVE)]
    if not others:
        return []
    names = ", ".join(quoted(name) for name in others)
    types = dict(written.source_types)
    values = ", ".join(
        f"CAST({spelled(f'p.{quoted(name)}', types[name])} AS {written.type_of(name)}) AS v{i}"
        for i, name in enumerate(others)
    )
    rows = f"SELECT {names}, 1 FROM {quoted(*written.rows)} WHERE {_kept(marker)}"
    source = f"SELECT {values}, -1 FROM {written.source_rows} AS p"
    differ = _differ(session, len(others), rows, source)
    return ["the rows do not have the source's other values"] if differ else []


# --- for both ---------------------------------------------------------------------------------------------------------


def _identifying(columns: _Columns, written: Written) -> list[str]:
    """The names of the values that identify members: `x0`, … of aggregated columns, `s0`, … of sensitive ones.

    And `w`, whose they are, where people count.
    """
    names = [*(f"x{j}" for j in range(len(columns))), *(f"s{i}" for i in range(len(written.members or ())))]
    return [*names, "w"] if written.people else names


def _values(of: str, columns: _Columns, written: Written) -> str:
    """The aggregated columns of rows of the source as `x0`, `x1`, …."""
    types = dict(written.source_types)
    return ", ".join(
        f"{spelled(f'{of}.{quoted(aggregate.column)}', types[aggregate.column])} AS x{j}"
        for j, (aggregate, _) in enumerate(columns)
    )


def _kept(marker: str) -> str:
    return f"NOT {quoted(marker)}" if marker else "TRUE"


def _differ(session: Session, columns: int, more: str, less: str) -> bool:
    """Whether two queries, of that many columns and a number of records each, have different records."""
    keys = ", ".join(f"k{i}" for i in range(columns))
    other: int = session.value(
        f"SELECT count(*) FROM (SELECT 1 FROM (SELECT * FROM ({more}) UNION ALL SELECT * FROM ({less})) "
        f"AS counted({keys}, n) GROUP BY {keys} HAVING sum(n) <> 0)"
    )
    return other > 0
