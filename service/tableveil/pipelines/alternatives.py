"""Tries policies on a source within a time: each makes its release, which is taken back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from tableveil.control import Progress, Stopped
from tableveil.drafting import PolicyDraft, as_role
from tableveil.errors import CancelledError, Fault, InfeasibleError, InvalidError, shortened, undecided
from tableveil.pipelines.dry_run import rehearsed
from tableveil.pipelines.work import JobContext, JobReport
from tableveil.policy import Policy, Role
from tableveil.requests.proposal import ProposalRequest
from tableveil.state.joint_texts import JointText
from tableveil.state.proposals import ColumnLeft, TriedPolicy
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.releases import Release

LOCAL, FULL_DOMAIN = "local recoding", "full domain"

_SEARCHING = 0.6
"""The share of its time that a policy's search may take: the rest is for reading, writing and verifying."""

LATE = "The time limit was over before its release was whole: more --seconds give more."
_ALONE = "Releases by local recoding cannot be judged together with the next one of the same people."


@dataclass(frozen=True, slots=True)
class Variant:
    """How a policy differs from the others; without `limits`, columns that nobody asked to keep may be erased.

    The columns of `least` have these levels at least.
    """

    k: int
    local: bool
    limits: bool = True
    least: tuple[tuple[str, int], ...] = ()

    @property
    def method(self) -> str:
        """The method in words."""
        return LOCAL if self.local else FULL_DOMAIN


Compose = Callable[[PolicyDraft, Variant], tuple[Policy, str]]
"""Makes the policy of a draft, and its document."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The alternatives, the columns that got another role for them, and the releases that these depend on.

    `limited` says that their levels have the limits of the draft.
    """

    alternatives: tuple[TriedPolicy, ...]
    learned: Mapping[str, Role]
    limited: bool
    releases: tuple[int, ...]


class _Lesson(Exception):
    """All policies are tried again: with other roles of columns, or without limits on levels if there are none."""

    def __init__(self, roles: Mapping[str, Role]) -> None:
        super().__init__()
        self.roles = roles


def tried(job: JobContext, request: ProposalRequest, draft: PolicyDraft, compose: Compose) -> Tried:
    """Tries all policies of a request.

    Raises:
        CancelledError: the job was cancelled.
    """
    learned: dict[str, Role] = {}
    # Local recoding takes all the time that it gets, and begins with what it found for a greater k.
    variants = [Variant(k, local) for local in (False, True) for k in sorted(request.sizes, reverse=local)]
    trials = _Trials(replace(job, partitions=[]), request, compose)
    unfit = [variant for variant in variants if variant.local and request.recurs]
    variants = [variant for variant in variants if variant not in unfit]
    while True:
        try:
            tries = list(trials.all(draft, variants))
            documents = [(variant, compose(draft, variant)[1]) for variant in unfit]
            tries += [TriedPolicy(document, each.method, each.k, failure=_ALONE) for each, document in documents]
            limited = all(each.limits for each in variants)
            return Tried(tuple(tries), learned, limited, tuple(sorted(trials.releases)))
        except _Lesson as lesson:
            # Scores can be compared where all policies have the same limits.
            variants = [replace(each, limits=each.limits and bool(lesson.roles)) for each in variants]
            learned |= lesson.roles
            draft = with_roles(draft, lesson.roles)


def with_roles(draft: PolicyDraft, roles: Mapping[str, Role]) -> PolicyDraft:
    """The draft with other roles of some columns."""
    columns = tuple(
        as_role(column, roles[column.facts.name]) if column.facts.name in roles else column for column in draft.columns
    )
    return replace(draft, columns=columns)


