"""Checks estimated tables by their class ids: values lie under their labels, and all else is as in the rows."""

from collections.abc import Sequence

from tableveil.hierarchy import ValueKind
from tableveil.verification.text import quoted
from tableveil.verification.written import Judged, Written

_UNDER = "shown_under"
_ADDED = (("class_id", "BIGINT"), ("estimated", "BOOLEAN"))


def check_estimated(judged: Judged) -> list[str]:
    """Faults of the estimated tables, which their columns' types divide into numbers, texts and unchanged values."""
    session, written = judged.session.embedded, judged.written
    beside = {name for name in written.added if name != written.class_id}
    names = [name for name, _ in written.types if name not in beside and name != written.class_id]
    labelled = {companion.column: companion for companion in written.companions}
    types, numbers = dict(written.types), set[str]()
    problems = []
    for at in written.estimated:
        columns = session.described(f"SELECT * FROM {quoted(*at)}")
        own = dict(columns)
        drawn = {n for n in names if n in labelled and labelled[n].bounds and own.get(n) == _source_type(written, n)}
        numbers = drawn if at == written.estimated[0] else numbers
        if columns != [(n, own[n] if n in drawn else types[n]) for n in names] + list(_ADDED):
            problems.append("an estimated table has other columns than the rows")
        if drawn != numbers:
            problems.append("the estimated tables differ in their columns")
    if problems:
        return problems
    session.collect(_UNDER, _under(written, [n for n in labelled if n not in numbers]))
    bounded = {
        name
        for (name,) in session.rows(
            f"SELECT DISTINCT column_name FROM {_labels(written)} "
            "WHERE coalesce(number_from, number_to) IS NOT NULL OR coalesce(time_from, time_to) IS NOT NULL"
        )
    }
    plain = [name for name in names if name not in labelled]
    as_in_rows = ", ".join(f"r.{quoted(name)}" for name in (*judged.quasi_identifiers, *plain))
    rows = f"SELECT -1, {_digest(as_in_rows)}, 0, 0 FROM {quoted(*written.rows)} AS r"
    found = [_checked(judged, nr, list(labelled), plain, numbers, bounded) for nr in range(len(written.estimated))]
    expected, *digests = session.rows(f"{' UNION ALL '.join([rows, *found])} ORDER BY 1")
    session.execute(f"DROP TABLE temp.main.{_UNDER}")
    if any(digest[1:4] != expected[1:4] for digest in digests):
        problems.append("the estimated tables do not have the classes and the other values of the rows")
    if any(digest[4] for digest in digests):
        problems.append(f"{max(digest[4] for digest in digests)} estimated rows have values outside of their labels")
    if any(digest[5] for digest in digests):
        problems.append("estimated rows do not say that they are")
    return problems


def _source_type(written: Written, name: str) -> str:
    return dict(written.source_types)[name]


def _labels(written: Written) -> str:
    assert written.explained is not None, "estimates need the table of labels"
    return quoted(*written.explained)


def _digest(values: str) -> str:
    """Three numbers that differ if the rows do, whatever their order."""
    return f"count(*), coalesce(sum(hash({values})::HUGEINT), 0), coalesce(bit_xor(hash({values})), 0)"


def _under(written: Written, names: Sequence[str]) -> str:
    """The pairs of shown labels of which the hierarchy has one under the other: `name`, `label`, `leaf`."""
    pairs = ["SELECT '' AS name, '' AS label, '' AS leaf WHERE FALSE"]
    shown = _labels(written)
    for labels in written.labels:
        if labels.column not in names:
            continue
        name = "'" + labels.column.replace("'", "''") + "'"
        own, *higher = map(quoted, labels.columns)
        path = ", ".join([f"{own}::VARCHAR", *higher])
        places = f"range(1, {len(labels.columns) + 1})"
        pairs.append(
            f"SELECT DISTINCT {name}, path[j], path[i] FROM (SELECT [{path}] AS path FROM {quoted(labels.table)} "
            f"WHERE {own} IS NOT NULL), unnest({places}) AS lower(i), unnest({places}) AS upper(j) WHERE i <= j "
            f"AND path[i] IN (SELECT label FROM {shown} WHERE column_name = {name}) "
            f"AND path[j] IN (SELECT label FROM {shown} WHERE column_name = {name})"
        )
    return " UNION ".join(pairs)


def _checked(
    judged: Judged, nr: int, labelled: Sequence[str], plain: Sequence[str], numbers: set[str], bounded: set[str]
) -> str:
    """The digest of an estimated table beside its classes, and how many values lie outside of their labels."""
    written, joins = judged.written, []
    kinds = {companion.column: companion.bounds for companion in written.companions}
    outside = [f"c.{quoted(written.class_columns.id)} IS NULL"]
    for i, column in enumerate(labelled):
        name, value, label = "'" + column.replace("'", "''") + "'", f"e.{quoted(column)}", f"c.{quoted(column)}"
        if column in numbers:
            joins.append(f"LEFT JOIN {_labels(written)} AS l{i} ON l{i}.column_name = {name} AND l{i}.label = {label}")
            outside.append(_outside(f"l{i}", value, label, kinds[column], known=column in bounded))
        else:
            joins.append(
                f"LEFT JOIN {_UNDER} AS l{i} ON l{i}.name = {name} AND l{i}.label = {label} AND l{i}.leaf = {value}"
            )
            # A text that no record shows is unknown; others may lie only under a label that has labels below it.
            above = f"SELECT label FROM {_UNDER} WHERE name = {name} AND label <> leaf"
            unknown = f"{value} IS NULL AND {label} IN ({above})"
            outside.append(f"({value} IS DISTINCT FROM {label} AND l{i}.leaf IS NULL AND ({unknown}) IS NOT TRUE)")
    values = ", ".join(
        [*(f"c.{quoted(name)}" for name in judged.quasi_identifiers), *(f"e.{quoted(name)}" for name in plain)]
    )
    return (
        f"SELECT {nr}, {_digest(values)}, count(*) FILTER ({' OR '.join(outside)}), "
        f"count(*) FILTER (e.estimated IS DISTINCT FROM TRUE) FROM {quoted(*written.estimated[nr])} AS e "
        f"LEFT JOIN {quoted(*written.classes)} AS c ON c.{quoted(written.class_columns.id)} = e.class_id "
        f"{' '.join(joins)}"
    )


def _outside(of: str, value: str, label: str, kind: ValueKind | None, *, known: bool) -> str:
    """Whether a number or time is not among those of its label; without any bounds of a column it is NULL."""
    timed = kind in (ValueKind.DATE, ValueKind.TIMESTAMP)
    low, high = (f"{of}.{'time' if timed else 'number'}_{end}" for end in ("from", "to"))
    compared = f"{value}{'::DATE' * (kind is ValueKind.DATE)}::{'TIMESTAMP' if timed else 'DOUBLE'}"
    missing = f"{label} IS NULL" if known else "TRUE"
    return (
        f"(({value} IS NULL) <> ({missing}) OR coalesce({compared} < {low} OR {compared} > {high} "
        f"OR ({compared} = {high} AND NOT {of}.to_included), FALSE))"
    )
