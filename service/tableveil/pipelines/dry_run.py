"""One job from policy to dry run: makes the release of the policy under a private name, and takes it back.

In a warehouse nothing is written: the figures are those of the search.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from tableveil.backend import WarehouseSession
from tableveil.errors import Fault, TableveilError, Warned, by_rank, depending_on, note
from tableveil.lifecycle import (
    REHEARSED,
    Rehearsal,
    check_existing,
    check_guards,
    check_ledger,
    check_target,
    labels_of,
    named,
    rehearse,
)
from tableveil.pipelines.anonymize import solved, with_notes
from tableveil.pipelines.read import hierarchies_of
from tableveil.pipelines.work import JobContext, Work, fitting, policy_work, store_result
from tableveil.policy import Policy, ReleaseGuards, ReleaseKind, early_warnings
from tableveil.policy.documentation import says_something
from tableveil.release import ReleasePlan
from tableveil.source import Fingerprint, resolve_source
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state import schema_rules
from tableveil.state.dry_runs import DRY_RUNS, DryRun
from tableveil.state.jobs import JobKind, JobPhase
from tableveil.state.joint_texts import JointText
from tableveil.state.releases import Release

_REFUSED = "A release would be refused"


def run_dry_run(job: JobContext, policy: Policy) -> int:
    """Stores a dry run and returns its number.

    Raises:
        TableveilError: nothing was stored.
    """
    made, refusals = rehearsed(replace(job, advises=True), policy, look=True)
    warnings = (*made.release.warnings, *(Warned(refusal.text) for refusal in refusals))
    return store_result(job, DRY_RUNS, lambda number: DryRun.of(made.release, number, refusals, made.rows), warnings)


def rehearsed(job: JobContext, policy: Policy, *, look: bool = False) -> tuple[Rehearsal, tuple[JointText, ...]]:
    """The release that the policy makes, which was taken back, and why it would be refused at the moment.

    Raises:
        TableveilError: the policy makes none.
    """
    session, report = job.rows, job.report
    report.phase(JobPhase.READING)
    resolved_source, resolved, faults = resolve_source(session, policy)
    source = fitting(resolved_source, faults)
    private = replace(
        resolved.release,
        schema=STATE_SCHEMA,
        name=f"dry_run_of_job_{job.number}",
        kind=ReleaseKind.TABLE,
        guards=ReleaseGuards(),
    )
    reason = resolved.repeat_reason if says_something(resolved.repeat_reason) else REHEARSED
    unguarded = replace(resolved, release=private, repeat_reason=reason, other_people=())
    plan, evidence = solved(job, source, unguarded, hierarchies_of(session, resolved))
    evidence = with_notes(job, resolved, plan, evidence)
    with depending_on(plan.together_with):
        verifying = partial(report.phase, JobPhase.VERIFYING)
        made = rehearse(job.database, session, plan, evidence, verifying, look=look)
    release, repeated = made.release, made.repeated
    target = check_target(session, resolved, plan.source) if resolved.release.name else []
    # A schema that the caller may not write reads as if it were missing, and so does its rule.
    is_ruled = resolved.release.name and not target
    if repeated and is_ruled and schema_rules.asks_for_joint_k(session.ledger, session.scope(resolved.release.schema)):
        waits = would_wait(repeated, counted=session.traits.transactional)
        release = replace(
            release, warnings=by_rank((note(waits.text), *release.warnings)), joint=(waits, *release.joint)
        )
    refusals = tuple(_refusals(session, resolved, plan, evidence.fingerprint, release, target))
    return replace(made, release=release), refusals


def would_wait(repeated: Sequence[int], *, counted: bool) -> JointText:
    """The warning that a release would wait for approval by the rule of its schema, or may if nobody counted."""
    would, unless = ("would", "") if counted else ("may", ", unless all share joint classes of k")
    text = (
        f"A release by a reason {would} wait for approval: its schema has the rule joint_k, and it repeats people of "
        f"{named(repeated)}{unless}."
    )
    return JointText(Warned(text, field="repeat_reason"), tuple(repeated))


def dry_run_work(policy: Policy, document: str) -> Work:
    """The work for a dry run; in the database it needs as much room as the release."""
    work = policy_work(JobKind.DRY_RUN, policy, document, lambda job: run_dry_run(job, policy))
    return replace(work, released=policy, rehearsed=True, warnings=tuple(early_warnings(policy)))


def _refusals(
    session: WarehouseSession,
    policy: Policy,
    plan: ReleasePlan,
    fingerprint: Fingerprint,
    release: Release,
    target: Sequence[Fault],
) -> Iterator[JointText]:
    """The reasons why the release would be refused at the moment, although its rows meet the policy.

    Each has the releases that it depends on. `target` are the faults of the target.
    """
    checks: list[Callable[[], object]] = [lambda: check_ledger(session, policy, plan.source, fingerprint)]
    if policy.release.name and not target:
        checks.append(lambda: check_existing(session, policy.release))
        checks.append(lambda: check_guards(session, policy.release, release.records, labels_of(release.attributes)))
    for fault in target:
        yield JointText(_refused(fault), ())
    for check in checks:
        try:
            check()
        except TableveilError as error:
            yield from (JointText(_refused(fault), error.releases) for fault in error.faults)


def _refused(fault: Fault) -> Warned:
    return Warned(f"{_REFUSED}: {fault}", field=fault.field)
