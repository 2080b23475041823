"""What a request that nothing meets is told: which of its requirements conflict, and the least that would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np

from tableveil.errors import Change, Fault, InfeasibleError, Relaxation
from tableveil.policy import NullHandling, Policy, PrivacyModel, Role
from tableveil.policy.validate_search import level_field
from tableveil.privacy import Conjunction
from tableveil.search import Candidate, Infeasible, Problem
from tableveil.search.problem import may_be_kept
from tableveil.search.relaxing import Relaxed, Requirement

LIMIT = "suppression_limit"
TIME_LIMIT = "search.time_limit_seconds"


def nothing_valid(
    policy: Policy, models: Sequence[PrivacyModel], why: Infeasible, withheld: int, relaxed: Relaxed
) -> InfeasibleError:
    """The error for a search that found nothing.

    `models` are those of the problem's rules, in their order; `withheld` records are suppressed because of NULLs.
    """
    if relaxed.valid is not None:
        return _found_too_late(policy, relaxed.valid)
    where = "at the levels that search.levels gives" if policy.search.levels else "even at the most general one"
    suppressed = f"{why.suppressed} of {why.records} records ({why.suppressed / why.records:.2%})"
    meets = "that meets the policy" if relaxed.proven else f"found that meets the policy before {TIME_LIMIT} were over"
    faults = [
        Fault(
            requirement.field,
            _found(policy, models, why, requirement),
            _expected(relaxed, requirement),
            _hint(requirement, relaxed.relaxations),
        )
        for requirement in relaxed.conflict
    ]
    if withheld > why.allowed:
        faults += _withheld(policy, withheld, why)
    conflict = f" ({', '.join(requirement.field for requirement in relaxed.conflict)})" if relaxed.conflict else ""
    message = (
        f"no transformation {meets}{conflict}: {where} {suppressed} would have to be suppressed, "
        f"and {why.allowed} may be"
    )
    return InfeasibleError("INFEASIBLE", message, faults, relaxed.relaxations)


def _found_too_late(policy: Policy, levels: Sequence[int]) -> InfeasibleError:
    """The search's time was too short, and what was done after it was quicker to find something, if not the best."""
    changes = tuple(
        Change(level_field(attribute.column), str(level))
        for attribute, level in zip(policy.quasi_identifiers, levels, strict=True)
    )
    relaxation = Relaxation(changes, nearest=False)
    fault = Fault(
        TIME_LIMIT,
        f"{policy.search.time_limit_seconds}, in which no transformation that meets the policy was found",
        "more time: there is one",
        f"Give more, or these levels: {relaxation}.",
    )
    return InfeasibleError("INFEASIBLE", str(fault), [fault], [relaxation])


def _found(policy: Policy, models: Sequence[PrivacyModel], why: Infeasible, requirement: Requirement) -> str:
    where = "at these levels" if policy.search.levels else "at the most general transformation"
    if requirement.model is not None:
        model = policy.privacy_models[requirement.model]
        refusal = why.refusals[models.index(model)]
        if refusal.vetoes:
            return f"{model}, which cannot hold whatever is suppressed"
        return f"{model}, which refuses {refusal.records} of {why.records} records {where}"
    if requirement.field == LIMIT:
        suppressed = f"{why.suppressed} of {why.records} records ({why.suppressed / why.records:.2%})"
        return (
            f"{policy.suppression_limit}, which allows {why.allowed}; {suppressed} would have to be suppressed {where}"
        )
    return requirement.asked


def _expected(relaxed: Relaxed, requirement: Requirement) -> str:
    others = [other.field for other in relaxed.conflict if other is not requirement]
    surely = "" if relaxed.minimal else ", as far as was found out in time"
    if not others:
        return f"what these records can meet, whatever else is asked{surely}"
    return f"what can be met together with {', '.join(others)}{surely}"


