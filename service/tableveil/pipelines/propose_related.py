"""Proposals for people and their events: one policy of all tables, tried with one and with two known facts."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tableveil.backend import WarehouseSession
from tableveil.control import Progress, Stopped
from tableveil.errors import CancelledError, Fault, InfeasibleError, InvalidError, Rank, Warned, shortened, undecided
from tableveil.pipelines.alternatives import LATE, column_left, rehearsed_within
from tableveil.pipelines.propose import READERS_UNSAID
from tableveil.pipelines.work import JobContext, Work, fitting, policy_work, store_result
from tableveil.policy import Policy, Role, TableReference
from tableveil.policy.methods.related_tables import RELATED_TABLES
from tableveil.requests.proposal import ProposalRequest
from tableveil.source import resolve_source
from tableveil.source.facts import records_in
from tableveil.source.tables import invalid
from tableveil.state import jobs
from tableveil.state.jobs import JobKind, JobPhase
from tableveil.state.proposals import PROPOSALS, Proposal, TriedPolicy

_FACTS = ("one known fact", "two known facts")

_MENDS = 8
"""A policy is tried so often, each time without what was refused."""

_COLUMN, _ORPHANS = re.compile(r"attributes\[(\d+)\]\.(?:role|column)"), re.compile(r"tables\.events\[(\d+)\]\.orphans")
_SENSITIVE = "attributes"
"""The field of a refusal of all sensitive columns of events."""


@dataclass(frozen=True, slots=True)
class RelatedColumn:
    """A column of the policy to begin with; its name has the event table's, if it is `of_events`."""

    name: str
    role: Role | None
    of_events: bool


@dataclass(frozen=True, slots=True)
class RelatedVariant:
    """How a policy differs from the one to begin with.

    Columns that are `hidden`, and event tables without their orphans, stand by their places.
    """

    known_facts: int
    hidden: frozenset[int] = frozenset()
    without_orphans: frozenset[int] = frozenset()


Compose = Callable[[RelatedVariant], tuple[Policy, str]]
"""Makes the policy, and its document."""


def related_proposal_work(
    request: ProposalRequest, document: str, compose: Compose, columns: Sequence[RelatedColumn]
) -> Work:
    """The work for a proposal of the tables in the request's policy, which has these `columns`."""
    policy, _ = compose(RelatedVariant(1))

    def admit(session: WarehouseSession) -> TableReference:
        source, _, faults = resolve_source(session, policy)
        # A trial hides the columns whose roles are refused.
        left = [replace(fault, field=f"policy.{fault.field}") for fault in faults if not fault.field.endswith("].role")]
        if source is None or left:
            raise invalid("PROPOSAL_INVALID", "nothing can be proposed as asked", left)
        return session.recorded(source.reference)

    work = policy_work(JobKind.PROPOSAL, policy, document, lambda job: _run(job, request, policy, compose, columns))
    return replace(work, admit=admit)


def _run(
    job: JobContext, request: ProposalRequest, policy: Policy, compose: Compose, columns: Sequence[RelatedColumn]
) -> int:
    job.report.phase(JobPhase.READING)
    with job.database.session() as session, session.transaction():
        source, _, faults = resolve_source(session, policy)
        people = records_in(session, fitting(source, [one for one in faults if source is None]))
    job.report.phase(JobPhase.SEARCHING)
    trials = _Trials(replace(job, partitions=[]), request, compose, columns)
    ranked, recommendation = _ranked(trials.all(), request)

    def result(number: int) -> Proposal:
        return Proposal(
            number=number,
            job=job.number,
            created_at=jobs.now(),
            source=policy.source,
            records=people,
            notes=(_limits(policy), *(f"Not released: {text}" for text in trials.hidden)),
            decisions=(READERS_UNSAID,) if request.assumed else (),
            repair_query="",
            recommendation=recommendation,
            seconds=job.report.elapsed(),
            request=job.document,
            findings=(),
            alternatives=ranked,
            releases=tuple(sorted(trials.releases)),
        )

    return store_result(job, PROPOSALS, result)


def _tells(policy: Policy, told: Warned) -> bool:
    """Whether it tells whom few keys fit, what is left of events, or which questions source and release answer alike.

    Notes on events have the field that lost rows, or the name of the table or the column that is asked about.
    """
    fields = {"tables.rows_limit"}
    for i, event in enumerate(RELATED_TABLES.options(policy).events):
        fields |= {f"tables.events[{i}].orphans", event.name, *(event.qualified(of.column) for of in event.attributes)}
    return told.field == "privacy_models" or (told.rank is Rank.NOTE and told.field in fields)


