"""Policy drafts, as the service offers them: describes, measures and guesses about a source; nothing is stored."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from tableveil.backend import Database, WarehouseSession, folded
from tableveil.control import Control, Stopped
from tableveil.counting import count_frequencies
from tableveil.drafting import (
    ColumnDraft,
    ColumnFacts,
    Figures,
    PolicyDraft,
    as_role,
    columns_to_measure,
    draft_columns,
    draft_policy,
    guess_role,
)
from tableveil.errors import CancelledError, Fault, NearestNames, shortened
from tableveil.hierarchy import RuleHierarchy, ValueKind
from tableveil.pipelines.risk_measures import proposed_among
from tableveil.policy import Role, TableReference
from tableveil.risk import class_sizes_by, default_size, subset_risks
from tableveil.source import RowsToAnalyze, Source, find_source, resolve_analyzed
from tableveil.source.collectible import check_collectible
from tableveil.source.drafted import column_facts
from tableveil.source.lists import lists_in
from tableveil.source.query import take_snapshot
from tableveil.source.recurring import columns_numbering_people
from tableveil.source.tables import invalid

_Found = TypeVar("_Found")

LARGEST_SUBSET = 2

MOST_ROWS_MEASURED = 10_000_000
"""Drafts of larger tables have no figures: a call is no job, which may take long and waits for its memory."""


class Drafts:
    """Guesses policies. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def draft(
        self,
        table: TableReference,
        control: Control,
        query: str = "",
        named: Mapping[Role, Sequence[str]] = MappingProxyType({}),
    ) -> PolicyDraft:
        """A draft for a table, or for the rows of a query if there is one; it is read in one transaction.

        Columns that are `named` with a role have it, whatever is guessed.

        Raises:
            InvalidError: the query cannot be a source, or has no such columns.
            NotFoundError: there is no such table.
            CancelledError: `control` says so.
        """
        return self._read({"table": table}, control, query, lambda rows, source: draft_of(rows, source, query, named))[
            0
        ]

    def related(self, tables: Mapping[str, TableReference], control: Control) -> list[PolicyDraft]:
        """A draft for each of the tables by their fields, which are read in one transaction; see `draft`."""
        for field, table in tables.items():
            if self._database.warehouse_of(table.catalog):
                expected = "a table of the server's own database, because of events"
                raise invalid("DRAFT_INVALID", "no policy can be drafted", [Fault(field, f"{table}", expected)])
        return self._read(tables, control, "", lambda rows, of: draft_of(rows, of, ""))

    def hierarchies(
        self, table: TableReference, columns: Collection[str], control: Control
    ) -> Mapping[str, RuleHierarchy]:
        """The hierarchies that a draft would give those of the columns that the table has, by folded names."""

        def drafted(session: WarehouseSession, source: Source) -> Mapping[str, RuleHierarchy]:
            drafts = _with_roles(draft_columns(column_facts(session, source.rows)), {Role.QUASI_IDENTIFIER: columns})
            by_name = {folded(one.facts.name): one.proposal for one in drafts}
            return {
                name: proposal.hierarchy for name in map(folded, columns) if (proposal := by_name.get(name)) is not None
            }

        return self._read({"table": table}, control, "", drafted)[0]

    def _read(
        self,
        tables: Mapping[str, TableReference],
        control: Control,
        query: str,
        read: Callable[[WarehouseSession, Source], _Found],
    ) -> list[_Found]:
        """Reads each table, or the query, in one state of all."""
        warehouse = "" if query else self._database.warehouse_of(next(iter(tables.values())).catalog)

        def found(rows: WarehouseSession, table: TableReference, field: str) -> _Found:
            source, _, faults = find_source(rows, table, query, field)
            if source is None:
                raise invalid("DRAFT_INVALID", "no policy can be drafted", faults)
            if source.query is not None:
                take_snapshot(rows.embedded, source)
            return read(rows, source)

        with self._database.session() as session, self._database.rows_session(session, warehouse) as rows:
            session.control = rows.control = control
            try:
                with rows.reading():
                    return [found(rows, table, field) for field, table in tables.items()]
            except Stopped:
                raise CancelledError("CANCELLED", "the draft was cancelled") from None


