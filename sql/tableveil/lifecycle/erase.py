"""Erases people: their rows, and what the ledger keeps of them to recognize people again."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, column, drop, sql, table, try_cast
from tableveil.errors import InvalidError, NearestNames, shortened
from tableveil.lifecycle.left_values import forget_left
from tableveil.lifecycle.withdraw import take_back_trial
from tableveil.loading import empty
from tableveil.policy import TableReference
from tableveil.source.model import Column
from tableveil.source.sketch import hashed
from tableveil.source.tables import columns_of, described_table, find_table, without_values
from tableveil.state import answered_requests, sketches, trials
from tableveil.state import persons as digests
from tableveil.state.migrate import fingerprint_key
from tableveil.state.releases import RELEASES, earlier_releases, seen_among

_PERSONS, _ROWS = table("erased_persons", "", "temp"), table("erased_rows", "", "temp")


@dataclass(frozen=True, slots=True)
class Erased:
    """The result of an erasure.

    `persons` were asked for, and `absent` of them had no rows in the table. The releases that were made of the table
    hold some of them (`holding`), or have no digests that would tell (`untold`); all of these are `releases`. Trials
    that do are gone by that. So are `worksheets` of the table with values that nobody else has; `places` name what else
    is stored with one.
    """

    rows: int
    person_column: str
    persons: int
    absent: int
    holding: tuple[int, ...]
    untold: tuple[int, ...]
    releases: tuple[int, ...]
    worksheets: int
    places: tuple[str, ...]


def erase(session: Session, target: TableReference, person_column: str, persons: Sequence[str]) -> Erased:
    """Removes the rows of people, and their values from the samples and digests of releases; in a transaction.

    Without a column, it is the one by which policies for releases of the table identify people.

    Raises:
        InvalidError: there is no such column, or none is known; or some persons cannot be values of it.
    """
    releases = earlier_releases(session.ledger, [target], None)
    # A query has no source table.
    policies = session.ledger.rows(
        "SELECT number, policy, source_table <> '' FROM tableveil.releases WHERE list_contains(?::BIGINT[], number)",
        [releases],
    )
    whose = [(number, _identifying(target, document), of_table) for number, document, of_table in policies]
    types = dict(described_table(session, target))
    # A release that its principal may not see offers no column.
    told = seen_among(session.ledger, releases)
    person_columns = {name for number, name, of_table in whose if of_table and name is not None and number in told}
    person = _found_column(person_column, sorted(person_columns), list(types))
    _stage_persons(session, persons, types[person])
    of_people = exp.In(this=column(person), query=exp.select(column("person")).from_(_PERSONS).subquery())
    rows = exp.select("*").from_(table(target.table, target.schema, target.catalog)).where(of_people.copy())
    session.stage("erased_rows", rows)
    columns = [each for each in columns_of(session, target) if isinstance(each, Column)]
    key = fingerprint_key(session.ledger)
    digests_known = digests.known_of(session.ledger, releases)
    erasure, holding = digests.PersonEraser(session.ledger), set[int]()
    for release, name, of_table in whose:
        # Others may identify people by another column than this time. Columns of a query may have any name.
        own = name if of_table and name is not None else person
        sampled = sketches.sampled_columns(session.ledger, release) if of_table else []
        samples = hashed(session, _ROWS, columns, sampled, key)
        sketches.subtract(session.ledger, release, samples, {name: own} if name is not None and own in samples else {})
        if own in types:
            there = (_PERSONS, "person") if own == person else (_ROWS, own)
            holding |= erasure.erase([release], *there)
    counts = "SELECT (SELECT count(*) FROM $persons), (SELECT count(DISTINCT $person) FROM $rows)"
    wanted, row = session.row(sql(counts, persons=_PERSONS, person=column(person), rows=_ROWS))
    removed = empty(session, target, of_people)
    answered_requests.forget_answers(session.ledger)
    gone, places = forget_left(session, target, columns, _ROWS, releases)
    places += sorted({place for _, document, _ in policies for place in _elsewhere(session, target, document)})
    for staged in (_PERSONS, _ROWS):
        session.execute(drop("TABLE", staged))
    untold = {*releases} - digests_known
    tried = trials.among(session.ledger, releases)
    for trial in RELEASES.among(session.ledger, tried & (holding | untold)):
        take_back_trial(session, trial, "An erasure removed people whom it holds, or may hold.")
    held, unknown, of_table = (tuple(sorted({*those} - tried)) for those in (holding, untold, releases))
    return Erased(removed, person, wanted, wanted - row, held, unknown, of_table, gone, tuple(places))


def _identifying(target: TableReference, document: str) -> str | None:
    """The column of a table that identifies people by a policy: of its source, or of one of its related tables."""
    policy = json.loads(document)
    if "tables" not in policy:
        column_: str | None = policy.get("person_column")
        return column_
    return dict(_related(policy)).get((target.schema.casefold(), target.table.casefold()))


def _related(policy: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Related tables of a policy, each with the column that has the key of people."""
    people, events = policy["tables"].get("people", {}), policy["tables"].get("events", ())
    schema, key = people.get("schema", "main"), people.get("key", "")
    yield (schema.casefold(), people.get("table", "").casefold()), key
    for event in events:
        place = event.get("schema", schema).casefold(), event.get("table", "").casefold()
        yield place, event.get("person", key)


