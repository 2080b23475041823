"""The columns of a wide table that its proposal releases: of more, no policy would leave anything."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from tableveil.backend import Session
from tableveil.drafting import MOST_CHOSEN, ColumnChoice, ColumnDraft, PolicyDraft, as_role, choose_columns, hiding
from tableveil.errors import shortened
from tableveil.pipelines.alternatives import is_hidden
from tableveil.policy import Role
from tableveil.requests.proposal import ProposalRequest
from tableveil.source import Source
from tableveil.source.drafted import sampled
from tableveil.state.proposals import TriedPolicy

MOST_SENSITIVE = 6
"""A class has to protect each sensitive column: with many, hardly any class does."""

MOST_ROWS = 1_500
"""The rows on which columns are chosen."""

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The draft without the columns that are left out, and sentences about these."""

    draft: PolicyDraft
    left: Collection[str] = ()
    notes: tuple[str, ...] = ()


def chosen_columns(session: Session, source: Source, draft: PolicyDraft, request: ProposalRequest) -> Narrowed:
    """The draft itself if it has few columns. Call it in the transaction that reads the source."""
    kept = {*(column.column.casefold() for column in request.keep), *request.roles}
    candidates = [one for one in draft.columns if one.role is Role.QUASI_IDENTIFIER]
    sensitive = _too_many_sensitive(draft.columns, kept)
    if len(candidates) <= MOST_CHOSEN and not sensitive:
        return Narrowed(draft)
    choice = ColumnChoice(tuple(one.facts.name for one in candidates))
    if len(candidates) > MOST_CHOSEN:
        choice = choose_columns(
            sampled(session, source.rows, [one.facts for one in candidates], MOST_ROWS),
            {one.facts.name: one.facts.kind for one in candidates},
            {one.facts.name for one in candidates if one.facts.name.casefold() in kept},
            [one.facts.name for one in candidates if one.decided],
            _rows_of(draft, request.readers.sizes[0]),
        )
    gone = {*(left.column for left in choice.left), *sensitive}
    gone |= {one.facts.name for one in draft.columns if one.facts.constant and one.facts.name.casefold() not in kept}
    columns = tuple(as_role(one, Role.IDENTIFYING) if one.facts.name in gone else one for one in draft.columns)
    constant = [name for name in gone if name not in sensitive and all(name != left.column for left in choice.left)]
    return Narrowed(replace(draft, columns=columns), gone, tuple(_notes(draft, choice, sensitive, sorted(constant))))


def paid_by(session: Session, source: Source, draft: PolicyDraft, best: TriedPolicy) -> Iterator[str]:
    """The columns that keep others hidden in a policy, and what would be left of these without them."""
    hidden = {column.column: column.hidden for column in best.columns if is_hidden(column)}
    released = {column.column for column in best.columns}
    facts = [one.facts for one in draft.columns if one.facts.name in released]
    columns = sampled(session, source.rows, facts, MOST_ROWS) if hidden and len(facts) > 1 else {}
    kinds = {one.name: one.kind for one in facts}
    for name in [name for name in hidden if name in columns][:_MOST_NAMED]:
        found = hiding(columns, kinds, name, _rows_of(draft, best.k))
        if found is not None:
            other, share = shortened(found[0]), found[1]
            yield (
                f"{shortened(name)} tells nothing in {hidden[name]:.0%} of the rows by {best.method}, k = {best.k}, "
                f"which leaves more of {other}: with --leave-out {other}, it would be so in about {share:.0%}, by a "
                f"quick recoding of {len(columns[name]):,} rows."
            )


def _too_many_sensitive(columns: Sequence[ColumnDraft], kept: Collection[str]) -> list[str]:
    """The sensitive columns beyond the first ones, which come after the columns to be kept."""
    names = [one.facts.name for one in columns if one.role is Role.SENSITIVE and not one.facts.constant]
    first = sorted(names, key=lambda name: name.casefold() not in kept)
    return [name for name in first[MOST_SENSITIVE:] if name.casefold() not in kept]


def _rows_of(draft: PolicyDraft, k: int) -> int:
    """The rows of so many people."""
    person = next((one.facts for one in draft.columns if one.facts.name == draft.person_column), None)
    return k if person is None or not person.distinct else -(-k * person.rows // person.distinct)


def _notes(
    draft: PolicyDraft, choice: ColumnChoice, sensitive: Sequence[str], constant: Sequence[str]
) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for left in choice.left:
        name = f"{shortened(left.column)} ({shortened(left.of)})" if left.of else shortened(left.column)
        reasons.setdefault(left.reason, []).append(name)
    if constant:
        reasons.setdefault("all rows have one value", []).extend(map(shortened, constant))
    if sensitive:
        reasons["a class can hardly protect more sensitive columns at once"] = [*map(shortened, sensitive)]
    for reason, names in reasons.items():
        yield f"Left out, since {reason}: {_listed(names)}."
    if choice.left:
        yield (
            f"{len(choice.chosen):,} of {len(choice.chosen) + len(choice.left):,} possible quasi-identifiers are "
            "released. --keep COLUMN keeps another one, at the others' expense."
        )
    if choice.offered:
        offers = [f"--keep {shortened(name)} (loss {loss:.3f})" for name, loss in choice.offered]
        yield f"The next best sets have one column more: {', '.join(offers)}, instead of {choice.loss:.3f}."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
