"""A whole draft: proposals for a policy's fields, and a remark on each proposal that is a guess or needs a decision."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tableveil.drafting.draft import ColumnDraft, person_column, unique, unit_columns
from tableveil.drafting.figures import Figures
from tableveil.drafting.meanings import Meaning
from tableveil.drafting.roles import agreement
from tableveil.errors import shortened
from tableveil.policy import MethodTraits, Role, TableReference
from tableveil.policy.methods.local_recoding import LOCAL_RECODING

USUAL_K = 5
HEALTH_K = 11


@dataclass(frozen=True, slots=True)
class ProposedK:
    """A k with its reason, a sentence for the owner of the table."""

    k: int
    reason: str


def propose_k(health: bool) -> ProposedK:
    """11 if a column holds health data, else 5.

    It does not depend on the table's risk: k states which risk is acceptable.
    """
    if health:
        reason = (
            "Health data: 11 is the least cell that the US Centers for Medicare & Medicaid Services let be published "
            "(cell size suppression policy); 5 is usual elsewhere."
        )
        return ProposedK(HEALTH_K, reason)
    reason = (
        "5 is a usual choice: nobody is found with a probability above 1/5. Take more where harm is great, or where "
        "everyone gets the release."
    )
    return ProposedK(USUAL_K, reason)


MANY_QUASI_IDENTIFIERS = 20
"""With more, hardly any two records are alike before nearly everything is generalized away (Aggarwal 2005)."""


MOST_NAMED = 5
"""The most columns that a remark names."""


class RemarkKind(StrEnum):
    """Whether the remarked field is good to know of, is a guess, or is left for the owner to decide."""

    NOTE = "NOTE"
    GUESS = "GUESS"
    DECIDE = "DECIDE"


@dataclass(frozen=True, slots=True)
class Remark:
    """Sentences for the owner about the policy's field at that path, or about the whole draft if the path is empty."""

    field: str
    kind: RemarkKind
    text: str


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """The proposals for a table, or for the rows of `source_query`; then `source` names none.

    If `person_column` is None, the draft proposes to state that each row is one person. `repeating` says that people
    have several rows, so that dominance belongs beside k-anonymity. The table may be in a `warehouse`. The
    `method` is one that has a field.

    The owner decides on the statement on people, the privacy models, and the roles of columns of which nothing is
    known, whatever the draft proposes.
    """

    source: TableReference
    columns: tuple[ColumnDraft, ...]
    person_column: str | None
    k: int
    remarks: tuple[Remark, ...]
    source_query: str = ""
    repeating: bool = False
    warehouse: str = ""
    method: MethodTraits[Any] = LOCAL_RECODING

    @property
    def also_count(self) -> tuple[str, ...]:
        """The columns whose values may have to count beside people."""
        return tuple(draft.facts.name for draft in unit_columns(self.columns))


def draft_policy(
    source: TableReference,
    columns: Sequence[ColumnDraft],
    figures: Figures | None,
    unmeasured: str = "",
    warehouse: str = "",
) -> PolicyDraft:
    """Puts the draft together; `unmeasured` says why there are no figures."""
    proposed = propose_k(any(draft.meaning is Meaning.HEALTH for draft in columns))
    person = person_column(columns)
    numbers_people = person is not None and not person.facts.nulls
    repeating = person is not None and numbers_people and not unique(person.facts)
    remarks = [
        *_on_the_whole(columns, unmeasured),
        *(remark for i, draft in enumerate(columns) for remark in _on_column(f"attributes[{i}]", draft, figures)),
        _on_person(person),
        Remark("privacy_models", RemarkKind.DECIDE, f"How large must a class be? {proposed.reason}"),
        *_on_dominance(proposed.k, repeating),
        *_on_units(columns),
        *_on_models(columns, figures, proposed.k),
        Remark(
            "suppression_limit",
            RemarkKind.GUESS,
            "Up to one record in twenty may be left out, so that a few rare ones do not blur all others.",
        ),
        _on_method(),
        *_on_choosing(columns),
    ]
    name = person.facts.name if person is not None and numbers_people else None
    return PolicyDraft(
        source, tuple(columns), name, proposed.k, tuple(remarks), repeating=repeating, warehouse=warehouse
    )


def _on_the_whole(columns: Sequence[ColumnDraft], unmeasured: str) -> Iterator[Remark]:
    if columns and not columns[0].facts.rows:
        yield Remark("", RemarkKind.NOTE, "The table has no rows: everything is guessed by names and types alone.")
    elif unmeasured:
        yield Remark("", RemarkKind.NOTE, f"The risks of the table were not measured: {unmeasured}")
    quasi_identifiers = sum(draft.decided and draft.role is Role.QUASI_IDENTIFIER for draft in columns)
    if quasi_identifiers > MANY_QUASI_IDENTIFIERS:
        text = (
            f"{quasi_identifiers} columns are guessed to be quasi-identifiers. With so many, hardly two records are "
            "alike before nearly everything is generalized away: make those that nobody needs IDENTIFYING."
        )
        yield Remark("", RemarkKind.NOTE, text)


