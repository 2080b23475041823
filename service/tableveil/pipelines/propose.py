"""One job from a table to a proposal: drafts a policy, looks at the values, tries alternatives, and recommends one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from tableveil.backend import WarehouseSession
from tableveil.drafting import PolicyDraft, agreement, combined_marks, numbers_people_by_name, person_column, unique
from tableveil.errors import InvalidError, NearestNames, shortened
from tableveil.hierarchy import SafeHarborZip, TableLevels
from tableveil.pipelines.alternatives import LOCAL, MOST_HIDDEN, Tried, Variant, is_hidden, tried, with_roles
from tableveil.pipelines.chosen_columns import Narrowed, chosen_columns, paid_by
from tableveil.pipelines.combined_person import same_in, with_person
from tableveil.pipelines.draft import draft_of, with_lists
from tableveil.pipelines.proposal_forecast import Foreseen, foreseen, newest_month
from tableveil.pipelines.work import JobContext, Work, store_result
from tableveil.policy import Policy, Role, TableReference
from tableveil.requests.proposal import ProposalRequest, ReleaseReaders
from tableveil.source import Source, find_source, resolve_source
from tableveil.source.doubtful import Doubts, doubts, largest_shares
from tableveil.source.query import take_snapshot
from tableveil.source.tables import invalid, missing_column
from tableveil.state import jobs, table_privacy
from tableveil.state.jobs import JobKind, JobPhase
from tableveil.state.proposals import PROPOSALS, Proposal, TriedPolicy
from tableveil.state.table_privacy import TablePrivacy

_MOST_NAMED = 8

_FOR = {
    ReleaseReaders.PUBLIC: "the public",
    ReleaseReaders.CONTRACT: "readers under contract",
    ReleaseReaders.INSIDE: "readers inside",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The common part of all policies of a proposal: the request, with the column that it left open.

    `shares` are those of the records that have the most frequent value of each sensitive column. Where nobody
    `says_who` is a person, policies are tried with a guess, which stays out of their documents.
    """

    request: ProposalRequest
    record_column: str
    declared: TablePrivacy | None
    shares: Mapping[str, float]
    says_who: bool = True


Compose = Callable[[Wanted, PolicyDraft, Variant], tuple[Policy, str]]
"""Makes the policy of a draft, and its document."""


def run_proposal(job: JobContext, request: ProposalRequest, compose: Compose) -> int:
    """Stores a proposal and returns its number.

    Raises:
        TableveilError: nothing was stored.
    """
    job.report.phase(JobPhase.READING)
    whole, request = _with_newest_month(job, request)
    read = _read(job, request)
    draft, read_doubts, wanted = read.draft, read.found, read.wanted
    decisions = tuple(_decisions(draft, read.person, request, wanted.record_column))
    job.report.phase(JobPhase.SEARCHING)
    made = tried(job, request, draft, lambda drafted, variant: _own(compose(wanted, drafted, variant)))
    ranked, recommendation = _ranked(made.alternatives, decisions, request)
    notes = (read.person.told, *_notes(draft, made, read.singled, wanted, read.chosen), *_paid(job, read, ranked[0]))

    # Releases of local recoding cannot be judged together.
    together = next(one for one in ranked if one.method != LOCAL)
    future = _foreseen(job, whole, read, made, together.k, compose) if request.recurs else Foreseen()

    def result(number: int) -> Proposal:
        return Proposal(
            number=number,
            job=job.number,
            created_at=jobs.now(),
            source=draft.source,
            records=draft.columns[0].facts.rows,
            notes=notes,
            decisions=decisions,
            repair_query=read_doubts.repair_query,
            recommendation=recommendation,
            seconds=job.report.elapsed(),
            request=job.document,
            findings=read_doubts.findings,
            alternatives=ranked,
            releases=tuple(sorted({*made.releases, *future.releases})),
            forecast=future.told,
            ways=future.ways,
        )

    return store_result(job, PROPOSALS, result)


def proposal_work(request: ProposalRequest, document: str, compose: Compose) -> Work:
    """The work for a proposal; the document is the request."""
    return Work(
        kind=JobKind.PROPOSAL,
        document=document,
        admit=lambda session: session.recorded(_found(session, request).reference),
        run=lambda job: run_proposal(job, request, compose),
        source_query=request.source_query,
    )