def _limits(policy: Policy) -> str:
    return (
        f"At most {RELATED_TABLES.options(policy).rows_limit:.0%} of the rows of events may be removed, and "
        f"{policy.suppression_limit:.0%} of the people, by rows_limit and suppression_limit of the policy. The less "
        "may be removed, the more is generalized."
    )


@dataclass(frozen=True, slots=True)
class _Trials:
    """Tries both policies; keeps sentences on `hidden` columns, and the `releases` that the outcomes depend on."""

    job: JobContext
    request: ProposalRequest
    compose: Compose
    columns: Sequence[RelatedColumn]
    hidden: dict[str, None] = field(default_factory=dict)
    releases: set[int] = field(default_factory=set)

    def all(self) -> list[TriedPolicy]:
        """One known fact first: a column that is refused then is refused with two."""
        variant, tries = RelatedVariant(1), list[TriedPolicy]()
        for known_facts in (1, 2):
            self.job.report.on_progress(Progress(known_facts - 1, 2, None, None, None))
            variant, one = self._mended(replace(variant, known_facts=known_facts))
            tries.append(one)
        return tries

    def _mended(self, variant: RelatedVariant) -> tuple[RelatedVariant, TriedPolicy]:
        """The policy without what is refused of it, until it makes a release or nothing is left to leave out."""
        for _ in range(_MENDS):
            policy, document = self.compose(variant)
            one = TriedPolicy(document, f"full domain, {_FACTS[variant.known_facts - 1]}", policy.k or 0)
            try:
                return variant, self._released(one, policy, variant)
            except (Stopped, CancelledError):
                self.job.control.raise_if_cancelled()
                return variant, replace(one, failure=LATE)
            except (InfeasibleError, InvalidError) as error:
                self.releases.update(error.releases)
                mended = self._without(variant, error.faults) if isinstance(error, InvalidError) else None
                if mended is None:
                    return variant, replace(one, failure=str(error))
                variant = mended
        return variant, replace(one, failure="Columns are refused one after the other: decide on their roles.")

    def _released(self, one: TriedPolicy, policy: Policy, variant: RelatedVariant) -> TriedPolicy:
        job = self.job
        job.control.raise_if_cancelled()
        left = float(self.request.seconds) - job.report.elapsed()
        if left <= 0:
            return replace(one, failure=LATE)
        release, refusals = rehearsed_within(job, policy, one.policy, left / (3 - variant.known_facts), left)
        self.releases.update(number for each in (*release.joint, *refusals) for number in each.releases)
        return replace(
            one,
            score=release.score,
            suppressed_records=release.suppressed_records,
            highest_risk=release.risk_after.highest,
            columns=tuple(
                column_left(each, release.records - release.suppressed_records) for each in release.attributes
            ),
            decisions=(*(refusal.text for refusal in refusals), *undecided(release.warnings)),
            notes=tuple(str(told) for told in release.warnings if _tells(policy, told)),
        )

    def _without(self, variant: RelatedVariant, faults: Iterable[Fault]) -> RelatedVariant | None:
        """The policy without refused columns and without orphans; None if a fault is about something else."""
        hidden, orphans = set(variant.hidden), set(variant.without_orphans)
        for fault in faults:
            column, event = _COLUMN.fullmatch(fault.field), _ORPHANS.fullmatch(fault.field)
            if event is not None:
                orphans.add(int(event[1]))
                continue
            places = [int(column[1])] if column is not None else []
            if fault.field == _SENSITIVE:
                places = [i for i, one in enumerate(self.columns) if one.of_events and one.role is Role.SENSITIVE]
            if not places:
                return None
            for place in places:
                self.hidden.setdefault(f"{shortened(self.columns[place].name)}: {fault.found}")
            hidden.update(places)
        mended = replace(variant, hidden=frozenset(hidden), without_orphans=frozenset(orphans))
        return mended if mended != variant else None


def _ranked(tried: Sequence[TriedPolicy], request: ProposalRequest) -> tuple[tuple[TriedPolicy, ...], str]:
    """Two known facts first, if they make a release that leaves nothing to be decided; and a sentence on the choice."""
    ranked = sorted(tried, key=lambda one: (one.score is None, bool(one.decisions), one is tried[0]))
    best = ranked[0]
    if best.score is None:
        return tuple(ranked), "None is recommended: neither policy makes a release."
    if best.decisions:
        return tuple(ranked), "None is recommended: all of them leave something to be decided."
    if request.assumed:
        return tuple(ranked), "None is recommended before it is decided what stands above."
    text = f"Recommended is {best.method}, with k = {best.k} (score {best.score:.4f}): "
    if best.method.endswith(_FACTS[1]):
        text += "it holds against more than one known fact, and leaves nothing to be decided."
    else:
        text += "with two known facts there is no release that leaves nothing to be decided."
    return (replace(best, recommended=True), *ranked[1:]), text