def _elsewhere(session: Session, target: TableReference, document: str) -> Iterator[str]:
    """The other related tables of a policy that still have rows of the people."""
    policy = json.loads(document)
    for (schema, name), person in _related(policy) if "tables" in policy else ():
        if (schema, name) == (target.schema.casefold(), target.table.casefold()):
            continue
        reference, _ = find_table(session, TableReference("", schema, name), "table")
        if reference is None:
            continue
        of_people = "CAST($person AS VARCHAR) IN (SELECT CAST(person AS VARCHAR) FROM $persons)"
        count, rows = f"SELECT count(*) FROM $rows WHERE {of_people}", table(reference.table, reference.schema)
        if session.value(sql(count, rows=rows, person=column(person), persons=_PERSONS)):
            yield f"tables/{reference.schema}.{reference.table}"


def _found_column(wanted: str, known: Sequence[str], names: Sequence[str]) -> str:
    """The table's column of that name, or the only one that is known to identify people."""
    if wanted:
        if match := next((name for name in names if name.casefold() == wanted.casefold()), None):
            return match
        found, expected, nearest = shortened(wanted), "a column of the table", NearestNames(names)(wanted)
        raise InvalidError.of("COLUMN_NOT_FOUND", "person_column", found, expected, nearest)
    if len(known) == 1 and known[0] in names:
        return known[0]
    found = f"nothing, and releases of the table name {len(known) or 'none'}"
    raise InvalidError.of("PERSON_COLUMN_UNKNOWN", "person_column", found, "the column that identifies a person")


def _stage_persons(session: Session, persons: Sequence[str], type_: str) -> None:
    """Puts the different persons into a temporary table, as values of the type."""
    value = alias(try_cast(column("given"), type_), "person")
    with session.relation("given_persons", pa.table({"given": pa.array(sorted(set(persons)), pa.string())})):
        session.stage(_PERSONS.name, exp.select(column("given"), value).from_(table("given_persons")))
    # 007 must not erase the person 7.
    changed = "lower(CAST(person AS VARCHAR)) IS DISTINCT FROM lower(given)"
    if misfits := session.value(sql(f"SELECT count_if({changed}) FROM $persons", persons=_PERSONS)):
        found = f"{misfits:,} that are no values of type {without_values(type_)}, as the table shows them"
        expected = "one value of the person column each"
        raise InvalidError.of("PERSONS_INVALID", "persons", found, expected, "Nothing was erased.")
