"""Publishes a release: one transaction checks, writes, verifies and records it; then it is looked for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from tableveil.backend import Database, WarehouseSession, table
from tableveil.control import Stopped
from tableveil.disclosure.check import Measured, check_exposure
from tableveil.disclosure.single_valued import single_valued
from tableveil.errors import InternalError, TableveilError, Warned, note
from tableveil.lifecycle.entry import end_job, release_of
from tableveil.lifecycle.evidence import Evidence
from tableveil.lifecycle.gates import check_current, check_unchanged
from tableveil.lifecycle.guards import check_decided, check_guards, labels_of
from tableveil.lifecycle.repeated import (
    JointFindings,
    Repeated,
    RepeatingRelease,
    joint_findings,
    repeated_by_reason,
    stage_repeated,
)
from tableveil.lifecycle.standing import private
from tableveil.lifecycle.swap import complete, complete_all, discard, staged
from tableveil.policy import JobPart, ReleaseTarget
from tableveil.release import objects, write
from tableveil.release.class_ids import people_with_classes
from tableveil.release.estimated_matches import MatchedEstimates
from tableveil.release.lost_groups import lost_groups
from tableveil.release.plan import ReleasePlan
from tableveil.release.related_account import related_account
from tableveil.release.spread_size import check_spreads_collectible
from tableveil.risk import ClassSizes, prosecutor_risk
from tableveil.state import jobs, persons, sketches
from tableveil.state.dry_runs import ShownRow
from tableveil.state.lineage import remember
from tableveil.state.publications import PUBLICATIONS, Publication
from tableveil.state.releases import RELEASES, Release
from tableveil.state.trials import SWAPS, TRIALS, Swap, Trial
from tableveil.verification import verify


@dataclass(frozen=True, slots=True)
class PublicationTerms:
    """The terms under which a release is published.

    One that `needs_approval` is written and verified in private; an earlier one at the target stays. With
    `unless_safe`, one that repeats people by a reason needs it if they do not all share joint classes of k. A `trial`
    stays in private as well: whatever depends on other releases and on the target is asked when it is promoted.
    """

    needs_approval: bool = False
    unless_safe: bool = False
    trial: Trial | None = None

    @property
    def waits(self) -> bool:
        """Whether the release stays in private."""
        return self.needs_approval or self.trial is not None


@dataclass(frozen=True, slots=True)
class _Planned:
    """A release whose plan is staged and whose columns are `measured`; `verifying` is called before it is verified."""

    plan: ReleasePlan
    evidence: Evidence
    measured: Measured
    verifying: Callable[[], None]


def publish(
    database: Database,
    session: WarehouseSession,
    plan: ReleasePlan,
    evidence: Evidence,
    verifying: Callable[[], None],
    terms: PublicationTerms,
) -> int:
    """Writes the release and the job's outcome, and returns the release's number.

    `verifying` is called between writing and verifying. Until the commit the session's control can stop it, and nothing
    stays; once the commit begins nothing stops it. In a warehouse the objects get their names after the commit; see
    `swap`.

    Raises:
        ConflictError: the source changed since it was counted, or something exists at the target.
        GuardedError: a guard keeps the release from its target.
        InvalidError: the source was released meanwhile, and the policy gives no reason to release it again.
        InternalError: the verification failed (nothing was written), or the commit left nothing behind.
    """
    planned = _planned(session, plan, evidence, verifying)
    if terms.unless_safe and not terms.waits:
        with suppress(_Unsafe):
            return _publish(database, session, planned, terms, safely=True)
        waits = note(
            "By the rule of its schema, it waits for approval: a reason does not suffice for its joint classes, nor a "
            "statement that people are others. Only readers of all the releases are told the figures.",
            field="repeat_reason",
        )
        planned = replace(planned, evidence=evidence.with_more(first=(waits,)))
        terms = replace(terms, needs_approval=True)
    return _publish(database, session, planned, terms)


def _planned(
    session: WarehouseSession, plan: ReleasePlan, evidence: Evidence, verifying: Callable[[], None]
) -> _Planned:
    if session.most_collected is not None:
        check_spreads_collectible(session, plan)
    try:
        plan.recoding.stage(session, plan)
        if plan.related is not None:
            plan.related.stage(session.embedded)
        measured = check_exposure(session, plan)
    except InternalError:
        # A table or column that went meanwhile is a change of the source, not a defect.
        _check_unchanged(session, plan, evidence)
        raise
    return _Planned(plan, evidence, measured, verifying)


def _publish(
    database: Database, session: WarehouseSession, planned: _Planned, terms: PublicationTerms, *, safely: bool = False
) -> int:
    """See `publish`; raises `_Unsafe` if the release has to be safe beside those that it repeats, and is not."""
    plan, evidence = planned.plan, planned.evidence
    if session.traits.keeps_ledger:
        with writing(database, session), session.embedded.transaction():
            _check_unchanged(session, plan, evidence)
            number, target = RELEASES.next_number(session.ledger), plan.policy.release
            existing = {} if terms.trial else _check_current(session, plan, evidence)
            repeated = Repeated() if terms.trial else _stage_repeated(session, plan, evidence)
            if terms.waits:
                plan = _placed(plan, private(session, target, number, evidence.job))
            else:
                objects.drop_replaced(session, target, existing)
            written, sizes, safe = _written(session, replace(planned, plan=plan), number, target, repeated)
            if safely and not safe:
                raise _Unsafe
            release = _recorded(session, planned, terms, written, sizes)
            end_job(session.ledger, release)
    else:
        target = plan.policy.release
        number = _publish_elsewhere(database, session, planned, terms, safely=safely)
        plan = _placed(plan, private(session, target, number, evidence.job) if terms.waits else target)
    _look(database, session, plan, number)
    return number


def _publish_elsewhere(
    database: Database, session: WarehouseSession, planned: _Planned, terms: PublicationTerms, *, safely: bool
) -> int:
    """Publishes in a warehouse; other jobs may write until the intent goes to the ledger.

    A release that waits stays in a schema of its own, without an intent.
    """
    plan, evidence = planned.plan, planned.evidence
    target, number = plan.policy.release, RELEASES.next_number(session.ledger)
    held = staged(session, target, number)
    if terms.waits:
        held = private(session, target, number, evidence.job)
        session.execute(exp.Create(this=table(held.schema), kind="SCHEMA", exists=True))
    plan = _placed(plan, held)
    try:
        # The verification reads what the ledger will have of the release.
        with suppress(_Rehearsed), session.embedded.transaction():
            repeated = Repeated() if terms.trial else _stage_repeated(session, plan, evidence)
            written, sizes, safe = _written(session, replace(planned, plan=plan), number, target, repeated)
            if safely and not safe:
                raise _Unsafe
            # No transaction has held the rows still while they were written.
            _check_unchanged(session, plan, evidence)
            raise _Rehearsed
        with writing(database, session):
            complete_all(session)
            with session.embedded.transaction():
                existing = {} if terms.trial else _check_current(session, _placed(plan, target), evidence)
                release = _recorded(session, planned, terms, written, sizes)
                objects.write_distributions(session.embedded, plan, number)
                if terms.waits:
                    end_job(session.ledger, release)
                else:
                    SWAPS.insert(session.ledger, [Swap(session.catalog, held.name, tuple(existing))], number)
            # The release is decided: nothing stops it any more.
            session.control = session.embedded.control = None
            if not terms.waits:
                complete(session, number)
    except BaseException:
        # A table that cannot be dropped now goes at the next start of the server.
        session.control = session.embedded.control = None
        with suppress(TableveilError, Stopped):
            discard(session, held)
        raise
    return number


def _placed(plan: ReleasePlan, place: ReleaseTarget) -> ReleasePlan:
    """The plan of a release that is written somewhere else first."""
    return replace(plan, policy=replace(plan.policy, release=place))


def _check_current(session: WarehouseSession, plan: ReleasePlan, evidence: Evidence) -> dict[str, str]:
    return check_current(session, plan.policy, plan.source, evidence.fingerprint, plan.together_with)


def _stage_repeated(session: WarehouseSession, plan: ReleasePlan, evidence: Evidence) -> Repeated:
    if JobPart.REPEATED not in plan.policy.parts:
        return Repeated()
    return stage_repeated(session, RepeatingRelease.planned(plan), evidence.fingerprint, evidence.policy_of)


def _recorded(
    session: WarehouseSession, planned: _Planned, terms: PublicationTerms, written: Release, sizes: ClassSizes
) -> Release:
    """Asks the guards, and writes the release to the ledger under the names that it will have; in a transaction."""
    ledger, evidence, policy = session.ledger, planned.evidence, planned.plan.policy
    target, named = policy.release, zip(written.objects, policy.release.object_names, strict=True)
    if terms.trial is None and JobPart.GUARDS in policy.parts:
        check_guards(session, target, written.records, labels_of(written.attributes))
        check_decided(target, written.warnings)
    release = replace(
        written,
        needs_approval=terms.waits,
        trial=terms.trial,
        objects=tuple(replace(item, name=name) for item, name in named),
        target_schema=session.scope(target.schema),
        target_name=target.name,
        warehouse=session.warehouse,
    )
    RELEASES.write(ledger, release, evidence.solution.sizes_before, sizes)
    if evidence.fingerprint.sketch is not None:
        sketches.insert(ledger, release.number, evidence.fingerprint.sketch)
    if release.trial is not None:
        TRIALS.insert(ledger, [release.trial], release.number)
        return release
    asked = [
        Publication(name, session.visibility.principal, jobs.now(), target.publish_repeat_reason)
        for name in target.publish
    ]
    PUBLICATIONS.insert(ledger, asked, release.number)
    return release


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A release that was taken back, of no number; those that it repeats by a reason, unless it is safe; some rows."""

    release: Release
    repeated: tuple[int, ...]
    rows: tuple[ShownRow, ...] = ()


