"""A draft of a policy's attributes: a role and a hierarchy for each column, and what the owner has to decide."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from tableveil.drafting.facts import ColumnFacts
from tableveil.drafting.hierarchies import HierarchyProposal, propose_hierarchy
from tableveil.drafting.lists import SeenLists
from tableveil.drafting.meanings import Meaning, words_of
from tableveil.drafting.roles import FEWEST_ROWS, guess_role, numbers_groups, tells_all_apart
from tableveil.errors import shortened
from tableveil.hierarchy import RuleHierarchy, ValueKind, label_values
from tableveil.hierarchy.rules import Dates, Intervals
from tableveil.policy import Role


def telling_level(facts: ColumnFacts, hierarchy: RuleHierarchy) -> int:
    """The highest level of a proposed hierarchy that seems to leave several labels; 0 if only the values themselves do.

    For numbers and days, the ends of the range decide. For other kinds it is the level below the top.
    """
    if isinstance(hierarchy, Intervals | Dates):
        return _of_range(facts, hierarchy)
    # A rule has as many levels as for any value if there is none.
    return len(label_values(hierarchy, facts.kind or ValueKind.TEXT, [], []).labels) - 1


def _of_range(facts: ColumnFacts, rule: Intervals | Dates) -> int:
    if facts.minimum is None or facts.maximum is None or facts.kind is None:
        return 0
    texts = [facts.minimum, facts.maximum]
    if isinstance(rule, Dates):
        days = [text.partition(" ")[0] for text in texts]
        ends = label_values(rule, ValueKind.DATE, [datetime.date.fromisoformat(day) for day in days], days)
    else:
        number = {ValueKind.INTEGER: int, ValueKind.FLOAT: float}.get(facts.kind, Decimal)
        ends = label_values(rule, facts.kind, [number(text) for text in texts], texts)
    return max((level for level, labels in enumerate(ends.labels, 1) if len(set(labels)) > 1), default=0)


_MOST_ALONE = 0.4
"""So many different texts for each person are more than groups have, such as places: some people share a name."""


@dataclass(frozen=True, slots=True)
class ColumnDraft:
    """The proposal for one column.

    Attributes:
        facts: The facts it was made from.
        role: The proposed role: a quasi-identifier if nothing speaks for any role, which is the most cautious role that
            releases the column.
        decided: Whether something speaks for the role; if not, the owner has to decide.
        meaning: The guess of what the column holds.
        reason: The reason for that role.
        proposal: The hierarchy, for quasi-identifiers.
        maximum_level: The highest level at which the column still tells something, for quasi-identifiers that are
            decided; None if only its values tell something. Columns that are not decided may be erased: nobody has said
            yet that they matter.
        lists: The lists that its cells seem to be.
    """

    facts: ColumnFacts
    role: Role
    decided: bool
    meaning: Meaning | None
    reason: str
    proposal: HierarchyProposal | None
    maximum_level: int | None = None
    lists: SeenLists | None = None

    @property
    def singles_out(self) -> bool:
        """Whether it is sensitive and tells nearly every row apart: a release has to acknowledge that, or fails."""
        return self.role is Role.SENSITIVE and tells_all_apart(self.facts)


def draft_columns(columns: Sequence[ColumnFacts]) -> tuple[ColumnDraft, ...]:
    """A draft of each column; text of which most people have a value of their own identifies, whatever its name."""
    drafts = _with_results(tuple(map(_draft, columns)))
    person = person_column(drafts)
    if person is None or not person.facts.agreeing:
        return drafts
    return tuple(_of_each_person(draft, person.facts) if not draft.decided else draft for draft in drafts)


_OF_RESULTS = frozenset({"value", "term", "wert", "valeur", "valor", "valore", "waarde", "begriff", "terme", "termino"})
"""Words that say nothing alone, and a result or a finding beside columns of health."""


def _with_results(drafts: tuple[ColumnDraft, ...]) -> tuple[ColumnDraft, ...]:
    """The drafts, of which columns with the name of a result are sensitive beside others of health."""
    beside = [draft.facts.name for draft in drafts if draft.meaning is Meaning.HEALTH]
    reason = f"Beside {shortened(beside[0])}, its name says that it holds a result or a finding." if beside else ""
    return tuple(
        replace(as_role(draft, Role.SENSITIVE), reason=reason)
        if beside and not draft.decided and not _OF_RESULTS.isdisjoint(words_of(draft.facts.name))
        else draft
        for draft in drafts
    )


def _of_each_person(draft: ColumnDraft, person: ColumnFacts) -> ColumnDraft:
    facts = draft.facts
    shared = facts.name in dict(person.agreeing) and facts.kind is ValueKind.TEXT and person.distinct >= FEWEST_ROWS
    if not shared or facts.distinct < _MOST_ALONE * person.distinct:
        return draft
    reason = (
        f"Rows of one {shortened(person.name)} agree in it, and most of these have a text of their own, as by a name."
    )
    return replace(as_role(draft, Role.IDENTIFYING), reason=reason)


def _draft(facts: ColumnFacts) -> ColumnDraft:
    guess = guess_role(facts)
    role = guess.role or Role.QUASI_IDENTIFIER
    proposal = propose_hierarchy(facts, guess.meaning) if role is Role.QUASI_IDENTIFIER else None
    decided = guess.role is not None
    limit = telling_level(facts, proposal.hierarchy) if proposal is not None and decided else 0
    return ColumnDraft(facts, role, decided, guess.meaning, guess.reason, proposal, limit or None)


def as_role(draft: ColumnDraft, role: Role) -> ColumnDraft:
    """The draft with a role that something else than the column itself speaks for."""
    if role is not Role.QUASI_IDENTIFIER:
        return replace(draft, role=role, decided=True, proposal=None, maximum_level=None)
    proposal = propose_hierarchy(draft.facts, draft.meaning)
    limit = telling_level(draft.facts, proposal.hierarchy)
    return replace(draft, role=role, decided=True, proposal=proposal, maximum_level=limit or None)


_OF_PEOPLE = frozenset(
    {
        *("person", "patient", "client", "customer", "member", "user", "employee", "subject", "student"),
        *("respondent", "participant", "citizen", "kunde", "kunden", "patienten", "pat", "personal", "versicherten"),
        *("versichertennummer", "kvnr", "insured", "pid", "subj", "subjid", "usubjid"),
        *("personne", "cliente", "paciente", "persona", "ssn", "nhs", "mrn", "nino", "dni", "nir", "cpf", "bsn"),
    }
)
"""Words in the names of columns that number people."""

_OF_CASES = frozenset(
    {
        *("case", "visit", "encounter", "episode", "record", "row", "claim", "order", "invoice", "bill", "sample"),
        *("fall", "fallnummer", "besuch", "aufnahme", "behandlung", "rechnung", "satz", "zeile", "probe"),
    }
)
"""Words in the names of columns that number what happens to people, of which each row may have another one."""


_ID = frozenset({"id", "ids", "idnr", "identifier", "uid"})
"""A name of these words alone says of nothing else, such as a household, that the column numbers it."""

_FEWEST_PEOPLE, _MOST_ROWS_EACH = 10, 100


def person_column(drafts: Sequence[ColumnDraft]) -> ColumnDraft | None:
    """The identifying column that seems to tell people apart, unique or not; None if no column does.

    Where rows agree as rows of one person do, they decide, and a name is a hint among several such columns.
    """
    # A person's cases agree as well: people are fewer.
    by_rows = [draft for draft in drafts if draft.role is Role.IDENTIFYING and draft.facts.agreeing]
    if by_rows:
        return max(
            by_rows,
            key=lambda draft: (numbers_people_by_name(draft), round(draft.facts.constancy, 1), -draft.facts.distinct),
        )
    candidates = [
        draft
        for draft in drafts
        if draft.role is Role.IDENTIFYING
        and draft.facts.kind in (ValueKind.INTEGER, ValueKind.TEXT, ValueKind.OTHER)
        and draft.meaning is not Meaning.FREE_TEXT
        and draft.facts.distinct
        and not (unique(draft.facts) and _is_of_cases(draft))
    ]

    # A column that numbers visits, or just the rows, is unique beside one that numbers their patients.
    def fitness(draft: ColumnDraft) -> tuple[bool, bool, bool, bool]:
        by_id = "id" in words_of(draft.facts.name)
        return numbers_people_by_name(draft), _is_recurring_id(draft.facts), unique(draft.facts), by_id

    named = [draft for draft in candidates if any(fitness(draft))]
    return max(named, key=fitness, default=None)


def unit_columns(drafts: Sequence[ColumnDraft]) -> list[ColumnDraft]:
    """The columns by which people seem to belong together in households: k may have to hold of these as well."""
    person = person_column(drafts)
    identifying = [draft for draft in drafts if draft.role is Role.IDENTIFYING and draft is not person]
    named = [draft for draft in identifying if is_number_of_homes(draft.facts.name)]
    if person is not None and not person.facts.nulls and not unique(person.facts):
        return [draft for draft in named if 1 < draft.facts.distinct < person.facts.distinct]
    return [draft for draft in named if numbers_groups(draft.facts) and draft.facts.distinct < draft.facts.present]


def is_number_of_homes(name: str) -> bool:
    """Whether a column is called a number of households, or of the homes that they live in."""
    return not _OF_HOMES.isdisjoint(words_of(name)) and _OF_NO_NUMBERS.isdisjoint(words_of(name))


_OF_HOMES = frozenset(
    {
        *("household", "hh", "hhid", "fam", "famid", "family", "home", "address", "dwelling", "apartment", "haushalt"),
        *("familie", "anschrift", "adresse", "wohnung", "foyer", "menage", "famille", "logement", "hogar", "familia"),
        *("direccion", "vivienda"),
        *("famiglia", "nucleo", "indirizzo", "abitazione", "endereco", "huishouden", "gezin", "adres"),
    }
)
"""Words in the names of columns that number households, or the homes that they live in."""

_OF_NO_NUMBERS = frozenset(
    ["size", "income", "type", "status", "name", "history", "members", "email", "mail", "ip", "web", "grosse", "taille"]
)
"""Words beside them in the names of columns that tell something else of these."""


def combined_marks(drafts: Sequence[ColumnDraft]) -> list[tuple[str, ...]]:
    """Combinations of columns that may number people where none does: names with a birth, all names first."""
    births = [draft.facts.name for draft in drafts if draft.meaning is Meaning.BIRTH]
    names = [
        draft.facts.name
        for draft in drafts
        if draft.meaning is Meaning.IDENTIFIER and draft.facts.kind is ValueKind.TEXT and not unique(draft.facts)
    ]
    if not births or not names:
        return []
    combined = [tuple(names[:_MOST_COMBINED])] if len(names) > 1 else []
    return [(*some, births[0]) for some in (*combined, *((name,) for name in names[:_MOST_COMBINED]))]


_MOST_COMBINED = 3


def _is_recurring_id(facts: ColumnFacts) -> bool:
    """Whether it is called just an ID, and recurs as people may: a number of groups has more rows for each."""
    words, recurs = set(words_of(facts.name)), _FEWEST_PEOPLE <= facts.distinct < facts.present
    return bool(words) and words <= _ID and recurs and facts.present <= _MOST_ROWS_EACH * facts.distinct


def is_number_of_people(name: str) -> bool:
    """Whether a column is called just an ID, or a number of people, and nothing else, such as their name."""
    words = set(words_of(name))
    return words <= _ID | _NUMBER | _OF_PEOPLE and not words.isdisjoint(_ID | _OF_PEOPLE)


_NUMBER = frozenset({"nr", "no", "number", "num", "numero", "nummer", "key", "code", "pseudonym"})


def numbers_people_by_name(draft: ColumnDraft) -> bool:
    """Whether the column's name says that it numbers people."""
    return not _OF_PEOPLE.isdisjoint(words_of(draft.facts.name))


def _is_of_cases(draft: ColumnDraft) -> bool:
    return not numbers_people_by_name(draft) and not _OF_CASES.isdisjoint(words_of(draft.facts.name))


def unique(facts: ColumnFacts) -> bool:
    """Whether every row seems to have a value of its own: an estimate may err by some percent."""
    if facts.nulls or not facts.rows:
        return False
    return facts.distinct == facts.rows if facts.exact else facts.telling >= 0.95
