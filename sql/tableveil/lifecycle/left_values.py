"""Values that only erased people had in a table: what is stored of them elsewhere goes, or is named."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlglot import exp

from tableveil.backend import Ledger, Session, alias, cast, column, drop, folded, table, united
from tableveil.policy import TableReference
from tableveil.source.model import Column
from tableveil.state import hierarchies, worksheets
from tableveil.state.seen import UNHIDDEN, Condition, by_owner, by_reads, by_table, evidence

_VALUES = table("left_values", "", "temp")

_PRIVACY = "'privacy of ' || table_schema || '.' || table_name || ', version ' || version"

_LABELLED = frozenset({"label", "value", "class_labels"})
"""The fields of documents that have values of columns, or labels that may be such."""

_TOKENS = (
    'SELECT name, unnest(regexp_extract_all(document, \'"(?:[^"\\\\]|\\\\.)*"\')) AS token FROM documents',
    "SELECT name, json_extract_string(token, '$') AS text FROM tokens WHERE json_valid(token)",
    "SELECT name, text FROM texts UNION SELECT name, "
    "replace(unnest(regexp_extract_all(text, '''((?:[^'']|'''')*)''', 1)), '''''', '''') FROM texts",
)
"""The strings of JSON documents, and the literals in those that are SQL."""

_WITH_VALUE = (
    "WITH documents AS (SELECT {name} AS name, {document} AS document FROM tableveil.{table} WHERE {seen}), "
    f"tokens AS ({_TOKENS[0]}), texts AS ({_TOKENS[1]}), words AS ({_TOKENS[2]}) "
    "SELECT DISTINCT name FROM words SEMI JOIN temp.main.left_values ON text = value ORDER BY name"
)


def forget_left(
    session: Session, target: TableReference, columns: Sequence[Column], erased: exp.Table, releases: Collection[int]
) -> tuple[int, list[str]]:
    """Deletes what is stored of values of erased rows that no row of the table has any more; call it in a transaction.

    Worksheets of the table that hold one go, labels in the evidence of the `releases` that were made of it, rows in
    hierarchies that somebody typed in their policies or in the table's declared privacy, and older versions of declared
    privacy. Returns the number of the worksheets, and the names of other things that hold one and that the session
    shows: jobs, releases, hierarchies, worksheets of other tables, declared privacy.
    """
    session.stage(_VALUES.name, united([_left(target, each, erased) for each in columns]))
    gone, named = 0, list[str]()
    if session.value(f"SELECT count(*) FROM {_VALUES.sql()}"):
        gone = worksheets.forget(session.ledger, target, _holding(session.ledger, "worksheets", "number", "contents"))
        _forget_labels(session.ledger, releases)
        _forget_typed(session.ledger, target, releases)
        _forget_older(session.ledger)
        named = list(_named(session.ledger, target))
    session.execute(drop("TABLE", _VALUES))
    return gone, named


def _left(target: TableReference, of: Column, erased: exp.Table) -> exp.Select:
    """The texts of a column's values in the erased rows that the table has none of."""
    is_there = exp.Not(this=column(of.name).is_(exp.null()))
    there = exp.select(column(of.name)).from_(table(target.table, target.schema, target.catalog)).where(is_there)
    here = exp.Not(this=exp.In(this=column(of.name), query=there.subquery()))
    return exp.select(alias(cast(column(of.name), "VARCHAR"), "value")).from_(erased).where(is_there.copy(), here)


def _holding(ledger: Ledger, stored: str, name: str, document: str, condition: Condition = UNHIDDEN) -> list[Any]:
    """The rows of a table of the state whose documents hold a value, by an expression that names them."""
    seen, values = condition
    return _first(ledger, _WITH_VALUE.format(name=name, document=document, table=stored, seen=seen), values)


def _first(ledger: Ledger, query: str, values: Sequence[object]) -> list[Any]:
    return [found for (found,) in ledger.rows(query, values)]


def _named(ledger: Ledger, target: TableReference) -> Iterator[str]:
    """The other things that hold a value, if the ledger shows them."""
    shown = ledger.visibility
    own, values = by_owner(shown)
    unreleased = (f"({own}) AND number NOT IN (SELECT job FROM tableveil.releases)", values)
    named = {*_holding(ledger, "jobs", "'jobs/' || number", "policy || options", unreleased)}
    read, values = by_reads(shown.owned)
    policies = "array_to_string(json_extract_string(document, '$.alternatives[*].policy'), ',')"
    documents = f"request || to_json(repair_query) || coalesce({policies}, '')"
    named.update(_holding(ledger, "proposals", "'jobs/' || job", documents, (read, values)))
    with_values = f"has_record_risks AND source_schema = ? AND source_table = ? AND {read}"
    query = f"SELECT 'jobs/' || job FROM tableveil.risk_analyses WHERE {with_values}"
    named.update(_first(ledger, query, [target.schema, target.table, *values]))
    yield from sorted(named)
    yield from _holding(ledger, "releases", "'releases/' || number", "policy", evidence(shown))
    of_tables = by_table("table_schema", "table_name")(shown)
    yield from _holding(ledger, "worksheets", "'worksheets/' || number", "contents", of_tables)
    yield from _holding(ledger, "table_privacy", _PRIVACY, "privacy", of_tables)
    yield from hierarchies.holding(ledger, _VALUES.sql())