def draft_of(
    session: WarehouseSession, source: Source, query: str, named: Mapping[Role, Sequence[str]] = MappingProxyType({})
) -> PolicyDraft:
    """A draft for a source that was found; call it in a transaction, after the snapshot of its query."""
    figures, unmeasured = None, ""
    columns = draft_columns(_with_people(session, source, column_facts(session, source.rows)))
    _check_named(columns, named)
    columns = tuple(with_lists(session, source, one) for one in _with_roles(columns, named))
    if columns[0].facts.rows > MOST_ROWS_MEASURED:
        unmeasured = f"it has more than {MOST_ROWS_MEASURED:,} rows. Measure them with `tableveil risk`."
    else:
        figures = _measured(session, source, columns)
    draft = draft_policy(source.reference, columns, figures, unmeasured, session.warehouse)
    return replace(draft, source_query=query)


def _with_roles(drafts: Sequence[ColumnDraft], named: Mapping[Role, Collection[str]]) -> tuple[ColumnDraft, ...]:
    roles = {folded(name): role for role, names in named.items() for name in names}
    return tuple(as_role(one, roles[name]) if (name := folded(one.facts.name)) in roles else one for one in drafts)


_FIELDS = {Role.QUASI_IDENTIFIER: "quasi_identifiers", Role.SENSITIVE: "sensitive"}


def _check_named(drafts: Sequence[ColumnDraft], named: Mapping[Role, Sequence[str]]) -> None:
    names = [one.facts.name for one in drafts]
    known, nearest = set(map(folded, names)), NearestNames(names)
    roles: dict[str, Role] = {}
    faults = []
    for role, name, field in ((r, name, f"{_FIELDS[r]}[{i}]") for r in named for i, name in enumerate(named[r])):
        if folded(name) not in known:
            faults.append(Fault(field, shortened(name), "a column of the source", nearest(name)))
        elif roles.setdefault(folded(name), role) is not role:
            faults.append(
                Fault(field, f"{shortened(name)}, which is to be another one as well", "one role of a column")
            )
    if faults:
        raise invalid("DRAFT_INVALID", "no policy can be drafted", faults)


def _with_people(session: WarehouseSession, source: Source, facts: Sequence[ColumnFacts]) -> list[ColumnFacts]:
    """The facts, and which columns number people of whom some have several rows."""
    decide = {one.name for one in facts if guess_role(one).role in (None, Role.QUASI_IDENTIFIER)}
    estimated = {one.name: one.distinct for one in facts}
    numbering = columns_numbering_people(session, source, facts[0].rows, decide, estimated)
    by_name = {one.column: one for one in numbering}
    return [replace(one, agreeing=by_name[one.name].agreeing) if one.name in by_name else one for one in facts]


def with_lists(session: WarehouseSession, source: Source, draft: ColumnDraft) -> ColumnDraft:
    """The draft with the lists that cells of text seem to be, where it may become sensitive."""
    may_be_lists = draft.facts.kind is ValueKind.TEXT and draft.facts.distinct > 1
    if draft.lists is not None or not may_be_lists or (draft.decided and draft.role is not Role.SENSITIVE):
        return draft
    return replace(draft, lists=lists_in(session, source, draft.facts.name))


def _measured(session: WarehouseSession, source: Source, columns: Sequence[ColumnDraft]) -> Figures | None:
    """The figures of guessed and possible quasi-identifiers; None if there is nothing to measure."""
    facts = {draft.facts.name: draft for draft in columns if draft.facts.kind is not None and draft.facts.rows}
    guessed = [name for name, draft in facts.items() if draft.decided and draft.role is Role.QUASI_IDENTIFIER]
    others = [
        name
        for name, draft in facts.items()
        if not draft.facts.constant and (not draft.decided or draft.role is Role.INSENSITIVE)
    ]
    names = columns_to_measure(guessed, others)
    if not names:
        return None
    analyzed, _ = resolve_analyzed(session, RowsToAnalyze(source.reference, query=source.query), names)
    check_collectible(session, source, names)
    counted = count_frequencies(session, analyzed)
    for distinct in counted.values:
        # The tables of events are measured under these names next.
        session.embedded.execute(f"DROP TABLE temp.main.{distinct.table_name}")
    frequencies = counted.frequencies
    size = min(LARGEST_SUBSET, default_size(len(names), len(frequencies.records)))
    assert session.control is not None
    risks = subset_risks(frequencies, size, session.control.raise_if_stopped).subsets
    positions = [names.index(name) for name in guessed if name in names]
    return Figures(
        names, class_sizes_by(frequencies, positions) if positions else None, risks, tuple(proposed_among(risks))
    )
