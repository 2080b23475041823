"""Checks the columns beside labels from the written rows: each is a function of the label, and the ranks are its order.

Labels are read by SQL of its own, not by the code that wrote the bounds.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from tableveil.backend import Session, WarehouseSession
from tableveil.hierarchy import Combination, ValueKind
from tableveil.hierarchy.rules import OrderBased, OrderLabels, Redaction
from tableveil.policy import AttributePolicy, Policy
from tableveil.verification.text import differing, near, quoted
from tableveil.verification.written import CompanionColumns, Written

_CLOSED = r"\[([^,]+), ([^,]+)[\])]"
_NUMBER = r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = rf"({_DAY})[ T]([0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?)[0-9]*(\+00)?"

_YEAR = "CAST(left(label, 4) AS INTEGER)"
_PERIODS = {
    "[0-9]{4}": (f"make_date({_YEAR}, 1, 1)", "INTERVAL 1 YEAR"),
    "[0-9]{4}s": (f"make_date({_YEAR}, 1, 1)", "INTERVAL 10 YEAR"),
    "[0-9]{4}-Q[1-4]": (f"make_date({_YEAR}, 3 * CAST(right(label, 1) AS INTEGER) - 2, 1)", "INTERVAL 3 MONTH"),
    "[0-9]{4}-[0-9]{2}": (f"make_date({_YEAR}, CAST(right(label, 2) AS INTEGER), 1)", "INTERVAL 1 MONTH"),
    "[0-9]{4}-W[0-9]{2}": ("CAST(strptime(label || '-1', '%G-W%V-%u') AS DATE)", "INTERVAL 7 DAY"),
}
"""The first day of the periods of each form, and how long they last."""

_AND_MORE = "regexp_full_match(label, '[0-9]+[+]')"
_COUNTED = (ValueKind.INTEGER, ValueKind.DATE)

_KEY = (
    "list_transform(regexp_extract_all(ltrim(label, '[({<>=≤≥ '), '[0-9]+|[^0-9]+'), "
    "lambda part: if(regexp_full_match(part, '[0-9]+'), lpad(part, greatest(length(part), 40)::INTEGER, '0'), part))"
)
"""Texts in the order of the numbers in them."""


_TYPES = ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP")
"""Types of bounds. A label has them in the two columns of its type, and NULL in those of the others."""


def check_label_columns(session: WarehouseSession, policy: Policy, marker: str, written: Written) -> list[str]:
    """Faults of the bounds and ranks of the rows, of the table of labels, and of class ids."""
    kept = f"NOT {quoted(marker)}" if marker else "TRUE"
    problems = [*_check_labels(session, policy, kept, written)] if written.companions else []
    return [*problems, *_check_class_ids(session, policy, kept, written)]


def _check_labels(session: WarehouseSession, policy: Policy, kept: str, written: Written) -> Iterator[str]:
    """Checks the labels of all columns at once: `nr` numbers the columns."""
    attributes = {attribute.column: attribute for attribute in policy.attributes}
    columns = [(attributes[companion.column], companion) for companion in written.companions]
    session.collect(
        "shown_labels", " UNION ALL ".join(_shown(nr, one, kept, written) for nr, one in enumerate(written.companions))
    )
    embedded = session.embedded
    labels, shown, wrong = embedded.row(
        "SELECT (SELECT count(*) FROM (SELECT DISTINCT nr, label FROM shown_labels)), count(*), "
        f"count(*) FILTER (WHERE {_other_bounds(columns)}) FROM shown_labels"
    )
    yield from _check_range(session, written)
    if labels != shown:
        yield "rows with one label of a quasi-identifier differ in its bounds or its rank"
    else:
        if wrong:
            yield "bounds of a quasi-identifier are not those that its labels say"
        if _disordered(embedded, columns):
            yield "ranks of a quasi-identifier are not the order of its labels"
        if written.explained is not None:
            yield from _check_explained(session, written)
    embedded.execute("DROP TABLE temp.main.shown_labels")


def _check_range(session: WarehouseSession, written: Written) -> Iterator[str]:
    """Whether values lie beyond the range that closes the open ends of a column's labels."""
    types, outside = dict(written.source_types), []
    for companion in written.companions:
        if companion.range is not None:
            name = quoted(companion.column)
            ends = " AND ".join(f"CAST('{end}' AS {types[companion.column]})" for end in companion.range)
            unlisted = (
                f" AND CAST({name} AS VARCHAR) NOT IN ({', '.join(companion.listed)})" if companion.listed else ""
            )
            outside.append(f"({name} NOT BETWEEN {ends}{unlisted})")
    if outside and session.value(f"SELECT count(*) FROM {written.source_rows} WHERE {' OR '.join(outside)}"):
        yield "values lie beyond the range that closes the ends of labels"


