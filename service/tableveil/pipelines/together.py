"""The account of a release that is judged together with earlier ones: whom it leaves behind, and what that costs."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import numpy as np

from tableveil.classes import (
    WITHOUT_ROW,
    EarlierClasses,
    EquivalenceClasses,
    agreement,
    combinations_of,
    without_release,
)
from tableveil.counting import open_counter, without_earlier
from tableveil.errors import Fault, Warned, must_decide, note, shortened
from tableveil.lifecycle import named
from tableveil.pipelines.privacy import choosing_models, facts_for, privacy_for
from tableveil.pipelines.quality import quality_for
from tableveil.pipelines.read import Counted
from tableveil.pipelines.relaxing import seconds_for
from tableveil.pipelines.work import JobContext
from tableveil.policy import Dominance, KAnonymity, LeftBehind, Policy
from tableveil.privacy import Conjunction, LeftBehindRule, left_behind_rule, privacy_of
from tableveil.release import ReleasePlan
from tableveil.search import Candidate, Infeasible, Problem, search
from tableveil.state import releases
from tableveil.state.persons import SHOWN
from tableveil.state.release_attributes import attributes_of

FIELD = "release.together_with"

_LONGER = (
    "Coarser levels from the first release on, or a release a quarter, may last longer: `tableveil propose --recurs` "
    "forecasts how many releases each lasts, and writes the policy of coarser levels (PREFIX-coarser.yaml)."
)
_OUT = "out of together_with, and say why in repeat_reason, which protects nobody."

_KEPT = 0.25
"""The agreement where half of the recognized kept the values by which their earlier classes were formed."""

_LEAST_RECOGNIZED = 20
"""The agreement of fewer could be an accident."""

_FIELD = "release.together_with"


def account(
    job: JobContext, counted: Counted, problem: Problem, best: Candidate, plan: ReleasePlan
) -> Iterator[Warned]:
    """Warnings in whole sentences, for the owner; none if there are no earlier releases.

    Raises:
        CancelledError: the job was cancelled.
    """
    policy, earlier = counted.policy, plan.earlier
    if earlier is None:
        return
    seen, k = earlier.known, policy.k or 1
    counted_as = "people" if seen.owners is None else "records"
    listed = policy.release.together_with
    which = "" if listed else ", which are all of these people that you could see when you submitted the job"
    yield note(
        f"Judged together with {named(seen.releases)}: {seen.present:,} of {int(seen.records.sum()):,} "
        f"{counted_as} with a row there are in the source. Every joint class has at least k = {k} people. "
        f"{_unjudged(policy)} "
        f"The promise is of these releases{which}.",
        int(seen.present) or None,
        _FIELD,
    )
    for renewed in earlier.renewed:
        yield must_decide(
            f"People seem to have new keys: {renewed}. Joint classes promise nothing of them: "
            "who knows them there may find them here.",
            renewed.count_of,
            policy.person_column or "",
        )
    yield from _other_values(job, counted, problem, seen)
    if earlier.met:
        yield note(
            f"Joint classes also meet what the earlier policies ask for: {', '.join(earlier.met)}.", field=_FIELD
        )
    if earlier.unjudged:
        others = ", ".join(earlier.unjudged)
        yield Warned(f"Nobody judged of joint classes what the earlier policies also ask for: {others}.", field=_FIELD)
    rule = left_behind_rule(policy.privacy_models, facts_for(policy, counted.base, problem.counter), seen)
    combinations, people = rule.too_few(plan.classes.selected(plan.kept))
    if combinations:
        fewer = f"fewer than k = {k}" if rule.share == 1 else f"fewer than k = {k}, or by more than their share"
        yield must_decide(
            f"Left behind are {people:,} people, in {combinations:,} combinations of earlier classes, "
            f"by {fewer}: fewer than k people could be each of their earlier rows.",
            people,
            "release.left_behind",
        )
    gone = _told_apart(seen, k)
    if gone:
        yield must_decide(
            f"The earlier releases alone tell {gone:,} people apart, fewer than k = {k} of a combination of classes.",
            gone,
            _FIELD,
        )
    yield from _costs(job, counted, problem, best)


def _other_values(
    job: JobContext, counted: Counted, problem: Problem, earlier_classes: EarlierClasses
) -> Iterator[Warned]:
    """Warns of releases whose recognized people mostly have other values now: they may be other people.

    Row numbers that start anew each month recognize everybody. People of one earlier class were alike in every column
    that the release generalized, but not to its top; so they mostly are in one of these now, on some level.
    """
    lattice, names = problem.lattice, [attribute.column for attribute in counted.policy.quasi_identifiers]
    results = attributes_of(job.session.ledger, releases.seen_among(job.session.ledger, earlier_classes.releases))
    seen = [results.get(release, ()) for release in earlier_classes.releases]
    generalized = [{one.column for one in of_one if one.level < one.top_level or one.levels} for of_one in seen]
    lost_columns: list[list[float]] = [[] for _ in earlier_classes.releases]
    for j, name in enumerate(names):
        for level in (
            range(lattice.bottom[j], lattice.top[j]) if any(name in columns for columns in generalized) else ()
        ):
            classes = problem.counter.classes(tuple(level if i == j else top for i, top in enumerate(lattice.top)))
            combination, now = combinations_of(classes), classes.groups(j)
            for r, columns in enumerate(generalized):
                earlier = np.append(earlier_classes.classes[:, r], WITHOUT_ROW)[combination]
                labelled = (earlier > SHOWN) & (name in columns)
                alike = agreement(earlier[labelled], now[labelled], classes.counts[labelled])
                if alike is not None and classes.counts[labelled].sum() >= _LEAST_RECOGNIZED:
                    lost_columns[r].append(alike)
    strange = [
        release
        for release, alike in zip(earlier_classes.releases, lost_columns, strict=True)
        if max(alike, default=1) < _KEPT
    ]
    if strange:
        identifier = counted.policy.record_column or counted.policy.person_column or ""
        yield must_decide(
            f"People or records recognized in {named(strange)} by {shortened(identifier)} mostly have other values "
            "now: those of one earlier class are hardly more alike than any others. If it numbers rows, equal numbers "
            "are different people, and joint classes promise nothing: name a column that stays the same.",
            field=identifier,
        )


def _unjudged(policy: Policy) -> str:
    kept = any(isinstance(model, Dominance) for model in policy.privacy_models)
    judged = "k and dominance" if kept else "k"
    return f"No model but {judged} is judged of earlier values, nor of people who are left behind."


def _told_apart(earlier_classes: EarlierClasses, k: int) -> int:
    """How many people have a record in a combination of earlier classes with records of fewer than k people."""
    if earlier_classes.owners is None:
        return int(earlier_classes.records[earlier_classes.records < k].sum())
    owners = earlier_classes.owners
    people = np.bincount(owners.combinations, minlength=earlier_classes.combinations)
    return len(np.unique(owners.people[people[owners.combinations] < k]))


def _costs(job: JobContext, counted: Counted, problem: Problem, best: Candidate) -> Iterator[Warned]:
    """The score and the suppression beside those of the release alone, and of one that only reports."""
    policy, base = counted.policy, counted.base
    alone = without_earlier(job.session, base)
    counter = open_counter(job.session, alone, counted.lattice.bottom)
    quality = quality_for(policy, alone, counter, problem.suppressible)
    others = [
        (
            "alone",
            _searched(
                job,
                policy,
                replace(
                    problem,
                    counter=counter,
                    quality=quality,
                    privacy=privacy_for(choosing_models(policy), policy, alone, counter),
                ),
            ),
        )
    ]
    if policy.release.left_behind is LeftBehind.REQUIRE:
        reporting = replace(policy, release=replace(policy.release, left_behind=LeftBehind.REPORT))
        rule = privacy_for(choosing_models(policy), reporting, base, problem.counter)
        others.append(("with left_behind: REPORT", _searched(job, policy, replace(problem, privacy=rule))))
    costs_shown = [
        f"{other.score:.4g} {name} ({other.suppressed:,} suppressed)" for name, other in others if other is not None
    ]
    cost = f"It costs a score of {best.score:.4g} ({best.suppressed:,} of {problem.counter.records:,} suppressed)"
    beside = (
        f", instead of {', or '.join(costs_shown)}." if costs_shown else "; that of the release alone took too long."
    )
    yield note(f"{cost}{beside}", best.suppressed or None, _FIELD)


def _searched(job: JobContext, policy: Policy, problem: Problem) -> Candidate | None:
    options = replace(policy.search, time_limit_seconds=Decimal(str(seconds_for(policy))))
    return search(problem, options, job.control).best


def binding_releases(counted: Counted, problem: Problem, why: Infeasible) -> Iterator[Fault]:
    """The fault of earlier releases for which too many records would be suppressed at the most general transformation.

    Only k and the people left behind are judged: other models do not depend on which releases there are. Where people
    have several records all are named: who owns a joint class of fewer releases was not counted.
    """
    earlier, policy = counted.base.columns.earlier, counted.policy
    if earlier is None:
        return
    if earlier.met:
        asked = f"earlier releases whose policies ask for {', '.join(earlier.met)}, which joint classes meet as well"
        yield Fault(FIELD, asked, "earlier releases that ask for less", f"Leave them {_OUT}")
    if earlier.known.owners is not None:
        uncounted = f"{named(earlier.known.releases)}; where people have several records, nobody counts what each costs"
        yield Fault(FIELD, uncounted, "earlier releases that leave few suppressed records", _LONGER)
        return
    joint = problem.counter.classes(problem.lattice.top)
    withheld, require = problem.counter.withheld, policy.release.left_behind is LeftBehind.REQUIRE
    together = _suppressed(problem, policy, earlier.known, joint, require=require)
    if together + withheld <= why.allowed:
        return
    for position, release in enumerate(earlier.known.releases):
        others = _suppressed(problem, policy, *without_release(earlier.known, joint, position), require=require)
        if others < together:
            yield Fault(
                FIELD,
                f"{named([release])}, with which {together:,} of {why.records:,} records would have "
                f"to be suppressed at the most general transformation, and without it {others:,}",
                f"earlier releases that leave at most {why.allowed:,} suppressed records",
                f"{_LONGER} Or leave it {_OUT}",
            )


def _suppressed(
    problem: Problem, policy: Policy, earlier: EarlierClasses, joint: EquivalenceClasses, *, require: bool
) -> int:
    """The records that k and, if required, those left behind suppress of some joint classes."""
    rules = privacy_of([KAnonymity(policy.k or 1)], problem.counter).rules
    rule = Conjunction((*rules, LeftBehindRule(policy.k or 1, earlier)) if require else rules)
    return int(joint.counts[~rule.releasable(joint)].sum())
