"""Checks the columns beside labels from the written rows: each is a function of the label, and the ranks are its order.

Labels are read by SQL of its own, not by the code that wrote the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pyarrow as pa

from tableveil.backend import Session, WarehouseSession
from tableveil.hierarchy import Combination, OrderBased, OrderLabels, Redaction, ValueKind
from tableveil.policy import AttributePolicy, Policy
from tableveil.verification.text import near, quoted
from tableveil.verification.written import Beside, Written

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


def check_label_columns(session: WarehouseSession, policy: Policy, marker: str, written: Written) -> list[str]:
    """Faults of the bounds and ranks of the rows, of the table of labels, and of class ids."""
    attributes = {attribute.column: attribute for attribute in policy.attributes}
    kept = f"NOT {quoted(marker)}" if marker else "TRUE"
    embedded, problems, explained = session.embedded, list[str](), ""
    if written.explained is not None:
        explained = near(session, "written_labels", f"SELECT * FROM {quoted(*written.explained)}")
    for beside in written.beside:
        ends = (
            f"{quoted(beside.low)}, {quoted(beside.high)}"
            if beside.bounds is not None
            else "NULL::BIGINT, NULL::BIGINT"
        )
        session.collect(
            "shown_labels",
            f"SELECT * FROM (SELECT {quoted(beside.column)}, {ends}, {quoted(beside.rank)}, count(*) "
            f"FROM {quoted(*written.rows)} WHERE {kept} GROUP BY ALL) AS shown(label, low, high, place, records)",
        )
        problems += _check_column(embedded, attributes[beside.column], beside, explained)
        embedded.execute("DROP TABLE temp.main.shown_labels")
    if explained:
        others = embedded.value(
            f"SELECT count(*) FROM {explained} WHERE NOT list_contains(?::VARCHAR[], column_name)",
            [[beside.column for beside in written.beside]],
        )
        problems += ["the table of labels has other columns' labels"] if others else []
    return [*problems, *_check_class_ids(session, kept, written)]


def _check_column(session: Session, attribute: AttributePolicy, beside: Beside, explained: str) -> Iterator[str]:
    several = session.value(
        "SELECT count(*) <> (SELECT count(*) FROM (SELECT DISTINCT label FROM shown_labels)) FROM shown_labels"
    )
    if several:
        yield "rows with one label of a quasi-identifier differ in its bounds or its rank"
        return
    low, high = _bounds(attribute, beside)
    other = f"low IS DISTINCT FROM ({low}) OR high IS DISTINCT FROM ({high})"
    if session.value(f"SELECT count(*) FROM shown_labels WHERE {other}"):
        yield "bounds of a quasi-identifier are not those that its labels say"
    if _disordered(session, attribute, beside):
        yield "ranks of a quasi-identifier are not the order of its labels"
    if explained and _differs(session, beside, explained):
        yield "the table of labels does not say what the rows say"


# --- bounds ---------------------------------------------------------------------------------------------------------


def _bounds(attribute: AttributePolicy, beside: Beside) -> tuple[str, str]:
    """The bounds of `label` in SQL."""
    if beside.bounds is None:
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
    low, high = (_point(beside.bounds, beside.type, text) for text in (first, last))
    if beside.bounds in _COUNTED:
        high = f"{high} - CAST(label LIKE '< %' AS INTEGER)"
    if beside.bounds is ValueKind.DATE:
        low, high = _of_periods(low, high)
    rule = attribute.hierarchy
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


def _disordered(session: Session, attribute: AttributePolicy, beside: Beside) -> bool:
    """Whether the ranks are other numbers than the places of the labels in their order; NULL has none."""
    rule = attribute.hierarchy
    declared = _declared(rule) if isinstance(rule, OrderBased) else {}
    places = {
        "of": pa.array(list(declared), pa.string()),
        "first": pa.array([first for first, _ in declared.values()], pa.int64()),
        "last": pa.array([last for _, last in declared.values()], pa.int64()),
    }
    key = _KEY if not isinstance(rule, Redaction) else "NULL"
    # Different numbers may be equal as floating-point numbers: their ranks may be in any order.
    ends, tie = ("high NULLS LAST", "label") if beside.type != "DOUBLE" else ("0", "if(bounded, NULL, label)")
    order = f"NOT bounded, low NULLS FIRST, if(low IS NULL, high, NULL), {ends}, label = '*', first, last, key, {tie}"
    with session.relation("declared_places", pa.table(places)):
        session.stage(
            "ordered_labels",
            "SELECT s.*, first, last, low IS NOT NULL OR high IS NOT NULL AS bounded, "
            f"if(of IS NULL AND low IS NULL AND high IS NULL, {key}, NULL) AS key "
            "FROM shown_labels AS s LEFT JOIN declared_places ON of = label WHERE label IS NOT NULL",
        )
    wrong: bool = session.value(
        "SELECT (SELECT count(DISTINCT place) <> count(*) FROM ordered_labels) "
        "OR (SELECT count(place) > 0 FROM shown_labels WHERE label IS NULL) "
        "OR EXISTS (SELECT 1 FROM (SELECT place, rank() OVER by_order AS least, count(*) OVER by_order AS most "
        f"FROM ordered_labels WINDOW by_order AS (ORDER BY {order})) "
        "WHERE place IS NULL OR place NOT BETWEEN least AND most)"
    )
    session.execute("DROP TABLE temp.main.ordered_labels")
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


def _differs(session: Session, beside: Beside, explained: str) -> bool:
    number, time = "NULL::DOUBLE, NULL::DOUBLE", "NULL::TIMESTAMP, NULL::TIMESTAMP"
    included = "NULL::BOOLEAN"
    if beside.bounds is not None:
        within = "TRUE" if beside.bounds in _COUNTED else "label NOT LIKE '%)' AND label NOT LIKE '< %'"
        included = f"CASE WHEN high IS NOT NULL THEN {within} END"
        if beside.bounds in (ValueKind.INTEGER, ValueKind.FLOAT):
            number = "CAST(low AS DOUBLE), CAST(high AS DOUBLE)"
        else:
            time = "CAST(low AS TIMESTAMP), CAST(high AS TIMESTAMP)"
    session.stage("expected_labels", f"SELECT label, place, records, {number}, {time}, {included} FROM shown_labels")
    both = (
        "SELECT * FROM expected_labels",
        "SELECT label, rank, records, number_from, number_to, time_from, time_to, to_included "
        f"FROM {explained} WHERE column_name = ?",
    )
    differ = any(
        session.value(f"SELECT count(*) FROM ({left} EXCEPT ALL {right})", [beside.column])
        for left, right in (both, both[::-1])
    )
    session.execute("DROP TABLE temp.main.expected_labels")
    return differ


def _check_class_ids(session: WarehouseSession, kept: str, written: Written) -> Iterator[str]:
    """Whether classes are numbered in the order of their labels, and rows have the numbers of their classes."""
    if not written.class_columns.id:
        return
    classes = near(session, "written_classes", f"SELECT * FROM {quoted(*written.classes)}")
    number = quoted(written.class_columns.id)
    labels = written.class_labels
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