def _shown(nr: int, companion: CompanionColumns, kept: str, written: Written) -> str:
    """The different labels of a column with all that stands beside them, and their numbers of records."""
    ends = [
        f"{quoted(end)}" if type_ == companion.type else f"NULL::{type_}"
        for type_ in _TYPES
        for end in (companion.low, companion.high)
    ]
    names = ", ".join(f"low_{type_}, high_{type_}" for type_ in _TYPES)
    return (
        f"SELECT {nr} AS nr, * FROM (SELECT {quoted(companion.column)}, {', '.join(ends)}, {quoted(companion.rank)}, "
        f"count(*) FROM {quoted(*written.rows)} WHERE {kept} GROUP BY ALL) AS shown(label, {names}, place, records)"
    )


def _other_bounds(columns: Sequence[tuple[AttributePolicy, CompanionColumns]]) -> str:
    """Whether the bounds of a label are other ones than it says."""
    stated = defaultdict[str, list[str]](list)
    for nr, (attribute, companion) in enumerate(columns):
        type_, (low, high) = companion.type or _TYPES[0], bounds_of(attribute, companion)
        stated[f"low_{type_} IS DISTINCT FROM ({low}) OR high_{type_} IS DISTINCT FROM ({high})"].append(str(nr))
    cases = [f"WHEN nr IN ({', '.join(numbers)}) THEN {other}" for other, numbers in stated.items()]
    return f"CASE {' '.join(cases)} END"


# --- bounds ---------------------------------------------------------------------------------------------------------


def bounds_of(attribute: AttributePolicy, companion: CompanionColumns) -> tuple[str, str]:
    """The bounds of `label` in SQL."""
    if companion.bounds is None:
        return "NULL", "NULL"
    first = (
        f"CASE WHEN regexp_full_match(label, '{_CLOSED}') THEN regexp_extract(label, '{_CLOSED}', 1) "
        f"WHEN label LIKE '>= %' THEN substr(label, 4) WHEN {_AND_MORE} THEN rtrim(label, '+') "
        "WHEN label LIKE '< %' THEN NULL ELSE label END"
    )
    last = (
        f"CASE WHEN regexp_full_match(label, '{_CLOSED}') THEN regexp_extract(label, '{_CLOSED}', 2) "
        f"WHEN label LIKE '< %' THEN substr(label, 3) WHEN label LIKE '>= %' OR {_AND_MORE} THEN NULL ELSE label END"
    )
    low, high = (_point(companion.bounds, companion.type, text) for text in (first, last))
    if companion.bounds in _COUNTED:
        high = f"{high} - CAST(label LIKE '< %' AS INTEGER)"
    if companion.bounds is ValueKind.DATE:
        low, high = _of_periods(low, high)
    rule = attribute.hierarchy
    if companion.range is not None:
        ends = [f"CAST('{end}' AS {companion.type})" for end in companion.range]
        low = f"CASE WHEN label LIKE '< %' THEN {ends[0]} ELSE {low} END"
        high = f"CASE WHEN label LIKE '>= %' THEN {ends[1]} ELSE {high} END"
    if isinstance(rule, Combination):
        # No rule declares the bounds of labels that are listed.
        listed = "', '".join(label.replace("'", "''") for row in rule.rows for label in row)
        low, high = (f"CASE WHEN label NOT IN ('{listed}') THEN {end} END" for end in (low, high))
    return low, high