def _found(session: WarehouseSession, request: ProposalRequest) -> Source:
    table = request.table or TableReference("", "", "")
    source, columns, faults = find_source(session, table, request.source_query, "table")
    if source is not None:
        names = [
            source_column[0] if isinstance(source_column, tuple) else source_column.name for source_column in columns
        ]
        folded_names = {name.casefold() for name in names}
        hint = NearestNames(names)
        faults = [
            missing_column(field, name, hint)
            for field, name in request.columns.items()
            if name.casefold() not in folded_names
        ]
    if source is not None and request.policy is not None and not faults:
        _, _, unfit = resolve_source(session, request.policy)
        faults = [replace(fault, field=f"policy.{fault.field}") for fault in unfit]
    if source is None or faults:
        raise invalid("PROPOSAL_INVALID", "nothing can be proposed as asked", faults)
    return source


def _with_newest_month(job: JobContext, request: ProposalRequest) -> tuple[ProposalRequest, ProposalRequest]:
    """The request with its column's spelling, and that of the newest month's rows alone: policies are for one month."""
    if not request.period_column:
        return request, request
    with job.database.session() as session:
        source = _found(session, request)
        names = {one.name.casefold(): one.name for one in source.columns}
        name = names.get(request.period_column.casefold())
        if name is None:
            actual = f"{shortened(request.period_column)}, whose type has no order"
            raise InvalidError.of("PROPOSAL_INVALID", "period_column", actual, "a date, a number or a text")
        named_period = replace(request, period_column=name)
        return named_period, replace(named_period, source_query=newest_month(source, named_period))


def _foreseen(job: JobContext, whole: ProposalRequest, read: _Read, made: Tried, k: int, compose: Compose) -> Foreseen:
    draft = with_roles(read.draft, made.learned)

    def made_with(least: Sequence[tuple[str, int]]) -> tuple[Policy, str]:
        return compose(read.wanted, draft, Variant(k, False, made.limited, tuple(least)))

    with job.database.session() as session:
        session.control, session.memory = job.control, job.session.memory
        # A person of several columns is one of a query, which has the rows of the newest month alone.
        of_all = read.wanted.request if not whole.period_column else whole
        return foreseen(job, session, _found(session, of_all), of_all, k, made_with)


@dataclass(frozen=True, slots=True)
class _Person:
    """The column that numbers people, empty if rows do; a sentence about it; the question, if it is to be decided."""

    column: str
    repeating: bool
    told: str
    asked: str = ""


@dataclass(frozen=True, slots=True)
class _Read:
    """The draft with the roles that it gets, the values that look wrong, and the columns that single people out."""

    draft: PolicyDraft
    person: _Person
    wanted: Wanted
    singled: Sequence[str]
    chosen: Narrowed
    found: Doubts


def _read(job: JobContext, request: ProposalRequest) -> _Read:
    """By a combination of columns, if that alone numbers people: a query has it as a column of its own."""
    read = _read_as(job, request)
    if not read.person.asked:
        return read
    for names in combined_marks(read.draft.columns):
        agreeing = _agreeing(job, request, read.draft, names)
        if len(agreeing) < _FEWEST_AGREEING:
            continue
        query, column_ = with_person(read.draft, request.source_query, names)
        told = (
            f"{_listed(names)} number people together, as {shortened(column_)} of a query that the policies have: rows "
            f"with the same values of both agree in {_listed(agreeing)}."
        )
        again = _read_as(job, replace(request, table=None, source_query=query, person_column=column_))
        return replace(again, person=replace(again.person, told=told))
    return read


_FEWEST_GROUPS, _FEWEST_AGREEING, _MOST_AGREE = 20, 2, 0.95


def _agreeing(job: JobContext, request: ProposalRequest, draft: PolicyDraft, names: Sequence[str]) -> list[str]:
    """The other columns in which rows with the same values of some columns agree, as rows of one person do.

    Dates of what happens do not decide, nor columns that hardly differ. Values that recur seldom decide nothing.
    """
    others = [
        one.facts.name
        for one in draft.columns
        if one.role is Role.QUASI_IDENTIFIER and one.facts.name not in names and one.facts.distinct > 1
    ]
    with job.database.session() as session, session.transaction():
        session.control, session.memory = job.control, job.session.memory
        source = _found(session, request)
        if source.query is not None:
            take_snapshot(session, source)
        return same_in(session, source, names, others, _FEWEST_GROUPS, _MOST_AGREE)


