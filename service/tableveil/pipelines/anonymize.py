"""One job from policy to release: read, count, solve, write, verify, record; each layer does its own part."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tableveil.backend import WarehouseSession
from tableveil.errors import depending_on, note
from tableveil.lifecycle import Evidence, PublicationTerms, check_admitted, check_guards, notes_of_numbers, publish
from tableveil.pipelines.differential_privacy import DifferentialPrivacyMethod
from tableveil.pipelines.full_domain import FullDomainMethod
from tableveil.pipelines.local_recoding.method import LocalRecodingMethod
from tableveil.pipelines.microaggregation import MicroaggregationMethod
from tableveil.pipelines.read import FoundHierarchies, check_request, read_dictionaries, resolve_fully
from tableveil.pipelines.record_level import RecordLevelMethod
from tableveil.pipelines.related_tables import RelatedTablesMethod
from tableveil.pipelines.solution import Method
from tableveil.pipelines.work import JobContext, Work, fitting, policy_work
from tableveil.policy import IfExists, JobPart, Policy, ReleaseGuards, TableReference, early_warnings, notes_of_next
from tableveil.policy.methods.aggregated_columns import AGGREGATED_COLUMNS
from tableveil.policy.methods.differential_privacy import DIFFERENTIAL_PRIVACY
from tableveil.policy.methods.full_domain import FULL_DOMAIN
from tableveil.policy.methods.local_recoding import LOCAL_RECODING
from tableveil.policy.methods.microaggregation import MICROAGGREGATION
from tableveil.policy.methods.record_level import RECORD_LEVEL
from tableveil.policy.methods.related_tables import RELATED_TABLES
from tableveil.release import ReleasePlan
from tableveil.source import Source, population_fingerprint
from tableveil.state import schema_rules
from tableveil.state.jobs import JobKind, JobPhase, now
from tableveil.state.migrate import fingerprint_key
from tableveil.state.trials import LASTS, Trial

_METHODS: Mapping[str, Method[Any]] = {
    FULL_DOMAIN.name: FullDomainMethod(),
    DIFFERENTIAL_PRIVACY.name: DifferentialPrivacyMethod(),
    AGGREGATED_COLUMNS.name: FullDomainMethod(),
    LOCAL_RECODING.name: LocalRecodingMethod(),
    RECORD_LEVEL.name: RecordLevelMethod(),
    MICROAGGREGATION.name: MicroaggregationMethod(),
    RELATED_TABLES.name: RelatedTablesMethod(),
}


def anonymize(job: JobContext, policy: Policy, *, is_trial: bool = False) -> int:
    """Makes a release, which stays private if its schema asks for approval or it is a trial, and returns its number.

    Raises:
        TableveilError: nothing was written.
    """
    schema = job.rows.scope(policy.release.schema)
    job.report.phase(JobPhase.READING)
    source, resolved, hierarchies = resolve_fully(job.rows, policy, store=True, is_trial=is_trial)
    trial, asked = None, resolved
    if is_trial:
        # Its promotion asks what depends on other releases, and on what stands at the target.
        alone = replace(resolved.release, if_exists=IfExists.FAIL, guards=ReleaseGuards(), publish=())
        asked = replace(resolved, release=alone, repeat_reason="a trial", other_people=())
    plan, evidence = solved(job, source, asked, hierarchies)
    if is_trial:
        reason, others = resolved.repeat_reason, resolved.other_people
        told = replace(plan.policy, release=resolved.release, repeat_reason=reason, other_people=others)
        plan = replace(plan, policy=told)
        trial = Trial(job.session.visibility.principal, now() + LASTS, evidence.population_fingerprint)
    evidence = with_notes(job, resolved, plan, evidence)
    verifying = partial(job.report.phase, JobPhase.VERIFYING)
    repeats = JobPart.REPEATED in resolved.parts
    unless_safe = repeats and schema_rules.asks_for_joint_k(job.session.ledger, schema)
    terms = PublicationTerms(job.needs_approval(schema), unless_safe, trial)
    with depending_on(plan.together_with):
        return publish(job.database, job.rows, plan, evidence, verifying, terms)


def solved(
    job: JobContext, source: Source, policy: Policy, hierarchies: FoundHierarchies
) -> tuple[ReleasePlan, Evidence]:
    """The plan of the release, and the evidence for it; nothing is written yet.

    Raises:
        TableveilError: the policy allows no release of the source's rows.
    """
    method, session, report = method_of(policy), job.rows, job.report
    source, made_of, hierarchies = method.drawn(job, source, policy, hierarchies)
    # One transaction, so that all reads see one state of the rows.
    with session.reading():
        fingerprint, dictionaries = read_dictionaries(session, source, made_of, hierarchies, job.policy_of)
        if JobPart.GUARDS in policy.parts:
            check_guards(session, policy.release, dictionaries.records + dictionaries.set_aside)
        report.phase(JobPhase.COUNTING)
        earlier = dictionaries.columns.earlier
        judged_with = earlier.known.releases if earlier is not None else ()
        with depending_on(judged_with):
            counts = method.count(job, dictionaries.policy, dictionaries)
        of_population = population_fingerprint(session, source, fingerprint_key(session.ledger))
    report.phase(JobPhase.SEARCHING)
    with depending_on(judged_with):
        solution = method.solve(job, counts)
        report.phase(JobPhase.WRITING)
    evidence = Evidence(
        job=job.number,
        document=job.document,
        fingerprint=fingerprint,
        population_fingerprint=of_population,
        solution=solution,
        elapsed=report.elapsed,
        phases=report.seconds,
        policy_of=job.policy_of,
    )
    evidence = evidence.with_more(warnings=dictionaries.warnings)
    return solution.plan, method.account(evidence, made_of, source)


def with_notes(job: JobContext, policy: Policy, plan: ReleasePlan, evidence: Evidence) -> Evidence:
    """The evidence with notes by the policy that was asked for: of releases to come, and of people nobody tells apart.

    A trial or a rehearsal is made by another one, which says nothing of other releases.
    """
    joint = notes_of_numbers(job.rows, policy, plan.source, evidence.fingerprint)
    return evidence.with_more(warnings=(*notes_of_next(policy), *(note(one.text) for one in joint)), joint=joint)


def release_work(policy: Policy, document: str, *, is_trial: bool = False) -> Work:
    """The work for a release; it is admitted if its target is free and the ledger allows it, unless it is a trial."""

    def admit(session: WarehouseSession) -> TableReference:
        source, resolved, faults = check_request(session, policy)
        resolved_source = fitting(source, faults)
        check_admitted(session, resolved, resolved_source, is_trial=is_trial)
        method_of(policy).admit(session, resolved, resolved_source)
        return session.recorded(resolved_source.reference)

    options = '{"trial": true}' if is_trial else ""
    work = policy_work(
        JobKind.RELEASE, policy, document, lambda job: anonymize(job, policy, is_trial=is_trial), options
    )
    return replace(work, admit=admit, released=policy, trial=is_trial, warnings=tuple(early_warnings(policy)))


def method_of(policy: Policy) -> Method[Any]:
    """The method that a policy asks for."""
    return _METHODS[policy.method.name]