def rehearse(
    database: Database,
    session: WarehouseSession,
    plan: ReleasePlan,
    evidence: Evidence,
    verifying: Callable[[], None],
    *,
    look: bool,
) -> Rehearsal:
    """The release that `publish` would make; with a `look` at some of its rows.

    It is written, verified and taken back. In a warehouse, which takes nothing back, no row is written: the figures are
    those of the search, and nobody knows whether it is safe.

    Raises:
        ConflictError: the source changed since it was counted.
        InternalError: the verification failed.
    """
    planned = _planned(session, plan, evidence, verifying)
    if not session.traits.transactional:
        _check_unchanged(session, plan, evidence)
        others = repeated_by_reason(session, plan.policy, plan.source, evidence.fingerprint, plan.together_with)
        return Rehearsal(_foreseen(session, planned), tuple(others))
    rows: tuple[ShownRow, ...] = ()
    with writing(database, session), suppress(_Rehearsed), session.embedded.transaction():
        _check_unchanged(session, plan, evidence)
        repeated = _stage_repeated(session, plan, evidence)
        release, _, safe = _written(session, planned, 0, plan.policy.release, repeated)
        if look:
            written = objects.public(plan, plan.policy.release.name)
            # The bounds and ranks beside labels are for statements.
            names = [*(column.name for column in plan.columns()), *filter(None, [plan.marker])]
            rows = write.shown_rows(session.embedded, written, names, release.objects[0].row_count)
        raise _Rehearsed
    return Rehearsal(release, () if safe else repeated.releases, rows)