def _forget_older(ledger: Ledger) -> None:
    """Versions of declared privacy that hold a value, if the ledger shows them and a newer one counts."""
    of_tables, values = by_table("table_schema", "table_name")(ledger.visibility)
    newer = "EXISTS (FROM tableveil.table_privacy n WHERE n.table_schema = table_privacy.table_schema "
    newer += "AND n.table_name = table_privacy.table_name AND n.version > table_privacy.version)"
    older = _holding(ledger, "table_privacy", _PRIVACY, "privacy", (f"{of_tables} AND {newer}", values))
    ledger.execute(f"DELETE FROM tableveil.table_privacy WHERE list_contains(?::VARCHAR[], {_PRIVACY})", [older])


def _forget_typed(ledger: Ledger, target: TableReference, releases: Collection[int]) -> None:
    """Rows of hierarchies in policies of releases and of their jobs, what these stored, and the table's privacy."""
    numbers: list[object] = [list(releases)]
    values = set(_first(ledger, "FROM temp.main.left_values", []))
    of_releases = "list_contains(?::BIGINT[], number)"
    of_jobs = f"number IN (SELECT job FROM tableveil.releases WHERE {of_releases})"
    of_table: Condition = ("table_schema = ? AND table_name = ?", [folded(target.schema), folded(target.table)])
    for stored, name, field, condition in (
        ("releases", "number", "policy", (of_releases, numbers)),
        ("jobs", "number", "policy", (of_jobs, numbers)),
        ("table_privacy", _PRIVACY, "privacy", of_table),
    ):
        for found in _holding(ledger, stored, name, field, condition):
            document = ledger.value(f"SELECT {field} FROM tableveil.{stored} WHERE {name} = ?", [found])
            untyped = _compact(_untyped(json.loads(document), values))
            ledger.execute(f"UPDATE tableveil.{stored} SET {field} = ? WHERE {name} = ?", [untyped, found])
    used = f"SELECT hierarchy FROM tableveil.release_attributes WHERE {of_releases.replace('number', 'release')}"
    hierarchies.forget_typed(ledger, _VALUES.sql(), set(_first(ledger, used, numbers)))


def _untyped(document: Any, values: Collection[str]) -> Any:
    """The document without the rows of such values in its hierarchies; one that would have no row is as it was."""
    if isinstance(document, list):
        return [_untyped(each, values) for each in document]
    if not isinstance(document, dict):
        return document
    result = {name: _untyped(each, values) for name, each in document.items()}
    rows = [row for row in document.get("inline", {}).get("rows", ()) if row["labels"][0] not in values]
    return result | {"inline": {"rows": rows}} if rows else result


def _forget_labels(ledger: Ledger, releases: Collection[int]) -> None:
    """Labels of the evidence, and of analyses, that are such values."""
    of_releases, numbers = "list_contains(?::BIGINT[], release)", [list(releases)]
    is_left = "value IN (FROM temp.main.left_values)"
    ledger.execute(f"DELETE FROM tableveil.sensitive_distributions WHERE {of_releases} AND {is_left}", numbers)
    values = set(_first(ledger, "FROM temp.main.left_values", []))
    for stored in ("utility_reports", "classifications"):
        of_stored = f"SELECT number, document FROM tableveil.{stored} WHERE {of_releases}"
        for number, document in ledger.rows(of_stored, numbers):
            unlabelled = _compact(_unlabelled(json.loads(document), values))
            if unlabelled != document:
                ledger.execute(f"UPDATE tableveil.{stored} SET document = ? WHERE number = ?", [unlabelled, number])


def _unlabelled(document: Any, values: Collection[str], *, is_label: bool = False) -> Any:
    """The document with another text in place of such values where it has labels and values."""
    if isinstance(document, dict):
        return {name: _unlabelled(each, values, is_label=name in _LABELLED) for name, each in document.items()}
    if isinstance(document, list):
        return [_unlabelled(each, values, is_label=is_label) for each in document]
    return "(erased)" if is_label and document in values else document


def _compact(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