def _on_column(path: str, draft: ColumnDraft, figures: Figures | None) -> Iterator[Remark]:
    name, kind = draft.facts.name, RemarkKind.GUESS if draft.decided else RemarkKind.DECIDE
    measured = figures.of_column(name) if figures is not None else ""
    if draft.facts.kind is None:
        kind = RemarkKind.NOTE
    yield Remark(f"{path}.role", kind, " ".join(filter(None, (draft.reason, measured))))
    if draft.decided and draft.role is Role.INSENSITIVE and figures is not None and figures.tells_apart(name):
        text = "It would be released as it is, and the figures speak against that: make it a quasi-identifier."
        yield Remark(f"{path}.role", RemarkKind.GUESS, text)
    if draft.singles_out:
        text = (
            f"It {draft.facts.counted}: a reader who knows one from elsewhere finds the row. If somebody may, make the "
            "column IDENTIFYING, which does not release it. If nobody can, acknowledge that."
        )
        yield Remark(f"{path}.acknowledged", RemarkKind.DECIDE, text)
    if draft.lists is not None and draft.role is Role.SENSITIVE:
        text = (
            f"{draft.lists.told(name)}. Models judge whole cells unless the policy says which: {draft.lists.answer}. "
            "With elements, ask for probabilistic_l_diversity or t_closeness: they hold of each."
        )
        yield Remark(f"{path}.elements", RemarkKind.DECIDE, text)
    elif draft.lists is not None:
        yield Remark(f"{path}.role", RemarkKind.NOTE, f"{draft.lists.told(name)}.")
    if draft.proposal is not None:
        limit = " Without maximum_level, it may be erased for the sake of others." if draft.maximum_level else ""
        yield Remark(f"{path}.hierarchy", RemarkKind.GUESS, f"{draft.proposal.reason}{limit}")


def _on_person(person: ColumnDraft | None) -> Remark:
    if person is None:
        text = (
            "k counts people. Say that every row is a different person, if that is so; or name the column that numbers "
            "them as person_column."
        )
        return Remark("rows_are_people", RemarkKind.DECIDE, text)
    name, facts = shortened(person.facts.name), person.facts
    has = f"k counts people. {name} {facts.counted}"
    if unique(facts):
        text = (
            f"{has}: keep it as person_column if it numbers people. If it does not, and every row is a different "
            "person, say rows_are_people: true instead."
        )
        return Remark("person_column", RemarkKind.DECIDE, text)
    if facts.nulls:
        text = f"{has}: a person_column must name a person in every row."
        return Remark("rows_are_people", RemarkKind.DECIDE, text)
    evidence = f", and {agreement(facts.agreeing)}" if facts.agreeing else ""
    text = (
        f"{has}{evidence}: keep it as person_column if it numbers people who have several rows each, and name a column "
        "that identifies each row as record_column, if later releases are to be judged together with this one. If it "
        "does not number people, and every row is a different person, say rows_are_people: true instead."
    )
    return Remark("person_column", RemarkKind.DECIDE, text)


def _on_dominance(k: int, repeating: bool) -> Iterator[Remark]:
    if repeating:
        text = (
            "People have several rows, so that one of them may have most rows of a class: a dominance of at most "
            f"1/{k} keeps the chance that a row is a given person's at 1/{k}."
        )
        yield Remark("privacy_models", RemarkKind.DECIDE, text)


def _on_units(columns: Sequence[ColumnDraft]) -> Iterator[Remark]:
    units = [f"{shortened(draft.facts.name)}, which {draft.facts.counted}" for draft in unit_columns(columns)]
    if units:
        text = (
            f"People seem to belong together by {_listed(units)}: all people of a class may be of one household. "
            "With this field k and dominance hold of these as well."
        )
        yield Remark("also_count", RemarkKind.DECIDE, text)


def _on_method() -> Remark:
    text = (
        "Every class of records has levels of its own, which keeps most for analyses: docs/explanations/utility.md. "
        "Without this field, all records have the same level in a column. Some models need that, and a second release "
        "of the same people that is judged together with the first: docs/explanations/together.md."
    )
    return Remark(LOCAL_RECODING.field, RemarkKind.GUESS, text)


def _on_choosing(columns: Sequence[ColumnDraft]) -> Iterator[Remark]:
    text = (
        "Among all releases that are safe enough, the one is chosen whose labels cover the least part of each column's "
        "values, on average over the records and then over the columns. A weight makes a column count more. Other "
        "models fit other uses: docs/reference/policy.md."
    )
    yield Remark("quality_model", RemarkKind.GUESS, text)
    unlimited = [
        shortened(draft.facts.name)
        for draft in columns
        if draft.proposal is not None and draft.maximum_level is None and draft.facts.distinct > 1
    ]
    if unlimited:
        shown = _listed(unlimited)
        text = (
            f"No maximum_level keeps {shown} from being erased. The release warns of each column that is. To keep "
            "one, give it a hierarchy with levels between its values and nothing, and a maximum_level."
        )
        yield Remark("quality_model", RemarkKind.NOTE, text)


def _on_models(columns: Sequence[ColumnDraft], figures: Figures | None, k: int) -> Iterator[Remark]:
    if figures is not None and (at_risk := figures.of_all(k)):
        yield Remark("privacy_models", RemarkKind.NOTE, at_risk)
    sensitive = [shortened(draft.facts.name) for draft in columns if draft.role is Role.SENSITIVE]
    if sensitive:
        shown = _listed(sensitive)
        text = (
            f"k does not keep from being inferred what all records of a class share in {shown}. Add models for what "
            "must not be inferred, such as distinct_l_diversity or t_closeness: docs/explanations/models.md."
        )
        yield Remark("privacy_models", RemarkKind.NOTE, text)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