def _hint(requirement: Requirement, relaxations: Sequence[Relaxation]) -> str:
    alone = [
        relaxation
        for relaxation in relaxations
        if len(relaxation.changes) == 1 and requirement.has(relaxation.changes[0].field)
    ]
    if alone:
        return f"Feasible would be {', or '.join(map(_named, alone))}."
    together = [relaxation for relaxation in relaxations if any(requirement.has(c.field) for c in relaxation.changes)]
    if together:
        return f"Feasible, only together, would be {'; or '.join(map(str, together))}."
    return "Nothing less of it that would do was found."


def _named(relaxation: Relaxation) -> str:
    """A change of one field, by its last name where the fault's field says whose it is."""
    (change,) = relaxation.changes
    name = change.field if change.field.startswith(("game.", "search.")) else change.field.rpartition(".")[2]
    so_far = "" if relaxation.nearest else " (found so far; less may do)"
    return f"{Change(name, change.value)}{so_far}"


def _withheld(policy: Policy, withheld: int, why: Infeasible) -> Iterator[Fault]:
    """Records that no transformation can release."""
    found = f"SUPPRESS: {withheld} of {why.records} records are suppressed for a NULL, whatever the transformation"
    for i, attribute in enumerate(policy.attributes):
        if attribute.role is Role.QUASI_IDENTIFIER and attribute.nulls is NullHandling.SUPPRESS:
            expected = (
                f"at most {why.allowed} suppressed records, as suppression_limit {policy.suppression_limit} allows"
            )
            yield Fault(f"attributes[{i}].nulls", found, expected, "VALUE would keep them as a value of their own.")


def check_limit(policy: Policy, suppressed: int, records: int, why: str) -> None:
    """Raises `InfeasibleError` if more records have to be suppressed than the policy allows, whatever is chosen."""
    allowed = policy.suppressible(records)
    if suppressed <= allowed:
        return
    # Suppressing everything releases nothing.
    enough = Change(LIMIT, _rounded_up(suppressed, records))
    relaxations = [Relaxation((enough,), nearest=True)] if suppressed < records else []
    fault = Fault(
        LIMIT,
        f"{suppressed} of {records} records ({suppressed / records:.2%}) that have to be suppressed: {why}",
        f"at most {allowed} suppressed records, as suppression_limit {policy.suppression_limit} allows",
        f"Feasible would be {enough}." if relaxations else "",
    )
    raise InfeasibleError("INFEASIBLE", str(fault), [fault], relaxations)


def _rounded_up(part: int, whole: int) -> str:
    """The least decimal of four places that is not below part / whole."""
    return f"{Decimal(-(-part * 10_000 // whole)).scaleb(-4).normalize():f}"


def check_values(
    policy: Policy, problem: Problem, best: Candidate, models: Sequence[PrivacyModel], judge: Conjunction
) -> None:
    """Raises `InfeasibleError` if a model refuses a class that was chosen without asking it.

    `models` are those that were not asked, `judge` has their rules in the same order.
    """
    classes = problem.counter.classes(best.transformation)
    kept = problem.privacy.releasable(classes)
    released = classes.selected(kept)
    faults = []
    for model, rule in zip(models, judge.rules, strict=True):
        refused = ~rule.releasable(released)
        if refused.any():
            nearest = rule.nearest(released, 0)
            faults.append(
                Fault(
                    f"privacy_models[{policy.privacy_models.index(model)}]",
                    f"{model} violated in {np.count_nonzero(refused)} of {len(refused)} classes, which were chosen by "
                    "quasi-identifiers only",
                    "a model that every released class meets",
                    f"Choose by all models, or relax it{f' to {nearest}' if nearest else ''}.",
                )
            )
    if problem.keeps_suppressed and not may_be_kept(judge, problem.counter, classes, kept):
        found = "KEEP, of suppressed records whose values do not meet the models together"
        expected = "suppressed records that do, because they were chosen by quasi-identifiers only"
        faults.append(Fault("suppressed_records.handling", found, expected, "Drop them, or choose by all models."))
    if faults:
        message = "what was chosen by quasi-identifiers only does not protect the sensitive values"
        raise InfeasibleError.about("VALUES_UNPROTECTED", message, faults)