def _read_as(job: JobContext, request: ProposalRequest) -> _Read:
    # A session of its own takes the rows of a query with it, which each policy reads anew.
    with job.database.session() as session, session.transaction():
        session.control, session.memory = job.control, job.session.memory
        source = _found(session, request)
        if source.query is not None:
            take_snapshot(session, source)
        draft = draft_of(session, source, request.source_query)
        if not draft.columns[0].facts.rows:
            raise InvalidError.of(
                "PROPOSAL_INVALID", "table", "no rows", "a source with rows, on which to try policies"
            )
        _check_method(request, draft)
        # A policy has taken what is declared of its table.
        drafted = request.policy is None and request.table is not None
        declared_of = find_source(session, request.table, "", "table")[0] if drafted and request.table else None
        declared = table_privacy.find(session.ledger, declared_of.reference) if declared_of else None
        person = _person(draft, request)
        named_record = request.record_column if request.policy is None else request.policy.record_column
        record = named_record or _record_column(draft, person.column) if request.recurs else ""
        singled = _singled_out(draft, request) if declared is None and request.policy is None else []
        roles = _roles(draft, request, (*singled, person.column, record, request.period_column))
        draft = _with_lists(session, source, draft, with_roles(draft, roles))
        draft = replace(draft, person_column=person.column or None, repeating=person.repeating)
        is_guessed = declared is None and request.policy is None
        chosen = chosen_columns(session, source, draft, request) if is_guessed else Narrowed(draft)
        draft = chosen.draft
        released = {column.facts.name for column in draft.columns if column.role is not Role.IDENTIFYING}
        looked_at = [column for column in source.columns if column.name in released]
        sensitive = [column.facts.name for column in draft.columns if column.role is Role.SENSITIVE]
        shares = largest_shares(session, source, sensitive)
        read_doubts = doubts(session, source, looked_at, [column.facts.name for column in draft.columns])
    wanted = Wanted(request, record, declared, shares, not person.asked)
    return _Read(draft, person, wanted, singled, chosen, read_doubts)


def _with_lists(session: WarehouseSession, source: Source, guessed: PolicyDraft, draft: PolicyDraft) -> PolicyDraft:
    """The draft, in which cells of columns that became sensitive may be lists as well."""
    columns = tuple(
        one if one.role is before.role else with_lists(session, source, one)
        for before, one in zip(guessed.columns, draft.columns, strict=True)
    )
    return replace(draft, columns=columns)


def _check_method(request: ProposalRequest, draft: PolicyDraft) -> None:
    """Raises `InvalidError` if the policy to begin with has a method that no proposal tries."""
    if (policy := request.policy) is None or (
        not policy.aggregated and policy.method.field in ("", draft.method.field)
    ):
        return
    expected = f"{draft.method.field}, or the full domain, which has no field"
    field = f"policy.{policy.method.field or 'attributes'}"
    raise InvalidError.of("PROPOSAL_INVALID", field, "another method", expected, "Look at it by a dry run.")


def _own(composed: tuple[Policy, str]) -> tuple[Policy, str]:
    """Refuses hierarchies of other tables: whether the caller may read these was not asked."""
    for i, attribute in enumerate(composed[0].attributes):
        if isinstance(attribute.hierarchy, (TableLevels, SafeHarborZip)):
            actual = f"{shortened(attribute.column)}, which is declared with a hierarchy in another table"
            hint = "Submit a policy for it by yourself, with --dry-run first."
            expected = "hierarchies that need no table"
            raise InvalidError.of("PROPOSAL_INVALID", f"attributes[{i}].hierarchy", actual, expected, hint)
    return composed


def _person(draft: PolicyDraft, request: ProposalRequest) -> _Person:
    columns = {column.facts.name.casefold(): column for column in draft.columns}
    says, stated = "the request", request.person_column
    if request.policy is not None:
        says, stated = "the policy", request.policy.person_column or ""
    if request.rows_are_people or (request.policy is not None and not stated):
        return _Person("", False, f"Every row is a different person, as {says} says.")
    if stated:
        named = columns[stated.casefold()]
        text = f"{shortened(named.facts.name)} numbers the people, as {says} says: it {named.facts.counted}."
        return _Person(named.facts.name, not unique(named.facts), text)
    guessed = person_column(draft.columns)
    if guessed is None:
        return _Person("", False, "No column seems to number people: every row counts as one.", _WHO)
    name, facts = shortened(guessed.facts.name), guessed.facts
    if facts.nulls:
        text = f"{name} {facts.counted}: it does not say whose these are, and every row counts as a person."
        return _Person("", False, text, _WHO)
    if facts.agreeing:
        text = f"{name} numbers the people: it {facts.counted}, and {agreement(facts.agreeing)}."
        return _Person(facts.name, draft.repeating, text)
    if numbers_people_by_name(guessed):
        text = f"{name} numbers the people by its name: it {facts.counted}."
        return _Person(facts.name, draft.repeating, text)
    whom = "each of its values" if draft.repeating else "every row"
    text = f"{name} {facts.counted}: {whom} counts as a person."
    return _Person(facts.name, draft.repeating, text, _WHO)


