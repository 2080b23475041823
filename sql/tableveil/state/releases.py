"""The ledger of releases with the owner's evidence, each release by its number."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TypeVar, cast

from tableveil.backend import Ledger, scoped
from tableveil.errors import Warned
from tableveil.policy import ReleaseKind, TableReference
from tableveil.privacy.exposure.found import Exposure
from tableveil.privacy.guarantees import Guarantee
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.state import codec, joint_texts, matches, release_risks, seen
from tableveil.state.decisions import DECISIONS, WITHDRAWALS, Decision, Withdrawal
from tableveil.state.joint_texts import WHOLE, JointText
from tableveil.state.mapper import SOURCE_COLUMNS, NumberedTable, Table, of_each
from tableveil.state.matches import Match
from tableveil.state.publications import PUBLICATIONS, Publication
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.release_explanations import Alternative, CostPart, Explanation
from tableveil.state.release_objects import OBJECTS, ReleaseObject, latest_among
from tableveil.state.release_risks import AFTER, BEFORE, SUPPRESSIONS, SuppressedLabel
from tableveil.state.seen import releases as seen_releases
from tableveil.state.trials import TRIALS as TRIAL_ENTRIES
from tableveil.state.trials import Trial, note_promotion


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """Another valid transformation that was checked."""

    levels: tuple[int, ...]
    score: float
    suppressed_records: int


@dataclass(frozen=True, slots=True)
class Searched:
    """The account of a search of the lattice; `pruned` counts transformations by reason, as decimals.

    Classes were `counted` this often: for the checks, and for bounds. The best was found after `best_seconds`.
    """

    lattice_size: str
    checked: int
    counted: int
    pruned: Mapping[str, str] = field(default_factory=dict)
    runners_up: tuple[RunnerUp, ...] = ()
    best_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a release is the best, or how far from the best it may be: no valid score is less than `lower_bound`.

    `strategy` names the method or search and the reason for it, `counter` the counter, `counting` how it counted.
    `searched` is None if the method does not search the lattice.
    """

    optimal: bool
    lower_bound: float
    strategy: str
    seconds: float
    counter: str
    counting: str
    searched: Searched | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFigures:
    """The figures by which a method accounts for its release. They stand once, here.

    A method's solution has them, and so has the release in the ledger.

    Attributes:
        score: Less is better; `quality_model` says what it measures.
        quality_model: The quality model in words.
        proof: The reason why the release is the best, or how far from the best it may be.
        warnings: For the owner, in whole sentences.
        guarantees: The strictest parameters met of every privacy model, before and after.
        exposures: The numbers of those who could be found by columns that are released as they are.
        costs: The parts of the loss, if classes have levels of their own.
        alternatives: Scores that other policies would have, if a dry run looks for them. No release keeps them.
    """

    score: float
    quality_model: str
    proof: Proof
    warnings: tuple[Warned, ...]
    guarantees: tuple[Guarantee, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    costs: tuple[CostPart, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


class ReleaseAction(StrEnum):
    """The things that somebody may do with a release."""

    DECIDE = "DECIDE"
    PROMOTE = "PROMOTE"
    WITHDRAW = "WITHDRAW"
    READ = "READ"


class ReleaseState(StrEnum):
    """How far a release has come: from PENDING to APPROVED or REJECTED; from PENDING or APPROVED to WITHDRAWN.

    A release that needs no approval is approved when it is written. A TRIAL becomes PENDING or APPROVED by promotion.
    """

    TRIAL = "TRIAL"
    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"
    WITHDRAWN = "WITHDRAWN"


_WAITING = (ReleaseState.PENDING, ReleaseState.TRIAL)


class _Placed:
    """A release that stands somewhere."""

    __slots__ = ()
    target_schema: str
    warehouse: str

    @property
    def place(self) -> str:
        """The schema of the objects as the engine that holds them knows it."""
        return self.target_schema.removeprefix(scoped(self.warehouse, ""))


@dataclass(frozen=True, slots=True)
class Release(MethodFigures, _Placed):
    """A release and its evidence. `policy` is the document as JSON; seconds are of the whole job up to the commit.

    A `source` that is a query has no name; `source_tables` are those that it reads. A release in a `warehouse` has
    that name before its schema.

    Releases are listed without their explanation and guarantees. A release is `current` from its approval until it is
    withdrawn, or replaced by a later one. When it is written, `joint` says which texts only readers of others are told.
    """

    number: int
    job: int
    created_at: datetime
    source: TableReference
    source_fingerprint: str
    target_schema: str
    target_name: str
    kind: ReleaseKind
    repeat_reason: str
    needs_approval: bool
    records: int
    suppressed_records: int
    classes: int
    attributes: tuple[AttributeResult, ...]
    objects: tuple[ReleaseObject, ...]
    risk_before: ProsecutorRisk
    risk_after: ProsecutorRisk
    risk_by_size: ProsecutorRisk
    seconds: float
    phase_seconds: Mapping[str, float]
    versions: Mapping[str, str]
    policy: str
    explanation: Explanation | None = None
    source_tables: tuple[TableReference, ...] = ()
    current: bool = field(default=True)
    withdrawal: Withdrawal | None = None
    audience: seen.Audience = seen.Audience.OWNER
    decision: Decision | None = None
    publications: tuple[Publication, ...] = ()
    matches: tuple[Match, ...] = ()
    suppressed_labels: tuple[SuppressedLabel, ...] = ()
    warehouse: str = ""
    joint: tuple[JointText, ...] = ()
    trial: Trial | None = None

    @property
    def state(self) -> ReleaseState:
        """The state that the ledger's entries about it make."""
        if self.withdrawal is not None:
            return ReleaseState.WITHDRAWN
        if self.trial is not None and self.trial.promoted_at is None:
            return ReleaseState.TRIAL
        if not self.needs_approval or (self.decision is not None and self.decision.approved):
            return ReleaseState.APPROVED
        return ReleaseState.PENDING if self.decision is None else ReleaseState.REJECTED

    @property
    def waits(self) -> bool:
        """Whether its objects are there, and in private."""
        return self.state in _WAITING

    @property
    def actions(self) -> tuple[ReleaseAction, ...]:
        """The things that its owner may do with it; those of others depend on their rights."""
        if self.audience is not seen.Audience.OWNER:
            return ()
        promoted = (ReleaseAction.PROMOTE,) if self.state is ReleaseState.TRIAL else ()
        dropped = (ReleaseAction.WITHDRAW,) if self.current or self.waits else ()
        return (*promoted, *dropped, ReleaseAction.READ)


@dataclass(frozen=True, slots=True)
class Origin:
    """The part of a release that says whose records are in it, which is read without the rest."""

    number: int
    job: int
    source: TableReference
    source_fingerprint: str
    source_tables: tuple[TableReference, ...] = ()


@dataclass(frozen=True, slots=True)
class StandingRelease(_Placed):
    """The part of a release that says whether its objects stand, and where; it is read without the rest."""

    number: int
    job: int
    target_schema: str
    target_name: str
    kind: ReleaseKind
    versions: Mapping[str, str]
    warehouse: str
    state: ReleaseState
    current: bool = field(default=True)
    objects: tuple[ReleaseObject, ...] = ()

    @property
    def waits(self) -> bool:
        """See `Release.waits`."""
        return self.state in _WAITING


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """The part of a release that lists show; without its evidence, nothing is told of its source."""

    number: int
    created_at: datetime
    source: TableReference
    target_schema: str
    target_name: str
    kind: ReleaseKind
    warehouse: str
    suppressed_records: int
    state: ReleaseState
    current: bool = field(default=True)
    has_evidence: bool = field(default=False)


_STATE = (
    "CASE WHEN number IN (SELECT release FROM tableveil.withdrawals) THEN 'WITHDRAWN' "
    f"WHEN number IN {seen.TRIALS} THEN 'TRIAL' "
    f"WHEN {seen.PUBLIC} THEN 'APPROVED' "
    "WHEN number IN (SELECT release FROM tableveil.decisions) THEN 'REJECTED' ELSE 'PENDING' END"
)
"""`Release.state` of an entry."""

_SOURCE_TABLES = Table("release_sources", TableReference, "release", names=SOURCE_COLUMNS)


class _Releases(NumberedTable[Release]):
    """The ledger. A release is stored with the sizes of its classes, which only its report reads back."""

    def write(self, ledger: Ledger, release: Release, sizes_before: ClassSizes, sizes_after: ClassSizes) -> None:
        """Writes the ledger entry and the evidence; call it in the transaction that writes the release."""
        self.insert(ledger, [release])
        if release.joint:
            joint_texts.insert(ledger, release.job, release.joint)
        release_risks.insert(ledger, release.number, {BEFORE: sizes_before, AFTER: sizes_after})

    def promote(self, ledger: Ledger, release: Release) -> None:
        """Writes what a promotion changes: reason, texts and whether it waits; call it in its transaction."""
        assert release.trial is not None, "it was a trial"
        assert release.trial.promoted_at is not None, "it is promoted"
        ledger.execute(
            "UPDATE tableveil.releases SET needs_approval = ?, repeat_reason = ?, policy = ?, warnings = ?, "
            # The reader may not have been told all of the document.
            "document = json_merge_patch(document, ?::JSON) WHERE number = ?",
            [
                *(release.needs_approval, release.repeat_reason, release.policy),
                [warning.stored for warning in release.warnings],
                *(codec.written({"guarantees": release.guarantees}), release.number),
            ],
        )
        joint_texts.insert(ledger, release.job, release.joint)
        note_promotion(ledger, release.number, release.trial.promoted_at)

    def find(self, ledger: Ledger, number: int) -> Release | None:
        """The release of that number, with its explanation and its guarantees."""
        releases = self.where(ledger, "number = ?", [number], whole=True) if self.shows(ledger, number) else []
        return next(iter(self._for_reader(ledger, releases)), None)

    def where(
        self, ledger: Ledger, condition: str, parameters: Sequence[object], order: str = "", *, whole: bool = False
    ) -> list[Release]:
        """With what is no column of the ledger; explanation and guarantees only if they are to be `whole`."""
        releases = super().where(ledger, condition, parameters, order)
        if not releases:
            return []
        numbers = [release.number for release in releases]
        withdrawn, decided, trials, published = of_each(
            ledger, numbers, [WITHDRAWALS, DECISIONS, TRIAL_ENTRIES, PUBLICATIONS]
        )
        # A query of its own: inside the entries' query it would take as long as the rest of that.
        latest = latest_among(ledger, releases)
        matched = matches.of(ledger, numbers)
        owned = seen_among(ledger, numbers, seen.evidence(ledger.visibility))
        under_review = seen_among(ledger, set(numbers) - owned, seen.reviewed(ledger.visibility))

        def completed(release: Release) -> Release:
            number = release.number
            withdrawal = next(iter(withdrawn[number]), None)
            return replace(
                release if whole else replace(release, explanation=None, guarantees=(), exposures=()),
                current=number in latest and withdrawal is None,
                withdrawal=withdrawal,
                audience=seen.Audience.OWNER
                if number in owned
                else (seen.Audience.REVIEWER if number in under_review else seen.Audience.PUBLIC),
                decision=next(iter(decided[number]), None),
                publications=tuple(published[number]),
                matches=tuple(matched[number]),
                trial=next(iter(trials[number]), None),
            )

        return [completed(release) for release in releases]

    def _for_reader(self, ledger: Ledger, rows: list[Release]) -> list[Release]:
        """The releases without the texts that depend on others, of which the ledger's reader may not see all."""
        hidden = joint_texts.hidden(ledger, [release.job for release in rows])
        shown = [_told(release, hidden[release.job]) if release.job in hidden else release for release in rows]
        unread = _unread(ledger, shown)
        return [_without_labels(release) if release.number in unread else release for release in shown]


def _releases(**names: str) -> _Releases:
    return _Releases(
        "releases",
        Release,
        "release_numbers",
        names={
            "proof.seconds": "search_seconds",
            "explanation.complete": "explanation_complete",
            **dict.fromkeys(("current", "withdrawal", "audience", "decision", "trial", "alternatives")),
            **names,
        },
        document=(
            *("proof.searched.runners_up", "explanation.itself", "explanation.neighbours"),
            *("attributes", "costs", "guarantees", "exposures", "risk_before", "risk_after", "risk_by_size"),
        ),
        parts={"objects": OBJECTS, "source_tables": _SOURCE_TABLES, "suppressed_labels": SUPPRESSIONS},
        seen=seen_releases,
    )


RELEASES = _releases()

LISTED = _releases(policy="''")
"""The releases without their policies, in which hierarchies may be written out: lists show none."""


ORIGINS = NumberedTable(
    "releases", Origin, "release_numbers", parts={"source_tables": _SOURCE_TABLES}, seen=seen_releases
)
"""The origins of the releases in the ledger."""


_Narrow = TypeVar("_Narrow", StandingRelease, ReleaseSummary)


class _Standing(NumberedTable[_Narrow]):
    """Where releases stand."""

    def where(self, ledger: Ledger, condition: str, parameters: Sequence[object], order: str = "") -> list[_Narrow]:
        """With whether each is current: as a column of the query it would be found out for all targets."""
        releases = cast(list[_Narrow], super().where(ledger, condition, parameters, order))
        latest = latest_among(ledger, releases) if releases else set()
        for place, one in enumerate(releases):
            is_current = one.number in latest and one.state is not ReleaseState.WITHDRAWN
            releases[place] = replace(one, current=is_current)
        return releases


class _Summaries(_Standing[ReleaseSummary]):
    def where(
        self, ledger: Ledger, condition: str, parameters: Sequence[object], order: str = ""
    ) -> list[ReleaseSummary]:
        """With whether the reader may see the evidence of each."""
        releases = super().where(ledger, condition, parameters, order)
        evident = seen_among(ledger, [one.number for one in releases])
        return [replace(one, has_evidence=one.number in evident) for one in releases]


SUMMARIES = _Summaries(
    "releases",
    ReleaseSummary,
    "release_numbers",
    names={"state": _STATE, "current": None, "has_evidence": None},
    seen=seen_releases,
)
"""The releases in the ledger as lists show them."""


STANDING = _Standing[StandingRelease](
    "releases",
    StandingRelease,
    "release_numbers",
    names={"state": _STATE, "current": None},
    parts={"objects": OBJECTS},
    seen=seen_releases,
)
"""Where the releases in the ledger stand."""

STATES = _Standing[StandingRelease](
    "releases", StandingRelease, "release_numbers", names={"state": _STATE, "current": None}, seen=seen_releases
)
"""Their states alone, without their objects."""


def _told(release: Release, hidden: Collection[str]) -> Release:
    shown = replace(
        release,
        warnings=joint_texts.shown(release.warnings, hidden),
        guarantees=joint_texts.reached(release.guarantees, hidden),
    )
    if WHOLE not in hidden:
        return shown
    proof, searched = release.proof, release.proof.searched
    if searched is not None:
        proof = replace(proof, searched=replace(searched, pruned={}, runners_up=()))
    return replace(shown, proof=proof, explanation=None, exposures=(), costs=(), alternatives=())


def _unread(ledger: Ledger, releases: Sequence[Release]) -> set[int]:
    """The releases whose evidence the ledger's reader sees, and whose rows neither the reader nor anybody else read."""
    private = {
        release.number
        for release in releases
        if release.audience is seen.Audience.REVIEWER
        and release.needs_approval
        and not (release.decision is not None and release.decision.approved)
    }
    return private - seen_among(ledger, private, seen.waiting(ledger.visibility))


def _without_labels(release: Release) -> Release:
    """The release without the labels of its rows: at level 0 they are values."""
    return replace(release, suppressed_labels=(), costs=tuple(part for part in release.costs if part.label is None))


def seen_among(ledger: Ledger, numbers: Collection[int], condition: seen.Condition | None = None) -> set[int]:
    """The numbers of releases among these that meet a condition: by default, that the ledger shows their evidence."""
    text, values = condition or seen.either(seen.evidence(ledger.visibility), seen.reviewed(ledger.visibility))
    if (text, values) == seen.UNHIDDEN:
        return set(numbers)
    if not numbers or (text, values) == seen.HIDDEN:
        return set()
    query = f"SELECT number FROM tableveil.releases WHERE list_contains(?::BIGINT[], number) AND {text}"
    return {number for (number,) in ledger.rows(query, [list(numbers), *values])}


def listed_as(states: Collection[ReleaseState], target_schema: str) -> seen.Condition:
    """Releases in one of the states, or in any, into a schema, or into any."""
    conditions, values = ["true"], list[object]()
    if states:
        conditions.append(f"list_contains(?::VARCHAR[], {_STATE})")
        values.append([state.value for state in states])
    if target_schema:
        conditions.append("lower(target_schema) = lower(?)")
        values.append(target_schema)
    return " AND ".join(conditions), values


def compared_releases(ledger: Ledger) -> set[int]:
    """The releases that the running work may compare with its own, by the rights at its admission.

    Trials are none of them. Nothing else of the others may be read, or the answer and its time would depend on what its
    principal may not see.
    """
    query = (
        f"SELECT number FROM tableveil.releases WHERE number NOT IN {seen.TRIALS} "
        f"UNION SELECT release FROM tableveil.release_samples WHERE release NOT IN {seen.TRIALS}"
    )
    return seen_among(ledger, [number for (number,) in ledger.rows(query)], seen.compared(ledger.visibility))


def ever_public(ledger: Ledger, numbers: Collection[int]) -> set[int]:
    """The releases among these that are public, or were."""
    query = f"SELECT number FROM tableveil.releases WHERE list_contains(?::BIGINT[], number) AND {seen.PUBLIC}"
    return {number for (number,) in ledger.rows(query, [list(numbers)])}


def earlier_of_target(ledger: Ledger, release: Release) -> Release | None:
    """The last release before this one that the same target had in public; None if the ledger shows none."""
    rows = ledger.rows(
        "SELECT max(number) FROM tableveil.releases WHERE target_schema = ? AND lower(target_name) = lower(?) "
        f"AND number < ? AND {seen.PUBLIC}",
        [release.target_schema, release.target_name, release.number],
    )
    ((number,),) = rows
    return None if number is None else RELEASES.find(ledger, number)


def exists(ledger: Ledger, number: int) -> bool:
    """Whether there is a release of that number, seen or not."""
    return bool(ledger.rows("SELECT 1 FROM tableveil.releases WHERE number = ?", [number]))


def policies_of(ledger: Ledger, numbers: Sequence[int]) -> list[tuple[int, str]]:
    """The documents of the policies of releases, by number; unknown numbers are left out."""
    query = "SELECT number, policy FROM tableveil.releases WHERE list_contains(?::BIGINT[], number) ORDER BY number"
    return [(number, document) for number, document in ledger.rows(query, [list(numbers)])]


def earlier_releases(
    ledger: Ledger, tables: Sequence[TableReference], fingerprint: str | None, among: Collection[int] | None = None
) -> list[int]:
    """Numbers of the releases made of any of these tables, alone or in a query, or of rows with that fingerprint.

    They are `among` these, or any if it is None.

    Rejected releases are left out: nobody but their steward and approver saw anything of them.
    """
    names = [(read.schema, read.table) for read in tables]
    rows = ledger.rows(
        "WITH read AS (SELECT unnest(?::VARCHAR[]) AS s, unnest(?::VARCHAR[]) AS t) "
        "SELECT number FROM tableveil.releases WHERE number NOT IN (SELECT release FROM tableveil.decisions "
        "WHERE NOT approved) AND (source_fingerprint = ? OR (source_schema, source_table) IN (FROM read) "
        "OR number IN (SELECT release FROM tableveil.release_sources "
        "WHERE (source_schema, source_table) IN (FROM read))) ORDER BY number",
        [[schema for schema, _ in names], [name for _, name in names], fingerprint or ""],
    )
    return [number for (number,) in rows if among is None or number in among]