def _point(kind: ValueKind, type_: str, text: str) -> str:
    match kind:
        case ValueKind.DATE:
            return f"CASE WHEN regexp_full_match({text}, '{_DAY}|{_TIME}') THEN CAST(left({text}, 10) AS DATE) END"
        case ValueKind.TIMESTAMP:
            day, time = (f"regexp_extract({text}, '{_TIME}', {i})" for i in (1, 2))
            return f"CASE WHEN regexp_full_match({text}, '{_TIME}') THEN CAST({day} || ' ' || {time} AS {type_}) END"
        case _:
            return f"CASE WHEN regexp_full_match({text}, '{_NUMBER}') THEN CAST({text} AS {type_}) END"


def _of_periods(low: str, high: str) -> tuple[str, str]:
    starts, ends = "CASE", "CASE"
    for form, (first, lasting) in _PERIODS.items():
        this = f" WHEN regexp_full_match(label, '{form}') THEN"
        starts += f"{this} greatest({first}, DATE '0001-01-01')"
        ends += f"{this} CAST(least({first} + {lasting} - INTERVAL 1 DAY, DATE '9999-12-31') AS DATE)"
    before = " WHEN regexp_full_match(label, '[0-9]{4} or before') THEN"
    return f"{starts}{before} NULL ELSE {low} END", f"{ends}{before} make_date({_YEAR}, 12, 31) ELSE {high} END"


# --- ranks ----------------------------------------------------------------------------------------------------------


def _disordered(session: Session, columns: Sequence[tuple[AttributePolicy, CompanionColumns]]) -> bool:
    """Whether the ranks are other numbers than the places of the labels in their order; NULL has none."""
    declared = [
        (nr, label, first, last)
        for nr, (attribute, _) in enumerate(columns)
        if isinstance(attribute.hierarchy, OrderBased)
        for label, (first, last) in _declared(attribute.hierarchy).items()
    ]
    types = {"of_nr": pa.int32(), "of": pa.string(), "first": pa.int64(), "last": pa.int64()}
    places = pa.table(
        [pa.array([row[i] for row in declared], type_) for i, type_ in enumerate(types.values())], [*types]
    )
    plain = [str(nr) for nr, (attribute, _) in enumerate(columns) if isinstance(attribute.hierarchy, Redaction)]
    has_key = f"of IS NULL AND NOT bounded AND nr NOT IN ({', '.join(plain) or '-1'})"
    ends = [f"{end}_{type_}" for type_ in _TYPES for end in ("low", "high")]
    lows, highs = ends[::2], ends[1::2]
    bounded = " OR ".join(f"{end} IS NOT NULL" for end in ends)
    # Different numbers may be equal as floating-point numbers: their ranks may be in any order.
    tied = "low_DOUBLE IS NOT NULL OR high_DOUBLE IS NOT NULL"
    below = " AND ".join(f"{low} IS NULL" for low in lows)
    order = ", ".join(
        [
            "NOT bounded",
            *(f"{low} NULLS FIRST" for low in lows),
            *(f"if({below}, {high}, NULL)" for high in highs),
            *(f"{high} NULLS LAST" for high in highs if high != "high_DOUBLE"),
            f"label = '*', first, last, key, if({tied}, NULL, label)",
        ]
    )
    with session.relation("declared_places", places):
        wrong: bool = session.value(
            f"WITH ordered AS MATERIALIZED (SELECT *, if({has_key}, {_KEY}, NULL) AS key FROM ("
            f"SELECT s.*, of, first, last, {bounded} AS bounded FROM shown_labels AS s "
            "LEFT JOIN declared_places ON of_nr = nr AND of = label WHERE label IS NOT NULL)) "
            "SELECT (SELECT count(DISTINCT (nr, place)) <> count(*) FROM ordered) "
            "OR (SELECT count(place) > 0 FROM shown_labels WHERE label IS NULL) "
            "OR EXISTS (SELECT 1 FROM (SELECT place, rank() OVER by_order AS least, count(*) OVER by_order AS most "
            f"FROM ordered WINDOW by_order AS (PARTITION BY nr ORDER BY {order})) "
            "WHERE place IS NULL OR place NOT BETWEEN least AND most)"
        )
    return wrong