class _Rehearsed(Exception):
    """Rolls the transaction back."""


class _Unsafe(Exception):
    """Rolls the transaction back: the release is written once more, to wait for approval."""


def _foreseen(session: WarehouseSession, planned: _Planned) -> Release:
    """The release by its classes alone."""
    plan, measured = planned.plan, planned.measured
    classes = plan.recoding.labelled(session, plan)
    sizes = ClassSizes.of(classes.counts)
    risk = prosecutor_risk(sizes, plan.policy.risk_thresholds)
    distinct_after = {
        dictionary.column.name: len(np.unique(labels))
        for dictionary, labels in zip(plan.dictionaries, classes.labels, strict=True)
    }
    unwritten = note(
        "No row was written or verified in the warehouse: the figures are those of the search.", field="source"
    )
    write.collect_spreads(session, plan)
    single = single_valued(session, plan, objects.public(plan, plan.policy.release.name), measured.nearly_names)
    more = (*measured.warnings, *single, *lost_groups(session, plan), unwritten)
    evidence = planned.evidence.with_more(warnings=more, exposures=measured.exposures)
    return release_of(session, plan, evidence, 0, objects.WrittenObjects((), sizes, risk, distinct_after))


def _written(
    session: WarehouseSession, planned: _Planned, number: int, known_as: ReleaseTarget, repeated: Repeated
) -> tuple[Release, ClassSizes, bool]:
    """Writes and verifies the objects of the release of that number.

    Returns it with the sizes of its classes, and whether it is safe beside the releases that it repeats.
    """
    plan, measured = planned.plan, planned.measured
    made = objects.write_objects(session, plan, number, known_as)
    single = single_valued(session, plan, objects.public(plan, made.objects[0].name), measured.nearly_names)
    if plan.policy.person_column is not None and not plan.policy.no_person_digests:
        rows = people_with_classes(session, plan, plan.policy.person_column)
        persons.remember(session.ledger, number, rows, of_records=bool(plan.policy.record_column))
        persons.remember_together(session.ledger, number, plan.together_with)
    joint = JointFindings(safe=not plan.policy.other_people)
    if repeated.releases:
        joint = joint_findings(session, RepeatingRelease.planned(plan), repeated, number)
    evidence = planned.evidence.with_more(
        first=(*joint.warnings, *related_account(session.embedded, plan)),
        warnings=(*measured.warnings, *single, *lost_groups(session, plan), *_matching(made.matches, known_as)),
        guarantees=joint.guarantees,
        exposures=measured.exposures,
        joint=joint.joint,
    )
    planned.verifying()
    solution = evidence.solution
    largest_share = solution.risk_after.highest if solution.risk_after is not None else None
    written = replace(
        objects.written_objects(session, plan, number),
        score=solution.score,
        largest_share=largest_share,
        sketch=evidence.fingerprint.sketch,
    )
    verify(session, plan.policy, plan.records, written)
    known_by = objects.marks(session, plan.policy.release.schema, [item.name for item in made.objects])
    made = replace(made, objects=tuple(replace(item, mark=known_by[item.name]) for item in made.objects))
    return release_of(session, plan, evidence, number, made), made.sizes, joint.safe