@dataclass(frozen=True, slots=True)
class _Trials:
    """Tries policies of a request, and keeps the `releases` that their outcomes depend on."""

    job: JobContext
    request: ProposalRequest
    compose: Compose
    releases: set[int] = field(default_factory=set)

    def all(self, draft: PolicyDraft, variants: Sequence[Variant]) -> Iterator[TriedPolicy]:
        """In turn: each search gets an even share of the time that is left."""
        job = self.job
        for done, variant in enumerate(variants):
            job.control.raise_if_cancelled()
            job.report.on_progress(Progress(done, len(variants), None, None, None))
            left = float(self.request.seconds) - job.report.elapsed()
            if left > 0:
                yield self._one(draft, variant, left / (len(variants) - done))
            else:
                _, document = self.compose(draft, variant)
                yield TriedPolicy(document, variant.method, variant.k, failure=LATE)

    def _one(self, draft: PolicyDraft, variant: Variant, share: float) -> TriedPolicy:
        job = self.job
        policy, document = self.compose(draft, variant)
        try:
            left = float(self.request.seconds) - job.report.elapsed()
            release, refusals = rehearsed_within(job, policy, document, share, left)
        except (Stopped, CancelledError):
            job.control.raise_if_cancelled()
            return TriedPolicy(document, variant.method, variant.k, failure=LATE)
        except InfeasibleError as error:
            self.releases.update(error.releases)
            if variant.limits and any(attribute.maximum_level is not None for attribute in policy.attributes):
                raise _Lesson({}) from None
            return TriedPolicy(document, variant.method, variant.k, failure=str(error))
        except InvalidError as error:
            self.releases.update(error.releases)
            # A role that the policy of the request decides stays decided.
            roles = {} if self.request.policy is not None else _other_roles(policy, error.faults)
            if roles and not any(name.casefold() in self.request.roles for name in roles):
                raise _Lesson(roles) from None
            return TriedPolicy(document, variant.method, variant.k, failure=str(error))
        self.releases.update(number for one in (*release.joint, *refusals) for number in one.releases)
        columns = tuple(
            column_left(each_attribute, release.records - release.suppressed_records)
            for each_attribute in release.attributes
        )
        return TriedPolicy(
            document,
            variant.method,
            variant.k,
            score=release.score,
            suppressed_records=release.suppressed_records,
            highest_risk=release.risk_after.highest,
            columns=columns,
            decisions=(*(one.text for one in refusals), *undecided(release.warnings), *_erased(self.request, columns)),
        )


def rehearsed_within(
    job: JobContext, policy: Policy, document: str, share: float, left: float
) -> tuple[Release, tuple[JointText, ...]]:
    """In a session of its own, which takes with it what the policy left there.

    The search is bounded by its share of the time, and the rest by all that is left: one that takes long leaves less to
    the next, and is not in vain.
    """
    job.control.begin_anew()
    limit = Decimal(max(share * _SEARCHING, 0.1)).quantize(Decimal("0.1"))
    limited = replace(policy, search=replace(policy.search, time_limit_seconds=limit))
    with job.database.session() as session:
        session.control, session.memory = job.control.within(left), job.session.memory
        own = replace(job, document=document, session=session, control=session.control, report=JobReport())
        made, refusals = rehearsed(own, limited)
        return made.release, refusals


def _other_roles(policy: Policy, faults: Sequence[Fault]) -> dict[str, Role]:
    """Roles that cure faults of columns that are released unchanged; empty if there are others.

    An insensitive one becomes a quasi-identifier, a sensitive one is not released.
    """
    cures = {Role.INSENSITIVE: Role.QUASI_IDENTIFIER, Role.SENSITIVE: Role.IDENTIFYING}
    roles: dict[str, Role] = {}
    for fault in faults:
        refused_attributes = [a for i, a in enumerate(policy.attributes) if fault.field.startswith(f"attributes[{i}].")]
        if not refused_attributes or refused_attributes[0].role not in cures:
            return {}
        roles[refused_attributes[0].column] = cures[refused_attributes[0].role]
    return roles


MOST_HIDDEN = 0.9
"""A column that is `*` in more of the released records is as good as gone."""


def is_hidden(column: ColumnLeft) -> bool:
    """Whether nearly nothing is left of a column."""
    return column.erased or column.hidden > MOST_HIDDEN


def column_left(attribute_result: AttributeResult, released: int) -> ColumnLeft:
    """The rest of a column in a release of so many records."""
    at_top = sum(records for level, records in attribute_result.levels if level == attribute_result.top_level)
    hidden = at_top / released if attribute_result.levels and released else float(attribute_result.erased)
    return ColumnLeft(
        attribute_result.column, attribute_result.distinct_after, hidden, attribute_result.erased, attribute_result.loss
    )


def _erased(request: ProposalRequest, columns: Sequence[ColumnLeft]) -> Iterator[str]:
    """The columns that the request asks to keep, and of which nothing is left."""
    kept = {kept.column.casefold() for kept in request.keep}
    for column in columns:
        if column.erased and column.column.casefold() in kept:
            yield f"{shortened(column.column)} was to be kept, and has the same label in all rows."