def _declared(rule: OrderBased) -> Mapping[str, tuple[int, int]]:
    """Per label the places of the first and the last value under it."""
    places: dict[str, tuple[int, int]] = {}
    last = len(rule.values) - 1
    for level in range(len(rule.fan_outs) + 1):
        size = math.prod(rule.fan_outs[:level])
        for start in range(0, last + 1, size):
            end = min(start + size - 1, last)
            group = rule.values[start : end + 1]
            label = f"{{{', '.join(group)}}}" if rule.labels is OrderLabels.SET else f"[{group[0]}, {group[-1]}]"
            places[group[0] if start == end else label] = (start, end)
    return places


# --- the table of labels, and class ids -----------------------------------------------------------------------------


def _check_explained(session: WarehouseSession, written: Written) -> Iterator[str]:
    """Whether the public table of labels has all labels of the rows, with their bounds, and no others."""
    assert written.explained is not None
    explained = near(session, "written_labels", f"SELECT * FROM {quoted(*written.explained)}")
    names = ", ".join(f"({nr}, ?)" for nr in range(len(written.companions)))
    counted = [str(nr) for nr, companion in enumerate(written.companions) if companion.bounds in _COUNTED]
    ends = " OR ".join(f"high_{type_} IS NOT NULL" for type_ in _TYPES)
    within = f"nr IN ({', '.join(counted) or '-1'}) OR (label NOT LIKE '%)' AND label NOT LIKE '< %')"
    expected = (
        "SELECT name, label, place, records, coalesce(low_BIGINT::DOUBLE, low_DOUBLE), "
        "coalesce(high_BIGINT::DOUBLE, high_DOUBLE), coalesce(low_DATE::TIMESTAMP, low_TIMESTAMP), "
        f"coalesce(high_DATE::TIMESTAMP, high_TIMESTAMP), CASE WHEN {ends} THEN {within} END "
        f"FROM shown_labels JOIN (VALUES {names}) AS names(of_nr, name) ON nr = of_nr"
    )
    said = (
        "SELECT column_name, label, rank, records, number_from, number_to, time_from, time_to, to_included "
        f"FROM {explained}"
    )
    differ, others = session.embedded.row(
        f"WITH expected AS MATERIALIZED ({expected}) SELECT ({differing('FROM expected', said)}), "
        f"(SELECT count(*) FROM {explained} WHERE column_name NOT IN (SELECT name FROM expected))",
        [companion.column for companion in written.companions],
    )
    if differ:
        yield "the table of labels does not say what the rows say"
    if others:
        yield "the table of labels has other columns' labels"


def _check_class_ids(session: WarehouseSession, policy: Policy, kept: str, written: Written) -> Iterator[str]:
    """Whether classes are numbered in the order of their labels, and rows have the numbers of their classes."""
    if not written.class_columns.id:
        return
    classes = near(session, "written_classes", f"SELECT * FROM {quoted(*written.classes)}")
    number = quoted(written.class_columns.id)
    labels = written.class_labels(policy)
    order = ", ".join(f"{quoted(name)} NULLS LAST" for name in labels)
    ordered = f"SELECT {number} AS id, row_number() OVER (ORDER BY {order}) AS place FROM {classes}"
    if session.embedded.value(f"SELECT count(*) FROM ({ordered}) WHERE id IS DISTINCT FROM place"):
        yield "the ids of classes do not number them in the order of their labels"
    if written.class_id:
        same = " AND ".join(f"c.{quoted(name)} IS NOT DISTINCT FROM r.{quoted(name)}" for name in labels)
        names = ", ".join(quoted(name) for name in labels)
        shown = f"SELECT DISTINCT {names}, {quoted(written.class_id)} AS id FROM {quoted(*written.rows)} WHERE {kept}"
        query = f"SELECT count(*) FROM {near(session, 'shown_ids', shown)} AS r LEFT JOIN {classes} AS c ON {same}"
        if session.embedded.value(f"{query} WHERE r.id IS DISTINCT FROM c.{number}"):
            yield "rows do not have the ids of their classes"