READERS_UNSAID = (
    "Nobody has said who gets the release: each k is tried as for readers under contract, and no risk is stated as "
    "accepted. Name them as readers (--readers)."
)
_WHO = (
    "k counts people, and nobody has said who is one. Name the column that numbers them as person_column (--person), "
    "or say that every row is a different person (--rows-are-people)."
)


def _record_column(draft: PolicyDraft, person: str) -> str:
    """The column that identifies each record: the first that differs in every row and is not released anyway."""
    unlike = [c.facts.name for c in draft.columns if c.role is Role.IDENTIFYING and unique(c.facts)]
    return next((name for name in unlike if name != person), "")


def _decisions(draft: PolicyDraft, person: _Person, request: ProposalRequest, record: str) -> Iterator[str]:
    if request.assumed and not (request.policy is not None and request.policy.documentation.context):
        yield READERS_UNSAID
    if person.asked:
        yield person.asked
    if request.recurs and not person.column:
        yield "Later releases find people by a person_column (--person): none is named or found."
    if request.recurs and person.repeating and not record:
        yield "Later releases find the records of a person by a record_column (--record): none differs in every row."
    kept = {kept.column.casefold() for kept in request.keep}
    for column in draft.columns:
        if column.role is Role.IDENTIFYING and column.facts.name.casefold() in kept:
            yield f"{shortened(column.facts.name)} was to be kept, and identifies people: it is not released."


def _roles(draft: PolicyDraft, request: ProposalRequest, identifying: Sequence[str]) -> dict[str, Role]:
    """Other roles than the drafted ones: of a policy, of columns left out, and of unknown ones that are to be kept."""
    if request.policy is not None:
        named = {attribute.column: attribute.role for attribute in request.policy.attributes}
        others = request.policy.default_role or Role.IDENTIFYING
        return {one.facts.name: named.get(one.facts.name, others) for one in draft.columns} | {
            name: Role.IDENTIFYING for name in identifying if name
        }
    kept, corrected = {kept.column.casefold() for kept in request.keep}, request.roles
    left_out = {name.casefold() for name in (*request.leave_out, *identifying) if name}
    roles: dict[str, Role] = {}
    for column in draft.columns:
        folded = column.facts.name.casefold()
        if folded in left_out:
            roles[column.facts.name] = Role.IDENTIFYING
        elif folded in corrected:
            roles[column.facts.name] = corrected[folded]
        elif folded in kept and column.role is Role.QUASI_IDENTIFIER:
            roles[column.facts.name] = Role.QUASI_IDENTIFIER
    return roles


def _singled_out(draft: PolicyDraft, request: ProposalRequest) -> list[str]:
    """The sensitive columns that tell nearly every row apart, unless they are to be kept."""
    kept = {*(kept.column.casefold() for kept in request.keep), *request.roles}
    names = [column.facts.name for column in draft.columns if column.singles_out]
    return [name for name in names if name.casefold() not in kept]


def _paid(job: JobContext, read: _Read, best: TriedPolicy) -> tuple[str, ...]:
    if best.score is None or not any(map(is_hidden, best.columns)):
        return ()
    with job.database.session() as session, session.transaction():
        session.control, session.memory = job.control, job.session.memory
        source = _found(session, read.wanted.request)
        if source.query is not None:
            take_snapshot(session, source)
        return tuple(paid_by(session, source, read.draft, best))


