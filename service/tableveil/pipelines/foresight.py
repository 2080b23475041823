"""The check of a policy against its source: what a job would say, where that needs no search, or a short one."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from tableveil.disclosure.check import check_exposure
from tableveil.errors import (
    ConflictError,
    GuardedError,
    InfeasibleError,
    InvalidError,
    TableveilError,
    Warned,
    note,
    together,
)
from tableveil.lifecycle import check_guards, notes_of_numbers, repeated_by_reason
from tableveil.pipelines.advice import chosen_blindly
from tableveil.pipelines.anonymize import method_of
from tableveil.pipelines.dry_run import would_wait
from tableveil.pipelines.full_domain import advice_of, plan_of, search_of
from tableveil.pipelines.read import (
    Counted,
    Dictionaries,
    check_enough,
    count_classes,
    read_dictionaries,
    resolve_fully,
)
from tableveil.pipelines.relaxing import seconds_for
from tableveil.pipelines.work import JobContext
from tableveil.policy import NO_LIMIT, IfExists, Policy, Recoded, ReleaseGuards, early_warnings
from tableveil.source import Fingerprint, Source
from tableveil.state import schema_rules
from tableveil.state.jobs import JobPhase

REASON, EXISTS = "repeat_reason", "TARGET_EXISTS"
"""The field of the fault, and the code of the error, that say nothing of the rows and would hide what these say."""


def check_rows(job: JobContext, policy: Policy) -> tuple[Warned, ...]:
    """Raises the errors that `anonymize` would raise before it searches; returns the warnings known by then.

    Where nothing is left to search, columns that give away what the only labels hide are errors, too. Where sensitive
    values choose, a warning says what choosing without them would cost. If the target is taken, or a reason to release
    people again is missing, the faults that would follow are told with it.
    """
    errors: list[TableveilError] = []
    elsewhere = reasoned = False
    while True:
        try:
            warnings = _checked(job, policy, is_trial=elsewhere)
        except (InvalidError, ConflictError, GuardedError, InfeasibleError) as error:
            errors.append(error)
            if [fault.field for fault in error.faults] == [REASON] and not reasoned:
                reasoned, policy = True, replace(policy, repeat_reason="a check", other_people=())
            elif error.code == EXISTS and not elsewhere:
                elsewhere = True
                alone = replace(policy.release, if_exists=IfExists.FAIL, guards=ReleaseGuards())
                policy = replace(policy, release=alone)
            else:
                raise together(errors) from None
        else:
            if errors:
                raise together(errors)
            return warnings


def _checked(job: JobContext, policy: Policy, *, is_trial: bool) -> tuple[Warned, ...]:
    job.report.phase(JobPhase.READING)
    with job.rows.reading():
        source, policy, hierarchies = resolve_fully(job.rows, policy, store=False, is_trial=is_trial)
        if policy.method.budgeted:
            # Whatever the rows would say is not covered by the budget.
            method_of(policy).admit(job.rows, policy, source)
            return tuple(early_warnings(policy))
        mark, read = read_dictionaries(job.rows, source, policy, hierarchies, job.policy_of)
        waits = tuple(_waits(job, policy, source, mark, read))
        waits += tuple(note(one.text) for one in notes_of_numbers(job.rows, policy, source, mark))
        policy = read.policy
        check_guards(job.rows, policy.release, read.records + read.set_aside)
        check_enough(policy, read)
        by_value = policy.method.recoded is Recoded.BY_VALUE
        foreseen = by_value and (read.lattice.size == 1 or chosen_blindly(policy) is not None)
        counted = count_classes(job.rows, policy, read) if foreseen else None
        told = tuple(_foreseen(job, counted)) if counted is not None else ()
    return (*_large(policy, read), *waits, *early_warnings(policy), *read.warnings, *told)


LARGE = 10**7
"""Searches of lattices of more transformations have reached the default limit."""


def _large(policy: Policy, read: Dictionaries) -> Iterator[Warned]:
    """The warning that the search is likely to end by its time limit, or to have no end."""
    size = read.lattice.size
    if size <= LARGE or policy.method.recoded is not Recoded.BY_VALUE:
        return
    end = f"The {policy.search.limit_in_words} is likely to end the search: the best so far is released, with its gap."
    if policy.search.time_limit_seconds == NO_LIMIT:
        end = "Without a time limit, the search is likely to go on for hours: search.time_limit_seconds ends it."
    yield Warned(
        f"{len(policy.quasi_identifiers):,} quasi-identifiers have {size:.1e} transformations. {end} Make columns that "
        "nobody needs IDENTIFYING, or let `tableveil propose` choose.",
        field="search.time_limit_seconds",
    )


def _waits(job: JobContext, policy: Policy, source: Source, mark: Fingerprint, read: Dictionaries) -> Iterator[Warned]:
    """The warning that the release may wait for approval by the rule of its schema."""
    session = job.rows
    if schema_rules.asks_for_joint_k(session.ledger, session.scope(policy.release.schema)):
        together = read.columns.earlier.known.releases if read.columns.earlier is not None else ()
        repeated = repeated_by_reason(session, policy, source, mark, together)
        if repeated:
            yield note(would_wait(repeated, counted=False).text)


def _foreseen(job: JobContext, counted: Counted) -> Iterator[Warned]:
    policy = counted.policy
    limited = replace(policy, search=replace(policy.search, time_limit_seconds=Decimal(seconds_for(policy))))
    problem, outcome = search_of(job, replace(counted, policy=limited))
    if outcome.best is None:
        return
    if counted.lattice.size == 1:
        plan = plan_of(counted, problem, outcome.best)
        plan.recoding.stage(job.rows, plan)
        yield from check_exposure(job.rows, plan).warnings
    if outcome.complete:
        yield from advice_of(job, counted, problem, outcome.best).blindly()