def _matching(matches: MatchedEstimates | None, target: ReleaseTarget) -> Iterator[Warned]:
    """The note of how often a person's match in the estimated table is right, if anybody has one."""
    if matches is not None and matches.number:
        # Whole percents would hide a difference between two small shares.
        right, by_class = (f"{100 * share:.3g} %" for share in (matches.right, matches.by_class))
        yield note(
            f"A person's match in {target.estimated_name} is right in {right} of {matches.number:,} cases in which one "
            f"row has the person's values; a row of the class by chance, in {by_class}.",
            matches.number,
            "release.estimates",
        )


@contextmanager
def writing(database: Database, session: WarehouseSession) -> Iterator[None]:
    """Waits until no other job writes, or until the job is stopped."""
    while not database.writing.acquire(timeout=0.1):
        if session.control is not None:
            session.control.raise_if_stopped()
    try:
        yield
    finally:
        database.writing.release()


def _check_unchanged(session: WarehouseSession, plan: ReleasePlan, evidence: Evidence) -> None:
    check_unchanged(session, plan.policy, plan.source, evidence.fingerprint, evidence.population_fingerprint)


def _look(database: Database, session: WarehouseSession, plan: ReleasePlan, number: int) -> None:
    """A commit that reports success may have written nothing; what it wrote is marked beside the database."""
    with database.session() as fresh:
        rows = fresh.ledger.rows("SELECT 1 FROM tableveil.releases WHERE number = ?", [number])
        query = exp.select(exp.Count(this=exp.Star())).from_(objects.public(plan, plan.policy.release.name))
        reader = fresh if session.traits.keeps_ledger else session
        count = reader.value(query) if rows else -1
        remember(database.path, fresh.ledger)
    if count != (plan.records if plan.marker else plan.kept_records):
        raise InternalError("COMMIT_LOST", f"the commit of releases/{number} reported success but left nothing behind")