def _notes(draft: PolicyDraft, made: Tried, singled: Sequence[str], wanted: Wanted, chosen: Narrowed) -> Iterator[str]:
    declared = wanted.declared
    if declared is not None:
        yield f"Roles and hierarchies are those of the table's privacy, version {declared.version}."
    if wanted.request.policy is not None:
        yield "Roles, hierarchies and models are those of the policy that was given."
    # The policies do not follow the guesses where roles are declared.
    guessed = draft.columns if declared is None else ()
    left_out = [column.facts.name for column in guessed if column.role is Role.IDENTIFYING]
    left_out = [name for name in left_out if name not in chosen.left]
    left_out += [name for name, role in made.learned.items() if role is Role.IDENTIFYING]
    if left_out:
        yield f"Not released: {_listed(left_out)}."
        said = {*wanted.request.leave_out, *wanted.request.roles, *singled, draft.person_column or ""}
        said |= {wanted.record_column, wanted.request.period_column, *chosen.left, *made.learned}
        if wanted.request.policy is None:
            yield from _identifying(draft, {name.casefold() for name in said})
    if singled:
        yield f"Left out, since nearly every row has a value of its own by which it could be found: {_listed(singled)}."
    yield from chosen.notes
    unknown = [column.facts.name for column in guessed if not column.decided and column.facts.kind is not None]
    if unknown:
        yield f"Generalized, since neither names nor types say what is there: {_listed(unknown)}."
    if declared is None and draft.also_count:
        names = ", ".join(draft.also_count)
        yield (
            f"People seem to belong together by {_listed(draft.also_count)}, which these policies do not count: with "
            f"also_count: [{names}] every class has records of k such groups, too."
        )
    for column in guessed:
        if column.lists is not None and column.role is Role.SENSITIVE:
            yield (
                f"{column.lists.told(column.facts.name)}: the policies judge each element. If cells are no lists, say "
                "elements: NONE."
            )
    if not made.limited:
        yield "No maximum_level is set: a policy made no release within the draft's limits. Columns may be erased."
    for name, role in made.learned.items():
        if role is Role.QUASI_IDENTIFIER:
            yield f"{shortened(name)} gives away what labels hide, so that it is generalized as well."


def _identifying(draft: PolicyDraft, said: Set[str]) -> Iterator[str]:
    """The reasons of the columns that the draft alone holds back."""
    held = [c for c in draft.columns if c.role is Role.IDENTIFYING and c.facts.name.casefold() not in said]
    for column in held[:_MOST_NAMED]:
        name = shortened(column.facts.name)
        yield f"{name} seems to identify people (else say --role): {column.reason[:1].lower()}{column.reason[1:]}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(map(shortened, names[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


# --- the choice -----------------------------------------------------------------------------------------------------


_BEYOND = "Its report says what a value that is known tells beyond."


def _ranked(
    alternatives: Sequence[TriedPolicy], decisions: Sequence[str], request: ProposalRequest
) -> tuple[tuple[TriedPolicy, ...], str]:
    """The alternatives, the recommended one first and marked, and a sentence about the choice.

    A score may hide whole columns for the sake of others: what is left of the columns counts first, most of all of
    those that somebody keeps.
    """
    kept = {kept.column.casefold() for kept in request.keep}

    def rank(one: TriedPolicy) -> tuple[bool, bool, int, int, float, int]:
        hidden = [column.column for column in one.columns if is_hidden(column)]
        needed = sum(name.casefold() in kept for name in hidden)
        return one.score is None, bool(one.decisions), needed, len(hidden), one.score or 0.0, -one.k

    ranked = sorted(alternatives, key=rank)
    best = ranked[0]
    fit = [one for one in ranked if one.score is not None and not one.decisions]
    fitting = len(fit)
    if not fitting:
        released = any(one.score is not None for one in ranked)
        why = "all of them leave something to be decided" if released else "no policy makes a release in the time"
        return tuple(ranked), f"None is recommended: {why}."
    if decisions:
        return tuple(ranked), "None is recommended before it is decided what stands above."
    ranked[0] = replace(best, recommended=True)
    risk = request.highest_risk
    if fitting == 1:
        text = (
            f"Recommended is {best.method} with k = {best.k} (score {best.score:.4f}): it alone keeps the risk within "
            f"{risk} for {_FOR[request.readers]}, and no refusal or warning asks for a decision. {_BEYOND}"
        )
        return tuple(ranked), text
    least = f"loses least (score {best.score:.4f})"
    if any((one.score or 0.0) < (best.score or 0.0) for one in fit):
        least = f"leaves most columns below {MOST_HIDDEN:.0%} of * (score {best.score:.4f})"
    text = (
        f"Recommended is {best.method} with k = {best.k}, which {least} of {fitting} that keep the risk within {risk} "
        f"for {_FOR[request.readers]}, and no refusal or warning asks for a decision. {_BEYOND}"
    )
    return tuple(ranked), text
